// What every part of a DynamoDB store shares: the client, the table, the time, what is remembered.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "aws/dynamo_client.h"
#include "base/entropy.h"
#include "store/conditional/machine.h"
#include "store/conditional/rules.h"
#include "store/dynamodb/memory.h"
#include "weir/clock.h"

namespace weir::dynamodb {

/// What decisions took; counted up.
struct Counts {
  std::atomic<std::uint64_t> decisions{0};
  std::atomic<std::uint64_t> first_writes{0};         ///< of decisions
  std::atomic<std::uint64_t> failed_first_writes{0};  ///< whose condition did not hold
  std::atomic<std::uint64_t> reads{0};                ///< of buckets, where no image would do
  std::atomic<std::uint64_t> refused_from_memory{0};
  std::atomic<std::uint64_t> contended{0};
};

class Opening;

struct Site {
  aws::DynamoClient& client;
  const std::string table;
  const Clock& clock;
  base::Entropy& entropy;
  const conditional::Settings settings;        ///< Normal first
  const conditional::Settings settings_retry;  ///< Retry first
  const conditional::Rules rules;
  /// How far clocks may differ; 0: one clock for all, as in tests.
  const Time clock_bound;
  /// A bucket that is known to be empty is not asked again for so long.
  const Time refuse_for;
  /// Settle and rollback without a marker: cheaper, and at most once.
  const bool settle_single;
  Memory memory;
  Counts counts;
  Opening* opening = nullptr;  ///< null: nothing has to be read first

  Time now() const { return clock.now(); }
  /// Fails while the clocks differ too much to decide anything.
  Result<void> check_clock() const;
  /// Whether a bucket that is not there may be there as legacy items.
  bool may_have_legacy() const;
  /// Sends a call, once the store is open. Until then it fails at once.
  void send(aws::DynamoCall& call);
};

}  // namespace weir::dynamodb
