// One operation on the buckets of a chain: where it stops, what it finds there and what it would write.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bucket/claims.h"
#include "limits/names.h"
#include "store/buckets.h"
#include "store/table/record.h"

namespace weir::table {

struct Shard;

/// A bucket that has to follow a change, or does not exist yet, takes the general way: its state and what
/// has to happen to each limit.
struct Detour {
  std::optional<bucket::State> state;
  bucket::Claims claims;
};

/// One bucket of the chain. Plain memory, so that making the array costs nothing.
struct Stop {
  std::string_view entity;
  std::uint64_t hash;
  Shard* shard;
  const limits::Resolution* resolution;
  Record* record;  ///< null: none, or expired

  // Filled by evaluate().
  Time at;               ///< the moment of the decision: never before the last refill
  bool aligned;          ///< the record is under exactly these limits: balances in place
  const Detour* detour;  ///< where it is not
  std::uint32_t named;   ///< bit i: the request names the i-th limit
  bool fits;             ///< every named limit holds what is asked of it
  std::array<std::int64_t, limits::max_limits> held;    ///< by the order of the resolved limits
  std::array<std::int64_t, limits::max_limits> amount;  ///< requested; 0 where not named
};

/// The stops of one operation.
class Stops {
 public:
  Stops() {}  // NOLINT(modernize-use-equals-default): `= default` would clear the storage
  Stop& add(std::string_view entity, const limits::Resolution* resolution) {
    Stop& stop = stops_[size_++];
    stop.entity = entity;
    stop.resolution = resolution;
    stop.record = nullptr;
    return stop;
  }
  std::size_t size() const { return size_; }
  bool full() const { return size_ == limits::max_chain; }
  Stop& operator[](std::size_t index) { return stops_[index]; }
  const Stop& operator[](std::size_t index) const { return stops_[index]; }
  Stop* begin() { return stops_; }
  Stop* end() { return stops_ + size_; }
  const Stop* begin() const { return stops_; }
  const Stop* end() const { return stops_ + size_; }

  Detour& add_detour(Stop& stop) {
    detours_.push_back(std::make_unique<Detour>());
    stop.detour = detours_.back().get();
    return *detours_.back();
  }

 private:
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Detour>> detours_;
  union {
    Stop stops_[limits::max_chain];
  };
};

/// Brings each stop to the present and matches the charges with its limits. Fails on a limit that no stop
/// has and on one that is named twice; then nothing may be written.
Result<void> evaluate(Stops& stops, std::span<const Charge> charges, Time now);
/// Fails if the record would have to keep too many limits at once.
Result<void> check_size(const Stop& stop);
/// Brings one stop to the present the general way, whatever its record is like.
void take_detour(Stops& stops, Stop& stop, Time now);

/// How long until the stop would admit all that is asked of it, from now; nothing if it never can.
std::optional<Time> wait_of(const Stop& stop, Time now);
/// The same of all of them.
std::optional<Time> wait_of(const Stops& stops, Time now);
/// When one limit would admit its amount, from now: 0 if it does, LimitReport::never_fits if it cannot.
Time wait_of(const Stop& stop, std::size_t limit, Time now);

}  // namespace weir::table
