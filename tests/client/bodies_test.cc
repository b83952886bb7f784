#include "client/bodies.h"

#include <gtest/gtest.h>

namespace weir::client {
namespace {

const Limit hundred = *Limit::parse("100/min");

TEST(ClientBodies, EscapesWhatCouldMeanSomethingElse) {
  EXPECT_EQ(escaped("key-1_a~b.c"), "key-1_a~b.c");
  EXPECT_EQ(escaped("a/b?c#d%e f+g&h=i@j:k*"), "a%2Fb%3Fc%23d%25e%20f%2Bg%26h%3Di%40j%3Ak%2A");
  EXPECT_EQ(escaped("."), "%2E");
  EXPECT_EQ(escaped(".."), "%2E%2E");
  EXPECT_EQ(escaped("..."), "...");
  EXPECT_EQ(escaped(std::string_view("\0\xff", 2)), "%00%FF");
}

TEST(ClientBodies, SayLimitsAsShortAsIsExact) {
  const NamedLimit limits[] = {
      {"rpm", hundred},
      {"tpm", *Limit::parse(R"({"capacity":5,"refill_amount":1,"refill_period_ms":7000})")}};
  EXPECT_EQ(limits_json(limits),
            R"({"rpm":"100/min","tpm":{"capacity":5,"burst":5,"refill_amount":1,"refill_period_ms":7000}})");
  SetLimitsOptions options{.owner = Owner::sync, .expires_in = std::chrono::milliseconds(30'000)};
  EXPECT_EQ(limits_body(std::span(limits, 1), options),
            R"({"limits":{"rpm":"100/min"},"owner":"sync","ttl_ms":30000})");
}

TEST(ClientBodies, NameEveryChange) {
  const CatalogChange changes[] = {
      SetLimits{Level::system(),
                {{"rpm", hundred}},
                {.bucket_ttl_refill_multiplier = 9, .usage = false, .from_file = true}},
      DeleteLimits{Level::entity("e", "r")},
      PutEntity{{.id = "e\"", .parent = "p", .cascade = true, .metadata = {{"a", "b"}}, .from_file = true}},
      DeleteEntity{"e"}};
  EXPECT_EQ(
      changes_body(changes),
      R"({"changes":[{"change":"limits.set","level":"system","limits":{"rpm":"100/min"},)"
      R"("bucket_ttl_refill_multiplier":9,"usage":"off","from_file":true},)"
      R"({"change":"limits.delete","level":"entity","entity":"e","resource":"r"},)"
      R"({"change":"entity.put","entity":"e\"","parent":"p","cascade":true,"metadata":{"a":"b"},"from_file":true},)"
      R"({"change":"entity.delete","entity":"e"}]})");
  EXPECT_EQ(changes_body({}), R"({"changes":[]})");
}

}  // namespace
}  // namespace weir::client
