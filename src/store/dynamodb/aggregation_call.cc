// One operation of the aggregator, as requests to the table and to its stream.
#include "base/json.h"
#include "store/dynamodb/aggregation.h"
#include "store/dynamodb/stream_records.h"
#include "store/dynamodb/usage_items.h"

namespace weir::dynamodb {
namespace {

using base::JsonWriter;
using usage::Written;
using Kind = aws::DynamoFailure::Kind;

/// How long one operation may take, with all its attempts.
constexpr std::chrono::milliseconds operation_time{10'000};

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
    json.text("StreamArn", owner_.stream_.arn);
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
    to_table(usage_request(table(), asked.bucket, asked.advance, owner_.stream_.kept));
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
    if (!read_records(answer.body, owner_.stream_.label, read))
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

void Aggregation::carry_out(usage::Started started) { (new Call(*this, std::move(started)))->start(); }

}  // namespace weir::dynamodb
