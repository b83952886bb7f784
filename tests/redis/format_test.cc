// Records of the first format are read, converted and exact, and its scripts are kept from converted ones.
// Fields of later versions stay, or keep this version out.
#include <gtest/gtest.h>

#include <cstring>

#include "support/redis_server.h"
#include "weir/weir.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using tests::RedisServer;

constexpr Time written_at = 1'700'000'000'000;
constexpr const char* bucket_key = "weir:default:{key}:b:key:r";

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

/// As the script of format 1 wrote them: at `written_at` 1 of rpm was charged, under limits one second older.
const std::string format1_b = bytes_of(
    "00008056febc784200000abdfebc784200c019cafebc784200804156febc784200804156febc784200000054346f9d41"
    "20af9ee58feefa42000000000000000000000000802bf8400000000000408f4000000000d01253410000000000000000");
constexpr const char* format1_p =
    "rpm 100000 150000 100000 60000 5 3 tpm 5000000 5000000 5000000 60000 250 3";
constexpr const char* format1_dormant =
    "rpd 1000000 1000000 1000000 86400000 5 432 250000 750000 1700000000000";

class RedisFormat : public testing::Test {
 protected:
  RedisServer server;
  FakeClock clock{written_at - 1000};

  Limiter open() {
    auto limiter = Limiter::open(server.patient_url(), {.clock = &clock});
    EXPECT_TRUE(limiter) << limiter.error().message;
    return *std::move(limiter);
  }
  Limiter open_with_limits() {
    server.ask({"HSET", "weir:store", "format", "1"});
    Limiter limiter = open();
    const std::string rpm = R"({"capacity":100,"burst":150,"refill_amount":100,"refill_period_ms":60000})";
    EXPECT_TRUE(limiter.set_limits(Level::system(), {{"rpm", rpm}, {"tpm", "5000/min"}}));
    return limiter;
  }
  void write_format1() {
    server.ask({"HSET", bucket_key, "p", format1_p, "b", format1_b, "k", "420000"});
    server.ask({"ZADD", "weir:default:{key}:i:key", "0", "r"});
    clock.set(written_at);
  }
  static Bucket only_bucket(Limiter& limiter) {
    const auto buckets = limiter.buckets("key");
    EXPECT_TRUE(buckets) << buckets.error().message;
    EXPECT_EQ(buckets->items.size(), 1U);
    return buckets->items.empty() ? Bucket() : buckets->items[0];
  }
};

TEST_F(RedisFormat, AStoreOfAnEarlierFormatIsUpgradedWhenItIsOpenedAndALaterOneRefused) {
  for (const char* const earlier : {"1", "2", "3"}) {
    server.ask({"HSET", "weir:store", "format", earlier});
    open();
    EXPECT_EQ(server.ask({"HGET", "weir:store", "format"}), "4");
  }
  server.ask({"HSET", "weir:store", "format", "5"});
  open();
  EXPECT_EQ(server.ask({"HGET", "weir:store", "format"}), "5") << "a store with access rules";
  server.ask({"HSET", "weir:store", "format", "6"});
  const auto refused = Limiter::open(server.patient_url());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("another version"), std::string::npos) << refused.error().message;
  EXPECT_EQ(server.ask({"HGET", "weir:store", "format"}), "6");
}

TEST_F(RedisFormat, LimitsThatInheritAreWrittenSoThatEarlierProgramsRefuseThem) {
  Limiter limiter = open();
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "10/min"}}));
  ASSERT_TRUE(limiter.set_limits(Level::entity_default("key"), {{"tpm", "10/min"}}, {.inherit = true}));
  EXPECT_TRUE(server.ask({"HGET", "weir:{default}:catalog", "e key "}).starts_with("3 "));
  ASSERT_TRUE(limiter.set_limits(Level::entity_default("key"), {{"tpm", "10/min"}}));
  EXPECT_TRUE(server.ask({"HGET", "weir:{default}:catalog", "e key "}).starts_with("1 "));
  Limiter other = open();
  EXPECT_EQ(server.ask({"HGET", "weir:store", "format"}), "4") << "it is not lowered";
}

