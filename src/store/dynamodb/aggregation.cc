#include "store/dynamodb/aggregation.h"

#include <algorithm>

#include "base/hex.h"
#include "base/json.h"
#include "base/text.h"
#include "store/dynamodb/description.h"
#include "store/dynamodb/stream_records.h"
#include "store/dynamodb/usage_folding.h"
#include "store/dynamodb/usage_items.h"

namespace weir::dynamodb {
namespace {

using base::join;
using base::JsonWriter;
using usage::Written;
using Kind = aws::DynamoFailure::Kind;

/// How long one operation may take, with all its attempts.
constexpr std::chrono::milliseconds operation_time{10'000};
/// How often old hours are looked for. Most of the time there are none.
constexpr std::chrono::hours between_foldings{1};

const Clock& wall_clock() {
  static const SystemClock clock;
  return clock;
}

/// Reads a page of DescribeStream. Returns where the next page begins; empty: this was the last.
std::string read_shards(std::string_view body, std::vector<usage::Shard>& shards) {
  wire::json::Reader reader(body);
  std::string member;
  std::string last;
  for (reader.object(); reader.member(member);) {
    if (member != "StreamDescription") {
      reader.skip();
      continue;
    }
    for (reader.object(); reader.member(member);) {
      if (member == "LastEvaluatedShardId" && reader.peek() == wire::json::Reader::Kind::string) {
        reader.string(last);
      } else if (member == "Shards") {
        for (reader.array(); reader.element();) {
          usage::Shard& shard = shards.emplace_back();
          for (reader.object(); reader.member(member);)
            member == "ShardId"         ? reader.string(shard.id)
            : member == "ParentShardId" ? reader.string(shard.parent)
                                        : reader.skip();
        }
      } else {
        reader.skip();
      }
    }
  }
  return last;
}

std::string iterator_in(std::string_view body) {
  wire::json::Reader reader(body);
  std::string member;
  std::string iterator;
  for (reader.object(); reader.member(member);)
    member == "ShardIterator" ? reader.string(iterator) : reader.skip();
  return iterator;
}

}  // namespace

/// One operation of the machine, in one or more requests. Destroys itself at its end.
class Aggregation::Call final : public aws::DynamoCall {
 public:
  Call(Aggregation& owner, usage::Started started) : owner_(owner), started_(std::move(started)) {
    time = operation_time;
    // Reads, and writes under conditions that only one copy can meet.
    repeatable = true;
  }
  void start() {
    std::visit([this](const auto& asked) { begin(asked); }, started_.operation);
  }

 private:
  using DynamoCall::on_answer;
  void to_table(Request request_of_it) {
    operation = std::move(request_of_it.operation);
    request = std::move(request_of_it.json);
    owner_.table_client_->send(*this);
  }
  void to_stream(std::string what, std::string json) {
    operation = std::move(what);
    request = std::move(json);
    owner_.stream_client_->send(*this);
  }
  JsonWriter of_stream() const {
    auto json = JsonWriter::object();
    json.text("StreamArn", owner_.stream_arn_);
    return json;
  }
  const std::string& table() const { return owner_.options_.store.table; }

  void begin(const usage::Discover& /*asked*/) { to_stream("DescribeStream", of_stream().str()); }
  void begin(const usage::WriteLease& asked) {
    to_table(single_write(table(), render(asked.change, owner_.now())));
  }
  void begin(const usage::EraseLease& asked) { to_table(single_write(table(), render_erase(asked.lease))); }
  void begin(const usage::ReadShard& asked) {
    if (!asked.iterator.empty()) return get_records(asked.iterator);
    auto json = of_stream();
    json.text("ShardId", asked.shard);
    json.text("ShardIteratorType", asked.sequence.empty() ? "TRIM_HORIZON" : "AT_SEQUENCE_NUMBER");
    if (!asked.sequence.empty()) json.text("SequenceNumber", asked.sequence);
    to_stream("GetShardIterator", json.str());
  }
  void get_records(std::string_view iterator) {
    to_stream("GetRecords", JsonWriter::object().text("ShardIterator", iterator).str());
  }
  void begin(const usage::ReadCursor& asked) { to_table(latest_hour(table(), asked.bucket)); }
  void begin(const usage::WriteUsage& asked) {
    registering_ = !owner_.is_registered(asked.bucket);
    if (registering_) return to_table(single_write(table(), registration(asked.bucket)));
    to_table(usage_request(table(), asked.bucket, asked.advance, *owner_.options_.kept));
  }

