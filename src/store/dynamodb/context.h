// The context of a DynamoDB store: the client, the table, the time, the caches.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "aws/dynamo_client.h"
#include "base/entropy.h"
#include "store/bad_records.h"
#include "store/conditional/machine.h"
#include "store/dynamodb/items.h"
#include "store/dynamodb/memory.h"
#include "weir/clock.h"

namespace weir::dynamodb {

/// The purpose that consumed capacity is counted under.
enum class Purpose : unsigned char {
  admitted,
  refused,
  undecided,  ///< acquires that failed, or had to be resolved again
  available,
  adjust,
  settle,
  rollback,
  resolve,  ///< limits, entities and the bucket, for a decision that does not have them in its cache
  catalog,  ///< everything else: changes of limits, listings, maintenance
};
inline constexpr std::array<const char*, 9> purpose_names = {
    "admitted", "refused", "undecided", "available", "adjust", "settle", "rollback", "resolve", "catalog"};

/// Counters of the cost of decisions.
struct Counts {
  struct Units {
    std::atomic<std::uint64_t> read{0};  ///< thousandths of units
    std::atomic<std::uint64_t> written{0};
  };
  std::array<Units, purpose_names.size()> spent;
  void spend(Purpose purpose, const aws::Units& units) {
    Units& on_it = spent[static_cast<std::size_t>(purpose)];
    on_it.read.fetch_add(units.read, std::memory_order_relaxed);
    on_it.written.fetch_add(units.written, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> decisions{0};
  std::atomic<std::uint64_t> first_writes{0};         ///< of decisions
  std::atomic<std::uint64_t> failed_first_writes{0};  ///< those whose condition did not hold
  std::atomic<std::uint64_t> reads{0};                ///< of buckets, where no image was good enough
  std::atomic<std::uint64_t> refused_from_memory{0};
  std::atomic<std::uint64_t> contended{0};
};

class StartUp;

struct Context {
  aws::DynamoClient& client;
  const std::string table;
  const Clock& clock;
  base::Entropy& entropy;
  const conditional::Settings settings;
  /// How far clocks may differ; 0: all processes share one clock, as in tests.
  const Time clock_bound;
  /// For how long a bucket that is known to be empty is not read again.
  const Time refuse_for;
  /// Settle and rollback without a marker: cheaper, but they cannot be retried.
  const bool settle_single;
  Memory memory;
  Counts counts;
  store::BadRecords bad = {};
  StartUp* start_up = nullptr;  ///< null: the store is open without it

  Time now() const { return clock.now(); }
  /// Fails while the clocks differ too much to decide.
  Result<void> check_clock() const;
  /// Whether a missing bucket may exist as legacy items.
  bool may_have_legacy() const;
  /// Why requests fail at present; nothing: the store is open.
  std::optional<aws::DynamoFailure> why_closed() const;
  /// Reports an item that cannot be used.
  Error report(Error why) {
    bad.report(why.message);
    return why;
  }
  /// The record of a level; one that cannot be used has no limits, and is reported.
  limits::LimitsRecordRef limits_in(const Item& item);
  /// The record of a plan; one that cannot be used has no limits, and is reported.
  limits::PlanRecordRef plan_in(const Item& item);
  /// Sends a call, once the store is open. Until then it fails at once.
  void send(aws::DynamoCall& call);
};

}  // namespace weir::dynamodb
