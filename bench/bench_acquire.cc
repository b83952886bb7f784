// What an embedded acquire costs beside a bare loop: hash lookup, lock, the same arithmetic.
//
// The bare loop keeps a flat table of string keys in 64 shards with spin locks and does no more than
// decide two limits and charge them; it has no levels, no chain, no report and no lease.
#include <malloc.h>

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>

#include "base/hash.h"
#include "base/lock.h"
#include "bucket/refill.h"
#include "rounds.h"
#include "weir/weir.h"

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

// Every allocation of the program is counted. Out of line, since g++ takes a malloc() inlined on one side and
// a delete on the other for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* block = std::malloc(size)) return block;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace {

using namespace weir;

constexpr base::HashSeed seed{0x9e3779b97f4a7c15U, 0xc2b2ae3d27d4eb4fU};

/// The rival.
class BareLoop {
 public:
  struct Bucket {
    Time refilled_at;
    std::int64_t tokens[2];
    std::int64_t consumed[2];
  };

  explicit BareLoop(const Clock& clock) : clock_(clock) {
    for (const auto* text : {"4000000000000/min", "4000000000000/min"}) {
      parameters_.push_back(limits::parameters_of(*Limit::parse(text)));
    }
  }
  bool acquire(std::string_view key, std::int64_t first, std::int64_t second) {
    const Time now = clock_.now();
    Shard& shard = shards_[base::hash(key, seed) >> 32U & 63U];
    const base::Guard guard(shard.lock);
    auto found = shard.map.find(key);
    if (found == shard.map.end()) {
      const std::int64_t full = parameters_[0].capacity;
      found = shard.map.emplace(std::string(key), Bucket{now, {full, full}, {0, 0}}).first;
    }
    Bucket& bucket = found->second;
    const Time at = std::max(now, bucket.refilled_at);
    const std::int64_t amounts[2] = {first, second};
    std::int64_t held[2];
    for (int i = 0; i < 2; ++i) {
      const auto& limit = parameters_[static_cast<std::size_t>(i)];
      held[i] = bucket::claim(limit.rate, limit.burst, bucket.refilled_at, at).held(bucket.tokens[i]);
      if (amounts[i] > held[i]) return false;
    }
    for (int i = 0; i < 2; ++i) {
      bucket.tokens[i] = held[i] - amounts[i];
      bucket.consumed[i] += amounts[i];
    }
    bucket.refilled_at = at;
    return true;
  }

 private:
  struct Hash {
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(std::string_view text) const { return base::hash(text, seed); }
  };
  struct alignas(64) Shard {
    base::SpinLock lock;
    boost::unordered_flat_map<std::string, Bucket, Hash, std::equal_to<>> map;
  };
  const Clock& clock_;
  std::vector<limits::Parameters> parameters_;
  Shard shards_[64];
};

/// weir, and the bare loop, over the same keys; limits come from the system level, so that all four levels
/// were looked at.
struct Arena {
  SystemClock clock;
  Limiter limiter = *Limiter::open("memory:");
  BareLoop bare{clock};
  std::vector<std::string> entities;
  std::vector<std::string> keys;

  explicit Arena(std::size_t count) {
    if (!limiter.set_limits(Level::system(), {{"rpm", "4000000000000/min"}, {"tpm", "4000000000000/min"}}))
      std::abort();
    for (std::size_t i = 0; i < count; ++i) {
      entities.push_back("api-key-" + std::to_string(i));
      keys.push_back(entities.back() + "/gpt-4");
    }
  }
  void ours(std::size_t i) {
    auto decision = limiter.acquire(entities[i], "gpt-4", {{"rpm", 1}, {"tpm", 500}});
    if (!decision || !decision->admitted()) std::abort();
  }
  void rival(std::size_t i) {
    if (!bare.acquire(keys[i], 1000, 500'000)) std::abort();
  }
};

/// Nanoseconds per operation of `threads` threads that each do `count` operations on random keys.
template <class Operation>
double nanoseconds(std::size_t keys, int threads, std::size_t count, Operation&& operation) {
  std::vector<std::uint32_t> order(1U << 20U);
  std::mt19937 random(1);
  for (auto& index : order) index = static_cast<std::uint32_t>(random() % keys);
  const auto run = [&](std::size_t offset) {
    for (std::size_t i = 0; i < count; ++i) operation(order[(i + offset) & (order.size() - 1)]);
  };
  const double spent = bench::seconds([&] {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(run, static_cast<std::size_t>(t) * 333'333);
    run(0);
  });
  return spent * 1e9 / static_cast<double>(count) / threads;
}

void compare(const char* what, Arena& arena, std::size_t count) {
  const std::size_t keys = arena.entities.size();
  double gain_ours = 0;
  double gain_rival = 0;
  for (const int threads : {1, 2}) {
    const auto duel = bench::duel(
        9, [&] { return nanoseconds(keys, threads, count, [&](std::size_t i) { arena.ours(i); }); },
        [&] { return nanoseconds(keys, threads, count, [&](std::size_t i) { arena.rival(i); }); });
    std::printf("%-22s %d thread%s  weir %7.1f ns   bare loop %7.1f ns   ratio %.2f", what, threads,
                threads == 1 ? " " : "s", duel.ours, duel.rivals, duel.ratio);
    if (threads == 1) {
      std::printf("  (bar: at most 1.35 for one hot key)\n");
      gain_ours = duel.ours;
      gain_rival = duel.rivals;
    } else {
      gain_ours /= duel.ours;
      gain_rival /= duel.rivals;
      std::printf("  gain %.2f beside %.2f: %.2f (bar: at least 0.85)\n", gain_ours, gain_rival,
                  gain_ours / gain_rival);
    }
  }
}

}  // namespace

int main() {
  {
    Arena hot(1);
    hot.ours(0);
    hot.rival(0);
    const std::size_t before = allocations.load();
    for (int i = 0; i < 100'000; ++i) hot.ours(0);
    std::printf("allocations in 100,000 warm acquires: %zu (bar: 0)\n", allocations.load() - before);
    compare("one hot key", hot, 2'000'000);
  }
  Arena many(1'000'000);
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  for (std::size_t i = 0; i < many.entities.size(); ++i) many.ours(i);
  const std::size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  std::printf("memory per two-limit bucket at 1,000,000 entities: %.1f bytes (bar: at most 256)\n",
              static_cast<double>(after - before) / 1e6);
  for (std::size_t i = 0; i < many.entities.size(); ++i) many.rival(i);
  compare("1,000,000 random keys", many, 2'000'000);
}