  void on_answer(const aws::DynamoAnswer& answer) override {
    std::visit([&](const auto& asked) { take(asked, answer); }, started_.operation);
  }
  void take(const usage::Discover& /*asked*/, const aws::DynamoAnswer& answer) {
    if (operation == "DescribeStream") {
      const std::string last = read_shards(answer.body, found_.shards);
      if (last.empty()) return list_leases({});
      return to_stream("DescribeStream", of_stream().text("ExclusiveStartShardId", last).str());
    }
    for (const Item& item : answer.items) {
      if (auto lease = read_lease(item)) found_.leases.push_back(*std::move(lease));
    }
    if (!answer.last_key.empty()) return list_leases(key_of(answer.last_key).sk);
    finish(std::move(found_));
  }
  void list_leases(std::string after) {
    to_table(query(table(), {.pk = std::string(aggregator_pk),
                             .begins_with = std::string(shard_prefix),
                             .after = std::move(after)}));
  }
  void take(const usage::WriteLease& /*asked*/, const aws::DynamoAnswer& /*answer*/) {
    finish(Written::done);
  }
  void take(const usage::EraseLease& /*asked*/, const aws::DynamoAnswer& /*answer*/) {
    finish(Written::done);
  }
  void take(const usage::ReadShard& /*asked*/, const aws::DynamoAnswer& answer) {
    if (operation == "GetShardIterator") return get_records(iterator_in(answer.body));
    usage::ShardRead read;
    if (!read_records(answer.body, owner_.label_, read))
      return finish(usage::Failed(), "the stream answers what cannot be read");
    finish(std::move(read));
  }
  void take(const usage::ReadCursor& /*asked*/, const aws::DynamoAnswer& answer) {
    finish(answer.items.empty() ? std::optional<usage::StreamCursor>() : read_cursor(answer.items[0]));
  }
  void take(const usage::WriteUsage& asked, const aws::DynamoAnswer& /*answer*/) {
    if (!registering_) return finish(Written::done);
    owner_.set_registered(asked.bucket);
    begin(asked);
  }

  void on_error(const aws::DynamoFailure& failure) override {
    using State = usage::ShardRead::State;
    if (failure.kind == Kind::condition) return finish(Written::refused);
    if (failure.code == "TrimmedDataAccessException")
      return finish(usage::ShardRead{.state = State::trimmed});
    if (failure.code == "ExpiredIteratorException") return finish(usage::ShardRead{.state = State::expired});
    finish(usage::Failed(), aws::error_of(failure).message);
  }
  void finish(usage::Answer answer, std::string trouble = {}) {
    owner_.end({started_.id, std::move(answer), std::move(trouble)});
    delete this;
  }

  Aggregation& owner_;
  const usage::Started started_;
  usage::Discovered found_;
  bool registering_ = false;
};

Aggregation::Aggregation(AggregationOptions options, std::unique_ptr<aws::DynamoClient> table,
                         std::unique_ptr<aws::DynamoClient> streams, std::string stream_arn,
                         std::unique_ptr<base::Entropy> entropy)
    : options_(std::move(options)),
      stream_arn_(std::move(stream_arn)),
      label_(label_of(stream_arn_)),
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
  const auto described = (*table)->ask("DescribeTable", named(options.store.table), true);
  if (!described.ok()) return aws::error_of(*described.failure);
  const TableDescription description = read_table(described.body);
  if (description.stream != "NEW_AND_OLD_IMAGES" || description.stream_arn.empty()) {
    return base::invalid("table ", base::quoted(options.store.table), " has no stream with both images",
                         description.stream.empty() ? "" : join(" (it has ", description.stream, ")"),
                         "; `weir store init` switches it on");
  }
  if (!options.kept) {
    const auto kept = read_usage_kept(**table, options.store.table);
    if (!kept) return kept.error();
    options.kept = *kept;
  }
  if (options.worker.worker.empty()) options.worker.worker = base::hex(entropy->next());
  std::unique_ptr<Aggregation> aggregation(new Aggregation(std::move(options), *std::move(table),
                                                           *std::move(streams), description.stream_arn,
                                                           std::move(entropy)));
  aggregation->thread_ = std::thread([&running = *aggregation] { running.run(); });
  aggregation->folding_thread_ = std::thread([&running = *aggregation] { running.fold(); });
  return aggregation;
}

Aggregation::~Aggregation() {
  {
    const base::Guard guard(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  folding_thread_.join();
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

void Aggregation::run() {
  for (;;) {
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
    for (usage::Started& one : started) (new Call(*this, std::move(one)))->start();
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
  for (;;) {
    const auto folded =
        fold_usage(*table_client_, options_.store.table, now(), *options_.kept, [&] { return over(); });
    if (!folded && options_.report && !over())
      options_.report(join("old usage could not be folded into days: ", folded.error().message));
    const auto until = std::chrono::steady_clock::now() + between_foldings;
    const base::Guard guard(mutex_);
    while (!ending_ && !ended_ && std::chrono::steady_clock::now() < until)
      changed_.wait_until(mutex_, until);
    if (ending_ || ended_) return;
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
          .trouble = trouble_};
}

}  // namespace weir::dynamodb
