#include "store/dynamodb/lambda_event.h"

#include <map>

#include "base/json.h"
#include "base/text.h"

namespace weir::dynamodb {
namespace {

using wire::json::Reader;

/// Attempts to write a bucket's usage: each fails only if another worker has moved the cursor.
constexpr int most_attempts = 10;

/// The stream that a record comes from.
std::string source_of(std::string_view record) {
  Reader reader(record);
  std::string member;
  std::string arn;
  for (reader.object(); reader.member(member);)
    member == "eventSourceARN" ? reader.string(arn) : reader.skip();
  return arn;
}

/// Counts the records of one bucket. Returns how many were counted.
Result<std::size_t> count(const usage::BucketId& bucket, std::span<const usage::BucketRecord> records,
                          UsageTable& table, usage::AggregatorCounts& counts) {
  std::size_t taken = 0;
  for (int attempt = 0; taken < records.size() && attempt < most_attempts; ++attempt) {
    const auto cursor = table.read(bucket);
    if (!cursor) return cursor.error();
    const usage::Advance step = usage::count_records(*cursor, records.subspan(taken), table.kept());
    if (step.must_write) {
      const auto written = table.write(bucket, step);
      if (!written) return written.error();
      if (*written == usage::Written::refused) {
        ++counts.refused;
        continue;
      }
      ++counts.writes;
    }
    attempt = 0;
    taken += step.taken;
    counts.deltas += step.deltas;
    counts.made_good += step.made_good;
    counts.events += step.events();
  }
  if (taken == records.size()) return taken;
  return base::error(ErrorCode::contention, "another worker counts the same bucket");
}

}  // namespace

Result<LambdaEvent> read_lambda_event(std::string_view json) {
  LambdaEvent event;
  Reader reader(json);
  std::string member;
  for (reader.object(); reader.member(member);) {
    if (member != "Records") {
      reader.skip();
      continue;
    }
    for (reader.array(); reader.element();) {
      std::string_view record;
      if (!reader.raw(record)) break;
      Reader inside(record);
      const std::string arn = source_of(record);
      if (!read_record(inside, label_of(arn), event.records.emplace_back()))
        return base::invalid("the event has a record that is not one of a table's stream");
    }
  }
  if (!reader.end()) return base::invalid("the event is not JSON");
  return event;
}

std::string LambdaResult::json() const {
  auto failures = base::JsonWriter::array();
  if (!failed_from.empty())
    failures.add(base::JsonWriter::object().text("itemIdentifier", failed_from).str());
  return base::JsonWriter::object().raw("batchItemFailures", failures.str()).str();
}

LambdaResult count(const LambdaEvent& event, UsageTable& table) {
  LambdaResult result;
  std::map<usage::BucketId, std::vector<usage::BucketRecord>> buckets;
  for (const StreamRecord& record : event.records) {
    result.counts.malformed += record.malformed ? 1U : 0U;
    if (!record.bucket) continue;
    ++result.counts.records;
    buckets[record.bucket->bucket].push_back(*record.bucket);
  }
  std::string first_failed;
  for (const auto& [bucket, records] : buckets) {
    const auto counted = count(bucket, records, table, result.counts);
    if (counted) continue;
    result.trouble = counted.error().message;
    // All records of the bucket are repeated; those that were counted are passed over.
    if (first_failed.empty() || records.front().position < first_failed) {
      first_failed = records.front().position;
      result.failed_from = records.front().sequence;
    }
  }
  return result;
}

}  // namespace weir::dynamodb
