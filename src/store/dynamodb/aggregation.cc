#include "store/dynamodb/aggregation.h"

#include <algorithm>

#include "base/hex.h"
#include "base/text.h"
#include "store/dynamodb/description.h"
#include "store/dynamodb/stream_records.h"
#include "store/dynamodb/usage_folding.h"

namespace weir::dynamodb {
namespace {

using base::join;

/// How often old hours are looked for. Most of the time there are none.
constexpr std::chrono::hours between_foldings{1};

const Clock& wall_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace

Aggregation::Aggregation(AggregationOptions options, std::unique_ptr<aws::DynamoClient> table,
                         std::unique_ptr<aws::DynamoClient> streams, std::unique_ptr<base::Entropy> entropy)
    : options_(std::move(options)),
      entropy_(std::move(entropy)),
      machine_(options_.worker),
      table_client_(std::move(table)),
      stream_client_(std::move(streams)) {}

Result<std::unique_ptr<Aggregation>> Aggregation::start(AggregationOptions options) {
  auto entropy = std::make_unique<base::SystemEntropy>();
  auto table = connect(options.store, wall_clock(), *entropy);
  if (!table) return table.error();
  auto streams = connect_to_streams(options.store, wall_clock(), *entropy);
  if (!streams) return streams.error();
  if (options.worker.worker.empty()) options.worker.worker = base::hex(entropy->next());
  std::unique_ptr<Aggregation> aggregation(
      new Aggregation(std::move(options), *std::move(table), *std::move(streams), std::move(entropy)));
  const auto found = aggregation->find_stream();
  const bool waits = !aggregation->options_.store.must_be_reachable;
  if (!found && (!waits || found.error().code != ErrorCode::unavailable)) return found.error();
  aggregation->thread_ = std::thread([&running = *aggregation] { running.run(); });
  aggregation->folding_thread_ = std::thread([&running = *aggregation] { running.fold(); });
  return aggregation;
}

/// Blocks. After a success, stream_ never changes again.
Result<void> Aggregation::find_stream() {
  const auto found = read_stream();
  const base::Guard guard(mutex_);
  if (found) {
    stream_ = *found;
    machine_.keep(stream_.kept);
    has_stream_ = true;
    trouble_.clear();
    changed_.notify_all();
    return {};
  }
  const bool is_new = std::exchange(trouble_, found.error().message) != found.error().message;
  if (is_new && options_.report && !options_.store.must_be_reachable)
    options_.report(join("usage is not counted yet: ", found.error().message));
  return found.error();
}

Result<Aggregation::Stream> Aggregation::read_stream() {
  const std::string& table = options_.store.table;
  const auto described = table_client_->ask("DescribeTable", named(table), true);
  if (!described.ok()) return aws::error_of(*described.failure);
  const TableDescription description = read_table(described.body);
  if (description.stream != "NEW_AND_OLD_IMAGES" || description.stream_arn.empty()) {
    return base::invalid("table ", base::quoted(table), " has no stream with both images",
                         description.stream.empty() ? "" : join(" (it has ", description.stream, ")"),
                         "; `weir store init` switches it on");
  }
  Stream stream{description.stream_arn, std::string(label_of(description.stream_arn)), {}};
  if (options_.kept) {
    stream.kept = *options_.kept;
    return stream;
  }
  const auto kept = read_usage_kept(*table_client_, table);
  if (!kept) return kept.error();
  stream.kept = *kept;
  return stream;
}

Aggregation::~Aggregation() {
  {
    const base::Guard guard(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread* const thread : {&thread_, &folding_thread_}) {
    if (thread->joinable()) thread->join();
  }
  // Their callbacks use the other members.
  stream_client_.reset();
  table_client_.reset();
}

void Aggregation::stop(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const base::Guard guard(mutex_);
  machine_.stop();
  changed_.notify_all();
  while (!ended_ && changed_.wait_until(mutex_, until)) {
  }
}

bool Aggregation::count_all(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const base::Guard guard(mutex_);
  const Time asked_at = now();
  while (machine_.complete_until() <= asked_at) {
    if (ended_ || std::chrono::steady_clock::now() >= until) return false;
    changed_.wait_until(mutex_,
                        std::min(until, std::chrono::steady_clock::now() + std::chrono::milliseconds(5)));
  }
  return true;
}

/// Tries until the table and its stream are there. False: it was stopped before.
bool Aggregation::wait_for_stream() {
  for (;;) {
    {
      const base::Guard guard(mutex_);
      if (has_stream_) return true;
      const auto until =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.worker.retry_after);
      while (!ending_ && !machine_.stopped() && changed_.wait_until(mutex_, until)) {
      }
      if (ending_ || machine_.stopped()) return false;
    }
    (void)find_stream();
  }
}

void Aggregation::run() {
  while (wait_for_stream()) {
    std::vector<usage::Started> started;
    {
      const base::Guard guard(mutex_);
      if (ending_ || machine_.stopped()) break;
      const usage::AggregatorCounts before = machine_.counts();
      for (Answered& answered : std::exchange(answers_, {})) {
        trouble_ = std::move(answered.trouble);
        machine_.answer(answered.id, answered.answer, now());
      }
      tell(before);
      started = machine_.poll(now());
      if (started.empty() && answers_.empty() && !machine_.stopped()) {
        const Time pause = std::clamp<Time>(machine_.wake_at(now()) - now(), 1, 1000);
        changed_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::milliseconds(pause));
      }
    }
    for (usage::Started& one : started) carry_out(std::move(one));
  }
  const base::Guard guard(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Aggregation::fold() {
  const auto over = [this] {
    const base::Guard guard(mutex_);
    return ending_ || ended_;
  };
  {
    const base::Guard guard(mutex_);
    while (!has_stream_ && !ending_ && !ended_) changed_.wait(mutex_);
  }
  while (!over()) {
    const auto folded =
        fold_usage(*table_client_, options_.store.table, now(), stream_.kept, [&] { return over(); });
    if (!folded && options_.report && !over())
      options_.report(join("old usage could not be folded into days: ", folded.error().message));
    const auto until = std::chrono::steady_clock::now() + between_foldings;
    const base::Guard guard(mutex_);
    while (!ending_ && !ended_ && std::chrono::steady_clock::now() < until)
      changed_.wait_until(mutex_, until);
  }
}

void Aggregation::end(Answered answered) {
  const base::Guard guard(mutex_);
  answers_.push_back(std::move(answered));
  changed_.notify_all();
}

/// Reports what an operator must know. With the lock held.
void Aggregation::tell(const usage::AggregatorCounts& before) WEIR_NOT_ANALYSED {
  if (!options_.report) return;
  const usage::AggregatorCounts& counts = machine_.counts();
  if (counts.trimmed > before.trimmed) {
    options_.report(
        "the stream has dropped records before they were counted: its records are kept for 24 hours. What "
        "they held is counted in the hour of the next write of each bucket; buckets that were deleted "
        "meanwhile are lost");
  }
  if (counts.malformed > before.malformed)
    options_.report(
        "a record of the stream has a bucket that something else than weir wrote; it is left out");
}

bool Aggregation::is_registered(const usage::BucketId& bucket) const {
  const base::Guard guard(mutex_);
  return registered_.contains({bucket.name_space, bucket.resource});
}

void Aggregation::set_registered(const usage::BucketId& bucket) {
  const base::Guard guard(mutex_);
  registered_.emplace(bucket.name_space, bucket.resource);
}

store::AggregationState Aggregation::state() const {
  const base::Guard guard(mutex_);
  const usage::AggregatorCounts& counts = machine_.counts();
  return {.records = counts.records,
          .events = counts.events,
          .deltas = counts.deltas,
          .writes = counts.writes,
          .trimmed = counts.trimmed,
          .made_good = counts.made_good,
          .malformed = counts.malformed,
          .lag = machine_.lag(now()),
          .shards = machine_.shards(),
          .waits = !has_stream_,
          .trouble = trouble_};
}

}  // namespace weir::dynamodb