TEST_F(RedisFormat, LimitsWithModesToo) {
  Limiter limiter = open();
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "10/min:shadow"}, {"tpm", "1/min"}}));
  EXPECT_TRUE(server.ask({"HGET", "weir:{default}:catalog", "s"}).starts_with("3 "));
  Limiter other = open();
  EXPECT_EQ(other.limits(Level::system())->limits.at(0).limit.mode(), Mode::shadow);
  EXPECT_EQ(other.limits(Level::system())->limits.at(1).limit.mode(), Mode::enforce);
  EXPECT_FALSE(other.limits(Level::system())->inherit);
}

TEST_F(RedisFormat, ABucketOfTheFirstFormatIsShownAsItWas) {
  Limiter limiter = open_with_limits();
  write_format1();
  server.ask({"HSET", bucket_key, "d", format1_dormant, "o1", "1"});
  const Bucket bucket = only_bucket(limiter);
  ASSERT_EQ(bucket.limits.size(), 3U);
  EXPECT_EQ(bucket.refilled_at, written_at);
  EXPECT_EQ(bucket.expires_at, written_at + 420'000);
  EXPECT_EQ(bucket.limits[0].name, "rpd");
  EXPECT_EQ(bucket.limits[0].tokens, Amount(250));
  EXPECT_EQ(bucket.limits[0].consumed, Amount(750));
  EXPECT_EQ(bucket.limits[1].tokens, Amount(99));
  EXPECT_EQ(bucket.limits[1].consumed.millitokens(), (std::int64_t{1} << 52) + 1000);
  EXPECT_EQ(bucket.limits[2].tokens, Amount(5000));
  EXPECT_EQ(server.ask({"TYPE", bucket_key}), "hash") << "looking converts nothing";
}

TEST_F(RedisFormat, ABucketOfTheFirstFormatIsChargedExactlyAndConverted) {
  Limiter limiter = open_with_limits();
  write_format1();
  server.ask({"HSET", bucket_key, "d", format1_dormant, "o1", "1"});
  clock.set(written_at + 600);  // rpm has refilled 1
  const auto decision = limiter.acquire("key", "r", {{"rpm", 3}, {"tpm", 100}});
  ASSERT_TRUE(decision) << decision.error().message;
  ASSERT_TRUE(decision->admitted());
  EXPECT_EQ(decision->limits().find("rpm")->remaining, Amount(99 + 1 - 3));
  EXPECT_EQ(decision->limits().find("tpm")->remaining, Amount(4900));
  EXPECT_EQ(server.ask({"TYPE", bucket_key}), "string");
  const Bucket bucket = only_bucket(limiter);
  ASSERT_EQ(bucket.limits.size(), 3U);
  EXPECT_EQ(bucket.limits[0].consumed, Amount(750)) << "the dormant limit goes on";
  EXPECT_EQ(bucket.limits[1].consumed.millitokens(), (std::int64_t{1} << 52) + 4000);
  // From here on it is a plain bucket.
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
  EXPECT_EQ(only_bucket(limiter).limits[1].consumed.millitokens(), (std::int64_t{1} << 52) + 5000);
}

TEST_F(RedisFormat, ARefusalConvertsNothing) {
  Limiter limiter = open_with_limits();
  write_format1();
  const auto decision = limiter.acquire("key", "r", {{"rpm", 100}});
  ASSERT_TRUE(decision && decision->refused());
  EXPECT_EQ(decision->retry_after(), 600ms);
  EXPECT_EQ(server.ask({"TYPE", bucket_key}), "hash");
  clock.advance(600ms);
  EXPECT_TRUE(limiter.acquire("key", "r", {{"rpm", 100}})->admitted());
}

TEST_F(RedisFormat, AChangeOfLimitsReachesABucketOfTheFirstFormatAtOnce) {
  Limiter limiter = open_with_limits();
  write_format1();
  ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), {{"rpm", "10/min"}}));
  const auto decision = limiter.acquire("key", "r", {{"rpm", 10}});
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_TRUE(decision->admitted());
  EXPECT_FALSE(only_bucket(limiter).expires_at) << "an operator's bucket stays";
}

