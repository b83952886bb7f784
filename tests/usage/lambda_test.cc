// The function of Lambda: batches that are repeated, cut and interrupted.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "store/dynamodb/lambda_event.h"

namespace weir::dynamodb {
namespace {

using usage::BucketId;
using usage::Counters;
using usage::HourSum;
using usage::StreamCursor;
using usage::Used;
using usage::Written;

constexpr Time start = 2'000'001'600'000 / usage::hour * usage::hour;

/// A table in memory that fails now and then, before or after it has written.
class FlakyTable final : public UsageTable {
 public:
  explicit FlakyTable(std::mt19937_64& random) : random_(random) {}
  Result<std::optional<StreamCursor>> read(const BucketId& bucket) override {
    if (fails()) return Error{ErrorCode::unavailable, "throttled"};
    const auto known = cursors_.find(bucket);
    return known == cursors_.end() ? std::optional<StreamCursor>() : known->second;
  }
  Result<Written> write(const BucketId& bucket, const usage::Advance& step) override {
    if (fails()) return Error{ErrorCode::unavailable, "throttled"};
    const auto known = cursors_.find(bucket);
    if ((known == cursors_.end() ? std::optional<StreamCursor>() : known->second) != step.from)
      return Written::refused;
    cursors_[bucket] = step.to;
    for (const HourSum& sum : step.sums) {
      events += sum.events;
      for (const Used& used : sum.amounts) used_[{bucket.entity, sum.hour}] += used.amount;
    }
    if (fails()) return Error{ErrorCode::outcome_unknown, "no answer"};
    return Written::done;
  }
  std::map<std::pair<std::string, Time>, std::int64_t> used_;
  std::int64_t events = 0;
  unsigned one_in = 0;

 private:
  bool fails() { return one_in > 0 && random_() % one_in == 0; }
  std::mt19937_64& random_;
  std::map<BucketId, StreamCursor> cursors_;
};

std::string json_of(const usage::BucketRecord& record) {
  const auto image = [&](const Counters& counters) {
    return R"({"entity_id":{"S":")" + record.bucket.entity + R"("},"gen":{"N":")" +
           std::to_string(counters.generation) + R"("},"at":{"N":")" + std::to_string(record.at) +
           R"("},"b_rpm_tc":{"N":")" + std::to_string(counters.amounts[0].amount) + "\"}}";
  };
  std::string json =
      R"({"eventSourceARN":"arn:aws:dynamodb:x:1:table/t/stream/2026","dynamodb":{"Keys":{"PK":)"
      R"({"S":"ENTITY#)" +
      record.bucket.entity + R"("},"SK":{"S":"#BUCKET#gpt-4"}},"SequenceNumber":")" + record.sequence + "\"";
  if (record.old) json += ",\"OldImage\":" + image(*record.old);
  json += ",\"NewImage\":" + image(*record.next);
  return json + "}}";
}

TEST(Lambda, BatchesThatAreRepeatedFromTheFirstFailureAreCountedOnce) {
  std::mt19937_64 random(7);
  FlakyTable table(random);
  table.one_in = 6;
  std::map<std::pair<std::string, Time>, std::int64_t> used;
  std::map<std::string, Counters> states;
  std::vector<usage::BucketRecord> stream;
  for (int i = 1; i <= 3000; ++i) {
    usage::BucketRecord record;
    record.bucket = {"default", "key-" + std::to_string(random() % 5), "gpt-4"};
    record.sequence = std::to_string(i);
    record.at = start + i * 7'000;
    auto& state = states[record.bucket.entity];
    if (!state.amounts.empty()) record.old = state;
    const auto amount = static_cast<std::int64_t>(random() % 1000) + 1;
    if (state.amounts.empty() || random() % 50 == 0) state = {static_cast<std::uint64_t>(i), {{"rpm", 0}}};
    state.amounts[0].amount += amount;
    record.next = state;
    used[{record.bucket.entity, usage::hour_of(record.at)}] += amount;
    stream.push_back(record);
  }
  std::size_t invocations = 0;
  for (std::size_t at = 0; at < stream.size(); ++invocations) {
    const std::size_t end = std::min(stream.size(), at + 1 + random() % 40);
    std::string json = R"({"Records":[)";
    for (std::size_t i = at; i < end; ++i) json += (i == at ? "" : ",") + json_of(stream[i]);
    const auto event = read_lambda_event(json + "]}");
    ASSERT_TRUE(event) << event.error().message;
    const LambdaResult result = count(*event, table);
    // Now and then the answer gets lost: everything comes again.
    if (random() % 10 == 0) continue;
    if (result.failed_from.empty()) {
      EXPECT_EQ(result.json(), R"({"batchItemFailures":[]})");
      at = end;
    } else {
      EXPECT_EQ(result.json(), R"({"batchItemFailures":[{"itemIdentifier":")" + result.failed_from + "\"}]}");
      EXPECT_FALSE(result.trouble.empty());
      at = std::stoul(result.failed_from) - 1;
    }
  }
  EXPECT_EQ(table.used_, used);
  EXPECT_EQ(table.events, 3000);
  EXPECT_GT(invocations, 200U);
}

TEST(Lambda, AnEventThatIsNotOneOfAStreamIsRefused) {
  for (const char* const bad : {"", "[]", "{", R"({"Records":[1]})", R"({"Records":[{}]})"})
    EXPECT_FALSE(read_lambda_event(bad)) << bad;
  const auto scheduled = read_lambda_event(R"({"source":"aws.events","detail":{}})");
  ASSERT_TRUE(scheduled);
  EXPECT_TRUE(scheduled->records.empty());
}

}  // namespace
}  // namespace weir::dynamodb
