// A list that needs no heap while it is short. Not part of the public promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weir::detail {

/// A growing list of plain values; the first N live inside it. Its memory starts uninitialised, since
/// it is made on every decision.
template <class T, std::uint32_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InlineVector() : data_(reinterpret_cast<T*>(inline_)) {}
  InlineVector(const InlineVector& other) : InlineVector() { append(other.data_, other.size_); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) {
      size_ = 0;
      append(other.data_, other.size_);
    }
    return *this;
  }
  ~InlineVector() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  const T* data() const { return data_; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }

  void push_back(const T& value) { std::memcpy(static_cast<void*>(extend(1)), &value, sizeof(T)); }
  void append(const T* values, std::size_t count) {
    if (count > 0) std::memcpy(static_cast<void*>(extend(count)), values, count * sizeof(T));
  }
  /// Room for `count` more values at the end, to be written by the caller.
  T* extend(std::size_t count) {
    if (size_ + count > capacity_) grow(size_ + count);
    T* const place = data_ + size_;
    size_ += static_cast<std::uint32_t>(count);
    return place;
  }

 private:
  void grow(std::size_t least) {
    const std::size_t capacity = least > 2 * std::size_t{capacity_} ? least : 2 * std::size_t{capacity_};
    T* const larger = new T[capacity];
    if (size_ > 0) std::memcpy(static_cast<void*>(larger), data_, size_ * sizeof(T));
    release();
    data_ = larger;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void release() {
    if (data_ != reinterpret_cast<T*>(inline_)) delete[] data_;
  }

  T* data_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace weir::detail
