// A list that needs no heap while it is short. Not part of the public promise.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

namespace weir::detail {

/// A growing list of plain values; the first N live inside it. Its memory starts uninitialised, since
/// it is made on every decision.
template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineVector() {}  // NOLINT(modernize-use-equals-default): `= default` would clear the storage
  InlineVector(const InlineVector& other) { append(other.data(), other.size_); }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) {
      size_ = 0;
      append(other.data(), other.size_);
    }
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) {
      heap_.reset();
      capacity_ = N;
      take(other);
    }
    return *this;
  }
  ~InlineVector() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  T* data() { return heap_ ? heap_.get() : reinterpret_cast<T*>(inline_); }
  const T* data() const { return heap_ ? heap_.get() : reinterpret_cast<const T*>(inline_); }
  T& operator[](std::size_t index) { return data()[index]; }
  const T& operator[](std::size_t index) const { return data()[index]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  void push_back(const T& value) {
    if (size_ == capacity_) grow(size_ + 1);
    std::memcpy(static_cast<void*>(data() + size_), &value, sizeof(T));
    ++size_;
  }
  void append(const T* values, std::size_t count) {
    if (count == 0) return;
    if (size_ + count > capacity_) grow(size_ + count);
    std::memcpy(static_cast<void*>(data() + size_), values, count * sizeof(T));
    size_ += count;
  }

 private:
  void grow(std::size_t least) {
    const std::size_t capacity = least > 2 * capacity_ ? least : 2 * capacity_;
    std::unique_ptr<T[]> larger(new T[capacity]);
    if (size_ > 0) std::memcpy(static_cast<void*>(larger.get()), data(), size_ * sizeof(T));
    heap_ = std::move(larger);
    capacity_ = capacity;
  }
  void take(InlineVector& other) {
    size_ = other.size_;
    if (other.heap_) {
      heap_ = std::move(other.heap_);
      capacity_ = other.capacity_;
      other.capacity_ = N;
    } else if (size_ > 0) {
      std::memcpy(inline_, other.inline_, size_ * sizeof(T));
    }
    other.size_ = 0;
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  std::unique_ptr<T[]> heap_;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace weir::detail
