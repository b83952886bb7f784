// Bounds the buckets that unknown clients can make: every invented key would get one, with full limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/lock.h"

namespace weir::gateway {

struct NewClientBounds {
  unsigned per_network = 1'000;  ///< keys from one address (IPv6: one /64 network) in a period
  unsigned total = 100'000;      ///< keys from all addresses in a period
  std::chrono::milliseconds period = std::chrono::minutes(10);
};

/// Remembers which keys have a bucket of their own. Keys and networks are given by their hashes. Safe to use
/// from any thread.
class NewClients {
 public:
  enum class Verdict : std::uint8_t {
    own,           ///< the key may have a bucket of its own
    first_shared,  ///< there are too many: it shares one. The first time in a period, for the log
    shared,
  };

  explicit NewClients(const NewClientBounds& bounds) : bounds_(bounds) {}

  /// A key that was admitted stays so as long as it is seen at least once in a period.
  Verdict admit(std::uint64_t key, std::uint64_t network, std::chrono::milliseconds now);

 private:
  struct Period {
    std::unordered_set<std::uint64_t> keys;
    std::unordered_map<std::uint64_t, unsigned> networks;
    bool overflowed = false;
  };

  const NewClientBounds bounds_;
  base::Mutex mutex_;
  std::chrono::milliseconds since_ WEIR_GUARDED_BY(mutex_){0};
  Period current_ WEIR_GUARDED_BY(mutex_);
  Period previous_ WEIR_GUARDED_BY(mutex_);
};

/// The keys that one thread need not ask about again in this period. For one thread.
class AdmittedClients {
 public:
  explicit AdmittedClients(std::chrono::milliseconds period) : period_(period) {}

  bool have(std::uint64_t key, std::chrono::milliseconds now) {
    if (now - since_ >= period_ || keys_.size() >= most) {
      keys_.clear();
      since_ = now;
    }
    return keys_.contains(key);
  }
  void add(std::uint64_t key) { keys_.insert(key); }

 private:
  static constexpr std::size_t most = 65'536;
  const std::chrono::milliseconds period_;
  std::chrono::milliseconds since_{0};
  std::unordered_set<std::uint64_t> keys_;
};

}  // namespace weir::gateway
