// Records of a stream as DynamoDB and Lambda write them.
#include "store/dynamodb/stream_records.h"

#include <gtest/gtest.h>

#include "store/dynamodb/usage_items.h"

namespace weir::dynamodb {
namespace {

constexpr Time at = 1'763'421'600'123;

/// An image of a bucket of generation 7.
std::string image(const std::string& more, const std::string& entity = "key") {
  return R"({"PK":{"S":"ENTITY#key"},"SK":{"S":"#BUCKET#gpt-4"},"entity_id":{"S":")" + entity +
         R"("},"gen":{"N":"7"},"at":{"N":")" + std::to_string(at) + "\"}" + more + "}";
}
std::string record(const std::string& images, const std::string& sk = "#BUCKET#gpt-4",
                   const std::string& pk = "ENTITY#key") {
  return R"({"eventID":"1","eventName":"MODIFY","dynamodb":{"ApproximateCreationDateTime":1.7634216E9,)"
         R"("Keys":{"PK":{"S":")" +
         pk + R"("},"SK":{"S":")" + sk + R"("}},"SequenceNumber":"000012","SizeBytes":26)" + images +
         R"(},"eventSource":"aws:dynamodb"})";
}
StreamRecord read(const std::string& json) {
  StreamRecord read;
  wire::json::Reader reader(json);
  EXPECT_TRUE(read_record(reader, "label", read)) << json;
  return read;
}
const std::string old_image = image(R"(,"b_rpm_tc":{"N":"1000"},"b_rpm_tk":{"N":"5"})");
const std::string new_image =
    image(R"(,"b_rpm_tc":{"N":"3000"},"b_tpm_tc":{"N":"-5"},"b_calls_hd":{"B":""})");

TEST(StreamRecords, BothImagesOfABucketAreRead) {
  const StreamRecord one = read(record(",\"OldImage\":" + old_image + ",\"NewImage\":" + new_image));
  EXPECT_EQ(one.sequence, "000012");
  EXPECT_EQ(one.created, 1'763'421'600'000);
  ASSERT_TRUE(one.bucket);
  EXPECT_EQ(one.bucket->bucket, (usage::BucketId{"default", "key", "gpt-4"}));
  EXPECT_EQ(one.bucket->at, at);
  EXPECT_EQ(one.bucket->position, usage::stream_position("label", "12"));
  EXPECT_EQ(one.bucket->old, (usage::Counters{7, {{"rpm", 1000}}}));
  EXPECT_EQ(one.bucket->next, (usage::Counters{7, {{"rpm", 3000}, {"tpm", -5}}}));
  EXPECT_EQ(usage::extract_deltas(*one.bucket), (std::vector<usage::Used>{{"rpm", 2000}, {"tpm", -5}}));
}

TEST(StreamRecords, NewAndDeletedBucketsLackAnImage) {
  EXPECT_FALSE(read(record(",\"NewImage\":" + new_image)).bucket->old);
  EXPECT_FALSE(read(record(",\"OldImage\":" + old_image)).bucket->next) << "whatever the event is called";
  EXPECT_TRUE(read(record("")).malformed);
}

TEST(StreamRecords, OtherItemsAreNoBuckets) {
  for (const char* const sk :
       {"#META", "#BUCKET#gpt-4#rpm", "#USAGE#gpt-4#2026-11-17T00:00:00Z", "#BUCKET#"}) {
    const StreamRecord one = read(record(",\"NewImage\":" + new_image, sk));
    EXPECT_FALSE(one.bucket || one.malformed) << sk;
  }
  EXPECT_FALSE(read(record(",\"NewImage\":" + new_image, "#BUCKET#gpt-4", "AUDIT#key")).bucket);
  EXPECT_EQ(read(record(",\"NewImage\":" + new_image, "#BUCKET#gpt-4", "team/ENTITY#key"))
                .bucket->bucket.name_space,
            "team");
}

TEST(StreamRecords, MarksOfWritesThatAreNoUsageAreRead) {
  const std::string off = image(R"(,"nu":{"BOOL":true},"b_rpm_tc":{"N":"9"})");
  EXPECT_FALSE(read(record(",\"NewImage\":" + off)).bucket->next->counts);
  const std::string migrated = image(R"(,"mg":{"N":"5"},"b_rpm_tc":{"N":"9"})");
  EXPECT_TRUE(read(record(",\"NewImage\":" + migrated)).bucket->migrates);
  EXPECT_TRUE(read(record(",\"NewImage\":" + migrated + ",\"OldImage\":" + old_image)).bucket->migrates);
  EXPECT_FALSE(read(record(",\"NewImage\":" + migrated + ",\"OldImage\":" + migrated)).bucket->migrates);
}

TEST(StreamRecords, WhatNobodyOfUsWroteIsMalformed) {
  for (const std::string& bad :
       {image(R"(,"b_rpm_tc":{"S":"9"})"), image(R"(,"b_rpm_tc":{"N":"1.5"})"),
        image(R"(,"b_rpm_tc":{"N":"9223372036854775807"})"), image(R"(,"b_#_tc":{"N":"1"})"),
        image(R"(,"fv":{"N":"99"})"), image("", "other"), std::string(R"({"SK":{"S":"#BUCKET#gpt-4"}})"),
        std::string(R"({"entity_id":{"S":"key"},"at":{"N":"-1"}})")}) {
    const StreamRecord one = read(record(",\"NewImage\":" + bad));
    EXPECT_TRUE(one.malformed && !one.bucket) << bad;
    EXPECT_EQ(one.sequence, "000012") << "it can be passed over";
  }
}

TEST(StreamRecords, AnAnswerOfGetRecordsIsRead) {
  usage::ShardRead page;
  const std::string some = record(",\"NewImage\":" + new_image);
  ASSERT_TRUE(read_records(
      R"({"NextShardIterator":"abc","Records":[)" + some + "," + record("", "#META") + "]}", "label", page));
  EXPECT_EQ(page.iterator, "abc");
  EXPECT_EQ(page.records.size(), 1U);
  EXPECT_EQ(page.last_sequence, "000012");
  EXPECT_FALSE(page.empty);
  usage::ShardRead last;
  ASSERT_TRUE(read_records(R"({"NextShardIterator":null,"Records":[]})", "label", last));
  EXPECT_TRUE(last.iterator.empty() && last.empty);
  for (const char* const bad : {"", "{", "[]", R"({"Records":[{}]})", R"({"Records":[{"dynamodb":{}}]})"})
    EXPECT_FALSE(read_records(bad, "label", page)) << bad;
}

TEST(StreamRecords, WindowsHaveTheTextOfTheirStart) {
  EXPECT_EQ(window_text(1'763'420'400'000), "2025-11-17T23:00:00Z");
  EXPECT_EQ(parse_window("2025-11-17T23:00:00Z"), 1'763'420'400'000);
  EXPECT_EQ(parse_window("2025-11-17"), 1'763'337'600'000);
  for (Time start = 0; start < last_window; start += 7'777'777'000)
    EXPECT_EQ(parse_window(window_text(start)), start);
  for (const char* const bad :
       {"", "2025", "2025-13-01", "2025-02-30", "2025-11-17T24:00:00Z", "2025-11-17 23:00:00Z"})
    EXPECT_FALSE(parse_window(bad)) << bad;
}

}  // namespace
}  // namespace weir::dynamodb
