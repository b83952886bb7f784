#include "aws/dynamo_answer.h"

#include <gtest/gtest.h>

namespace weir::aws {
namespace {

using Kind = DynamoFailure::Kind;

TEST(DynamoAnswer, HasItemsAndWhatIsLeft) {
  const auto answer = read_answer(
      R"({"Responses":{"t":[{"PK":{"S":"a"}},{"PK":{"S":"b"}}]},"UnprocessedKeys":{"t":{"Keys":[{"PK":{"S":"c"}}],)"
      R"("ConsistentRead":true}},"ConsumedCapacity":[{"TableName":"t","CapacityUnits":1.5},{"CapacityUnits":2}]})");
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->items.size(), 2U);
  EXPECT_EQ(wire::aws::text_of(answer->items[1], "PK"), "b");
  ASSERT_EQ(answer->unprocessed.size(), 1U);
  EXPECT_EQ(wire::aws::text_of(answer->unprocessed[0], "PK"), "c");
  EXPECT_EQ(answer->consumed, 3500);
}

TEST(DynamoAnswer, HasOneItemAndWhereAQueryGoesOn) {
  EXPECT_EQ(wire::aws::integer_of(*read_answer(R"({"Attributes":{"n":{"N":"5"}}})")->item, "n"), 5);
  EXPECT_FALSE(read_answer("{}")->item);
  const auto page = read_answer(R"({"Items":[{}],"Count":1,"LastEvaluatedKey":{"PK":{"S":"x"}}})");
  EXPECT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->last_key.size(), 1U);
  EXPECT_EQ(read_answer(R"({"Responses":[{"Item":{"n":{"N":"1"}}},{}]})")->items.size(), 2U);
  EXPECT_TRUE(read_answer(R"({"UnprocessedItems":{"t":[{}]}})")->unprocessed_writes);
}

TEST(DynamoAnswer, IsRefusedWhereItIsNone) {
  for (const char* bad : {"", "[]", "{", R"({"Item":1})", R"({"Items":{}})", R"({"Responses":5})", R"({} x)"})
    EXPECT_FALSE(read_answer(bad)) << bad;
}

TEST(DynamoFailure, OfAConditionShowsTheItem) {
  const auto failure =
      read_failure(400, R"({"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",)"
                        R"("Item":{"rf":{"N":"7"}},"message":"The conditional request failed"})");
  EXPECT_EQ(failure.kind, Kind::condition);
  EXPECT_EQ(failure.code, "ConditionalCheckFailedException");
  EXPECT_EQ(wire::aws::integer_of(*failure.item, "rf"), 7);
}

TEST(DynamoFailure, OfATransactionIsAsItsReasonsAre) {
  const auto kind_of = [](const std::string& reasons) {
    return read_failure(
               400, R"({"__type":"x#TransactionCanceledException","CancellationReasons":[)" + reasons + "]}")
        .kind;
  };
  const std::string none = R"({"Code":"None"})";
  EXPECT_EQ(kind_of(none + R"(,{"Code":"TransactionConflict","Message":"m"})"), Kind::conflict);
  EXPECT_EQ(kind_of(R"({"Code":"ConditionalCheckFailed"},{"Code":"TransactionConflict"})"), Kind::condition);
  EXPECT_EQ(kind_of(R"({"Code":"ThrottlingError"})"), Kind::throttled);
  EXPECT_EQ(kind_of(R"({"Code":"ProvisionedThroughputExceeded"},{"Code":"TransactionConflict"})"),
            Kind::conflict);
  EXPECT_EQ(kind_of(R"({"Code":"ValidationError"},{"Code":"ConditionalCheckFailed"})"), Kind::invalid);
  const auto failure =
      read_failure(400, R"({"__type":"TransactionCanceledException","CancellationReasons":[{"Code":"None"},)"
                        R"({"Code":"ConditionalCheckFailed","Item":{"n":{"N":"1"}}}]})");
  ASSERT_EQ(failure.reasons.size(), 2U);
  EXPECT_FALSE(failure.reasons[0].item);
  EXPECT_TRUE(failure.reasons[1].item);
}

TEST(DynamoFailure, SaysWhetherAnythingCanHaveHappened) {
  const auto kind_of = [](int status, const std::string& type, const std::string& message = "m") {
    return read_failure(status, R"({"__type":"p#)" + type + R"(","message":")" + message + "\"}").kind;
  };
  EXPECT_EQ(kind_of(400, "ProvisionedThroughputExceededException"), Kind::throttled);
  EXPECT_EQ(kind_of(400, "ThrottlingException"), Kind::throttled);
  EXPECT_EQ(kind_of(400, "TransactionInProgressException"), Kind::conflict);
  EXPECT_EQ(kind_of(400, "ResourceNotFoundException"), Kind::not_found);
  EXPECT_EQ(kind_of(400, "ResourceInUseException"), Kind::exists);
  EXPECT_EQ(kind_of(400, "ValidationException"), Kind::invalid);
  EXPECT_EQ(kind_of(400, "AccessDeniedException"), Kind::denied);
  EXPECT_EQ(kind_of(400, "InvalidSignatureException"), Kind::denied);
  EXPECT_EQ(kind_of(400, "InvalidSignatureException", "Signature expired: now"), Kind::skewed);
  EXPECT_EQ(kind_of(500, "InternalServerError"), Kind::unknown);
  EXPECT_EQ(kind_of(503, "Whatever"), Kind::unknown);
  EXPECT_EQ(read_failure(502, "<html>Bad Gateway</html>").kind, Kind::unknown);
  EXPECT_EQ(read_failure(403, "<html>no</html>").kind, Kind::invalid);
  EXPECT_EQ(read_failure(429, "").kind, Kind::throttled);
}

TEST(DynamoClock, ReadsDates) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784'111'777'000);
  EXPECT_EQ(parse_http_date("Sun, 06 Foo 1994 08:49:37 GMT"), std::nullopt);
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37"), std::nullopt);
  EXPECT_EQ(parse_http_date(""), std::nullopt);
}

TEST(DynamoClock, IsNotBlamedForWhatRoundingAndTheWayExplain) {
  EXPECT_EQ(least_skew(10'000, 10'100, 10'200), 0);
  EXPECT_EQ(least_skew(10'000, 9'500, 10'200), 0);
  EXPECT_EQ(least_skew(10'000, 10'999, 11'500), 0);
  EXPECT_EQ(least_skew(10'000, 11'999, 12'100), -1000);
  EXPECT_EQ(least_skew(10'000, 5'000, 6'000), 4000);
}

}  // namespace
}  // namespace weir::aws
