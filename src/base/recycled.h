// A free list for objects that every request allocates and frees, and that are too large or too many at once
// for the thread caches of malloc.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace weir::base {

/// `class T final : public Recycled<T>`: memory that a thread frees is kept for the next T that this thread
/// allocates. It helps where objects are freed on the thread that allocated them, and costs nothing
/// elsewhere.
template <class T, std::size_t most = 128>
class Recycled {
 public:
// Off under the sanitizers, so that they see every use after free.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  static void* operator new(std::size_t size) {
    Kept& mine = kept();
    if (mine.count == 0 || size != sizeof(T)) return ::operator new(size);
    return mine.blocks[--mine.count];
  }
  static void operator delete(void* block, std::size_t size) noexcept {
    Kept& mine = kept();
    if (mine.closed || mine.count == most || size != sizeof(T)) return ::operator delete(block);
    mine.blocks[mine.count++] = block;
  }

 private:
  /// Trivially destructible, so that it can be used until the very end of the thread.
  struct Kept {
    std::array<void*, most> blocks;
    std::size_t count;
    bool closed;
  };
  struct CloseGuard {
    Kept& kept;
    ~CloseGuard() {
      kept.closed = true;
      while (kept.count > 0) ::operator delete(kept.blocks[--kept.count]);
    }
  };
  static Kept& kept() {
    thread_local Kept mine{};
    thread_local const CloseGuard closing{mine};
    return mine;
  }
#endif
};

/// A free list of strings for each thread, whose buffers are used again.
class SpareTexts {
 public:
  static std::string take() {
    if (closed()) return {};
    auto& texts = kept().texts;
    if (texts.empty()) return {};
    std::string text = std::move(texts.back());
    texts.pop_back();
    text.clear();
    return text;
  }
  static void give(std::string&& text) {
    constexpr std::size_t most = 128;
    constexpr std::size_t largest = 4096;
    if (closed() || text.capacity() > largest) return;
    auto& texts = kept().texts;
    if (texts.size() < most) texts.push_back(std::move(text));
  }

 private:
  struct Kept {
    std::vector<std::string> texts;
    ~Kept() { closed() = true; }
  };
  static bool& closed() {
    thread_local bool is = false;
    return is;
  }
  static Kept& kept() {
    thread_local Kept mine;
    return mine;
  }
};

}  // namespace weir::base