TEST_F(RedisFormat, TheScriptsOfTheFirstFormatWriteNothingToAConvertedBucket) {
  Limiter limiter = open_with_limits();
  write_format1();
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
  const std::string record = server.ask({"GET", bucket_key});
  for (const char* const first_command :
       {"return redis.call('HGET', KEYS[1], 'b')", "return redis.call('HMGET', KEYS[1], 'b', 'p', 'd', 'k')",
        "return redis.call('HGETALL', KEYS[1])"}) {
    const std::string answer = server.ask({"EVAL", first_command, "1", bucket_key});
    EXPECT_TRUE(answer.starts_with("-")) << answer;
    EXPECT_NE(answer.find("WRONGTYPE"), std::string::npos) << answer;
  }
  EXPECT_EQ(server.ask({"GET", bucket_key}), record);
}

// It does not tell which buckets were charged, so nothing is given back by way of the repeat.
TEST_F(RedisFormat, AMarkerOfTheFirstFormatStillMakesARepeatHarmless) {
  Limiter limiter = open_with_limits();
  clock.set(written_at);
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 4}}, {.idempotency_key = "once"})->admitted());
  const std::string marker = server.ask({"KEYS", "weir:default:{}:l:*"});
  EXPECT_TRUE(server.ask({"GET", marker}).starts_with("2 0 " + std::to_string(written_at + 600'000) + " 1 "));
  server.ask({"SET", marker, "1 0 " + std::to_string(written_at + 600'000) + " 1 rpm 4000 1 0"});
  auto again = limiter.acquire("key", "r", {{"rpm", 4}}, {.idempotency_key = "once"});
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_TRUE(again->admitted());
  EXPECT_EQ(only_bucket(limiter).limits[0].consumed, Amount(4));
  ASSERT_TRUE(again->lease().settle({{"rpm", 1}}));
  EXPECT_EQ(only_bucket(limiter).limits[0].consumed, Amount(4));
}

TEST_F(RedisFormat, FieldsOfLaterVersionsStayWhereTheyAre) {
  Limiter limiter = open_with_limits();
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
  server.ask({"APPEND", bucket_key, "\nlater 1 2"});
  auto decision = limiter.acquire("key", "r", {{"rpm", 99}});
  ASSERT_TRUE(decision && decision->admitted());
  ASSERT_TRUE(decision->lease().adjust({{"rpm", 5}})) << "a debt, which is not for the script";
  EXPECT_NE(server.ask({"GET", bucket_key}).find("\nlater 1 2"), std::string::npos);
  EXPECT_EQ(only_bucket(limiter).limits[0].tokens, Amount(-5));
}

TEST_F(RedisFormat, ABucketThatNeedsALaterVersionIsRefusedWithWordsThatSaySo) {
  Limiter limiter = open_with_limits();
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 1}})->admitted());
  // What needs a later version also takes the bucket away from the script: plain until is 0.
  server.ask({"APPEND", bucket_key, "\n!later 1 2"});
  server.ask({"SETRANGE", bucket_key, "48", std::string_view("\0\0\0\0\0\0\0\0", 8)});
  const std::string record = server.ask({"GET", bucket_key});
  const auto refused = limiter.acquire("key", "r", {{"rpm", 1}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_NE(refused.error().message.find("later version"), std::string::npos) << refused.error().message;
  EXPECT_EQ(server.ask({"GET", bucket_key}), record);
}

TEST_F(RedisFormat, AKeyedAcquireRepeatedAfterItsBucketWasMadeAnewBelongsToTheFirst) {
  Limiter limiter = open();
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "10/min"}}, {.bucket_ttl_refill_multiplier = 1}));
  const AcquireOptions once{.idempotency_key = "once"};
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 10}}, once)->admitted());
  clock.advance(2min);
  ASSERT_TRUE(limiter.acquire("key", "r", {{"rpm", 4}})->admitted()) << "a new bucket";
  auto again = limiter.acquire("key", "r", {{"rpm", 10}}, once);
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_TRUE(again->admitted());
  EXPECT_EQ(only_bucket(limiter).limits[0].consumed, Amount(4));
  ASSERT_TRUE(again->lease().rollback());
  EXPECT_EQ(only_bucket(limiter).limits[0].consumed, Amount(4));
  EXPECT_EQ(only_bucket(limiter).limits[0].tokens, Amount(6));
}

}  // namespace
}  // namespace weir
