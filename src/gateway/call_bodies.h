// Bounds the memory that the bodies of calls to language models take in a gateway.
#pragma once

#include <atomic>
#include <cstddef>

namespace weir::gateway {

/// Counts the bytes of the bodies that are kept. Safe to use from any thread.
class CallBodies {
 public:
  explicit CallBodies(std::size_t most) : most_(most) {}

  /// False if there is no room; then nothing is taken.
  bool take(std::size_t bytes) {
    std::size_t taken = taken_.load(std::memory_order_relaxed);
    do {
      if (bytes > most_ - taken) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> taken_{0};
};

}  // namespace weir::gateway
