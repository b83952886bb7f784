// A contiguous buffer with room at its end, which connections read into and write from. Unlike a std::string
// it exposes its free room uninitialised, and drops bytes at its front at no cost.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace weir::wire {

/// Bytes between a begin and an end inside one allocation. Only reserve(), compact() and append() move them.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t capacity) { reserve(capacity); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() = default;

  const char* data() const { return bytes_.get() + begin_; }
  char* data() { return bytes_.get() + begin_; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return end_ == begin_; }
  std::size_t capacity() const { return capacity_; }
  std::string_view view() const { return {data(), size()}; }

  /// The bytes behind the end, not initialised: write there, then commit() what was written.
  std::span<char> room() { return {bytes_.get() + end_, capacity_ - end_}; }
  bool has_room() const { return end_ < capacity_; }
  void commit(std::size_t count) { end_ += count; }

  /// Drops `count` bytes at the front. An emptied buffer starts again at its beginning.
  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  /// Drops all but the first `count` bytes.
  void truncate(std::size_t count) { end_ = begin_ + count; }
  void clear() { begin_ = end_ = 0; }

  /// Moves the bytes to the front of the allocation.
  void compact() {
    if (begin_ == 0) return;
    std::memmove(bytes_.get(), data(), size());
    end_ -= begin_;
    begin_ = 0;
  }
  /// Makes room() at least `count`. Moves the bytes only if it must.
  void reserve(std::size_t count) {
    if (capacity_ - end_ < count) grow(count);
  }

  void append(std::string_view text) {
    reserve(text.size());
    put(text);
  }
  void append(char c) {
    reserve(1);
    bytes_[end_++] = c;
  }
  /// append() without a check: the room must be reserved.
  void put(std::string_view text) {
    // An empty view may have no data, which memcpy must not see.
    if (text.empty()) return;
    std::memcpy(bytes_.get() + end_, text.data(), text.size());
    end_ += text.size();
  }

  void swap(Buffer& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  void grow(std::size_t count) {
    if (capacity_ - size() >= count) return compact();
    std::size_t capacity = capacity_ < 256 ? 256 : capacity_;
    while (capacity - size() < count) capacity *= 2;
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
    if (!empty()) std::memcpy(bytes.get(), data(), size());
    end_ = size();
    begin_ = 0;
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace weir::wire
