// What the checker explores: a few clients with a few operations each, and what the world may do to them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "store/conditional/machine.h"

namespace weir::model {

inline constexpr int max_clients = 3;
inline constexpr int max_operations = 2;
inline constexpr int max_items = 2;
inline constexpr int max_limits = 2;
inline constexpr int max_versions = 5;  ///< of the limits in one scenario
inline constexpr int max_leases = max_clients * max_operations;
inline constexpr int unnamed = -100;

using Amounts = std::array<int, max_limits>;

/// One operation of a client.
struct Operation {
  enum class Kind {
    acquire,
    adjust,
    extend,
    settle,
    rollback,
    store_limits,
    alter,
    forget,
    move,
    abandon_move
  };
  Kind kind = Kind::acquire;
  Amounts amounts = {unnamed, unnamed};  ///< charges, differences or totals
  bool cached = false;                   ///< starts from the last image that the client saw
  bool once = false;                     ///< with a marker
  /// Which lease a change is about: that of the client's operation of this number, or `given` for one that
  /// was charged before the start. Changes of several clients meet at `shared`.
  static constexpr int given = -1, shared = -2;
  int lease = given;
  Time lease_for = limits::never;  ///< of an acquire and of an extend
  int set = 0;  ///< of limits, for store_limits and alter; for moves: 1 under the parent, 0 away from it
  std::string text() const;
};

Operation acquire(int first, int second = unnamed);
Operation cached(Operation operation);
Operation once(Operation operation);
Operation unmarked(Operation operation);
Operation adjust(int first, int second = unnamed);
/// The same of the lease that all clients share; with the same key for an acquire.
Operation shared(Operation operation);
/// Of the lease of the client's operation of this number.
Operation of(int lease, Operation operation);
/// With a lease of this length.
Operation lasting(Operation operation, int lease_for);
Operation extend(int lease, int lease_for);
Operation settle(int lease, int first, int second = unnamed);
Operation rollback(int lease);
Operation alter(int set);
Operation store_limits(int set);
Operation forget();
/// The first entity of the chain gets a parent, or loses it.
Operation move(int under);
/// The same by a process that dies before it has looked for buckets.
Operation abandon_move(int under);

/// Parameters of a limit in units of one: capacity, burst, amount per period. With an amount of 0 it is
/// concurrent.
struct Tiny {
  int capacity, burst, amount, period;
  bool concurrent() const { return amount == 0; }
};
inline Tiny slots(int capacity) { return {capacity, capacity, 0, 1}; }
using TinySet = std::vector<std::optional<Tiny>>;  ///< by limit

/// What a lease holds of a concurrent limit from before the start.
struct Held {
  int deadline = 0;  ///< after the start
  int amount = 1;
  bool shared = false;  ///< by the lease that the clients share; otherwise by one that nobody ends
};

struct Scenario {
  std::string name;
  std::vector<std::vector<Operation>> clients;

  int items = 1;                        ///< the length of the chain
  std::vector<TinySet> sets;            ///< the first is in force at the start
  bool missing = false;                 ///< the buckets do not exist at the start
  Amounts tokens = {unnamed, unnamed};  ///< at the start; unnamed: burst
  int ticks = 3;
  Time keep_for = limits::never;  ///< how long an unused bucket is kept
  std::vector<Held> held;         ///< of the first limit, by deadline
  bool joins = false;             ///< full lists may hold something longer than its lease does
  int given_charge = 2;           ///< what each lease from before the start has charged of each limit

  std::array<int, max_clients> skew = {};
  int delay = 0;     ///< how many ticks a write may take
  int late = 0;      ///< how many ticks a write of unknown outcome may still take
  int timeouts = 0;  ///< for each client
  bool stale_reads = false;
  bool stale_limits = false;    ///< clients may hold on to limits that were changed
  bool request_limits = false;  ///< the limits come with the requests: client i sends set i
  /// The second item belongs to a parent that the first entity may get or lose; clients may hold on to what
  /// they knew of that.
  bool moves = false;
  bool under_parent = false;    ///< at the start
  bool parent_unknown = false;  ///< the buckets at the start were made by a program that did not check it
  Time ahead = 0;               ///< how far the refill times are ahead of the clock at the start
  /// The refill of this many ticks is allowed on top of burst; 0: the bucket must be exact.
  int allowance = 0;
  bool exact() const { return allowance == 0; }

  conditional::Settings settings;
  const struct Mutation* mutation = nullptr;  ///< what is done to the machines' work; null: nothing
};

}  // namespace weir::model
