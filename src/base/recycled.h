// Memory for objects that are made and thrown away with every request, and are too large or too many at once
// for the small caches of malloc.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace weir::base {

/// `class T final : public Recycled<T>`: what is freed on a thread is kept there for the next T that it
/// makes. So objects should be freed on the thread that made them; elsewhere it is no worse than without
/// this.
template <class T, std::size_t most = 128>
class Recycled {
 public:
// The sanitizers are to see every use of what was freed.
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
  /// Without a destructor of its own, so that it can be looked at until the thread is really gone.
  struct Kept {
    std::array<void*, most> blocks;
    std::size_t count;
    bool closed;
  };
  struct Closing {
    Kept& kept;
    ~Closing() {
      kept.closed = true;
      while (kept.count > 0) ::operator delete(kept.blocks[--kept.count]);
    }
  };
  static Kept& kept() {
    thread_local Kept mine{};
    thread_local const Closing closing{mine};
    return mine;
  }
#endif
};

/// Texts whose room is used again by the thread on which they were given back.
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
