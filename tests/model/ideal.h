// The ideal buckets: what every balance and counter should be, computed in the simplest way, tick by tick and
// write by write, without any of the code under test.
#pragma once

#include "state.h"

namespace weir::model {

/// The first thing that went wrong.
struct Alarm {
  const char* what = nullptr;
  void raise(const char* text) {
    if (what == nullptr) what = text;
  }
};

/// What one write does to one limit: by a client that acts under a version of the limits, claiming or not.
struct ChargeOf {
  HistoryId history;
  int amount;
  bool acquires;
  bool claims;
};

class IdealBuckets {
 public:
  IdealBuckets(const Scenario& scenario, World& world, Alarm& alarm)
      : scenario_(scenario), world_(world), alarm_(alarm) {}

  State first_state();
  /// After the clock moved on.
  void ticked(State& state);
  /// After a new version of the limits was stored.
  void limits_changed(State& state);
  /// After a write that charges; `before` is the state before it.
  void charged(const State& before, State& state, std::size_t item, int limit, const ChargeOf& charge);
  /// After a blind write that gives back.
  void credited(State& state, std::size_t item, int limit, int amount);
  /// Forgets what cannot matter any more, so that equal situations are equal states.
  void normalize(State& state);
  /// Compares the stored balances and counters with what they should be.
  void check(const State& state);

  /// What a client under these limits should find, and the parameters by which it grows; none where they do
  /// not name the limit.
  struct Found {
    const Tiny* rate = nullptr;
    int balance = 0;
    bool exact = true;  ///< or it may hold less: it missed several changes
  };
  Found found(const State& state, std::size_t item, int limit, HistoryId history) const;

  bool alive(ItemId item, int now) const { return item != 0 && world_.info(item).expires_at > now; }
  bool has(ItemId item, int limit) const { return (world_.info(item).limits >> limit & 1) != 0; }
  const Tiny* named_by(HistoryId history, int limit) const;
  /// What leases hold of a concurrent limit of an item after a moment.
  int held_after(const State& state, std::size_t item, int limit, int moment) const;
  /// The latest moment that a client may take for the present.
  int latest_clock(const State& state, std::size_t item) const;
  /// The first moment at which an amount of a concurrent limit is free if nobody acts.
  int moment_free(const State& state, std::size_t item, int limit, int capacity, int amount) const;
  std::size_t items() const { return static_cast<std::size_t>(scenario_.items); }

 private:
  int newest(const State& state) const { return world_.history(state.history).depth; }
  /// The version that a bucket has seen, by number; 0 where versions do not matter.
  int seen_by(ItemId item, HistoryId history) const;
  const Tiny* governing(const State& state, std::size_t item, int limit, int version) const;
  int cap(const Tiny& tiny) const;
  /// What a reader under a version may count on: the part of a limit that has come back beyond its capacity
  /// counts only from the next write on.
  int counts(ItemId item, HistoryId history, int limit, int version, int balance) const;
  /// The most that a limit of a stored bucket holds under parameters that it did not have: one that was not
  /// in force could have been forgotten, so it comes back with its capacity at the most.
  int cap_of_next(ItemId item, int limit, const Tiny& next) const {
    return (world_.info(item).dormant >> limit & 1) != 0 ? next.capacity : next.burst;
  }
  int read(const State& state, std::size_t item, int limit, int version) const;
  void adopt_request(const State& before, State& state, std::size_t item, int limit, const ChargeOf& charge);
  void follow(State& state, std::size_t item, int limit, int acting, const ChargeOf& charge);
  void check_limit(const State& state, std::size_t item, int limit);
  /// Compares the stored holds of a concurrent limit with what leases hold.
  void check_holds(const State& state, std::size_t item, int limit);
  /// The balance under a version: of a concurrent limit, what leases leave of it.
  int balance(const State& state, std::size_t item, int limit, int version) const;
  bool is_concurrent(const State& state, std::size_t item, int limit, int version) const;
  void taken(const State& before, State& state, std::size_t item, int limit, const ChargeOf& charge,
             const Tiny& slots);
  conditional::Record first_item(State& state);

  const Scenario& scenario_;
  World& world_;
  Alarm& alarm_;
};

}  // namespace weir::model
