// What api/ writes, client/ reads back; and what nobody of ours wrote is refused.
#include "client/answers.h"

#include <gtest/gtest.h>

#include "api/catalog_json.h"
#include "api/decision_json.h"
#include "api/usage_json.h"
#include "weir/weir.h"

namespace weir::client {
namespace {

class Answers : public testing::Test {
 protected:
  Answers() {
    EXPECT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "10/min"}, {"tpm", "1000/h:2000"}}));
    EXPECT_TRUE(limiter.put_entity({.id = "key", .parent = "team", .cascade = true}));
    EXPECT_TRUE(limiter.set_limits(Level::entity_default("team"), {{"rpm", "5/min"}},
                                   {.owner = Owner::sync, .expires_in = std::chrono::minutes(5)}));
  }
  FakeClock clock;
  Limiter limiter = *Limiter::open("memory:", {.clock = &clock});
};

TEST_F(Answers, OfAcquiresComeBackAsTheyWere) {
  auto admitted = *limiter.acquire("key", "gpt-4", {{"rpm", 3}, {"tpm", Amount::milli(1500)}});
  const std::string id = *admitted.lease().id();
  const std::string json = api::admitted_json(admitted.limits(), id);
  const auto acquired = read_acquired(json);
  ASSERT_TRUE(acquired) << acquired.error().message;
  EXPECT_TRUE(acquired->decision.admitted());
  EXPECT_FALSE(acquired->degraded);
  EXPECT_EQ(acquired->lease, id);
  EXPECT_EQ(acquired->deadline, admitted.lease().deadline());
  EXPECT_EQ(api::admitted_json(acquired->decision.limits(), acquired->lease), json);
  EXPECT_EQ(acquired->decision.limits()[0].owner, Owner::operator_);
  EXPECT_EQ((*acquired->decision.limits().find("rpm")).remaining, Amount(7));
  EXPECT_EQ(acquired->decision.limits()[2].owner, Owner::sync);

  const auto refused = *limiter.acquire("key", "gpt-4", {{"rpm", 4}});
  const auto again = read_acquired(api::refused_json(refused));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(api::refused_json(again->decision), api::refused_json(refused));
  auto remembered = *limiter.acquire("key", "gpt-4", {{"rpm", 4}});
  remembered.set_from_memory();
  EXPECT_NE(api::refused_json(remembered), api::refused_json(refused));
  EXPECT_TRUE(read_acquired(api::refused_json(remembered))->decision.from_memory());
  const auto never = *limiter.acquire("key", "gpt-4", {{"rpm", 40}});
  EXPECT_EQ(api::refused_json(read_acquired(api::refused_json(never))->decision), api::refused_json(never));
  const auto look = *limiter.available("key", "gpt-4", {{"tpm", 1}});
  EXPECT_EQ(api::available_json(*read_available(api::available_json(look))), api::available_json(look));
  EXPECT_EQ(api::to_json(*read_report(api::to_json(look.limits()))), api::to_json(look.limits()));
  EXPECT_TRUE(read_acquired(api::degraded_json())->degraded);
}

TEST_F(Answers, OfTheCatalogComeBackAsTheyWere) {
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", Amount::milli(1001)}}));
  const auto page = *limiter.list_limits();
  std::string items;
  for (const StoredLimits& stored : page.items) items += (items.empty() ? "" : ",") + api::item_json(stored);
  const auto read = read_limits_page("{\"items\":[" + items + R"(],"next":"00ff","new":[1,{"a":2}]})");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->items.size(), page.items.size());
  for (std::size_t i = 0; i < page.items.size(); ++i)
    EXPECT_EQ(api::item_json(read->items[i]), api::item_json(page.items[i]));
  EXPECT_EQ(read->next, "00ff");

  const Entity entity = *limiter.entity("key");
  EXPECT_EQ(*read_entity(api::to_json(entity)), entity);
  const Bucket bucket = limiter.buckets("key")->items.at(0);
  const std::string bucket_json = api::to_json(bucket, clock.now());
  EXPECT_EQ(api::to_json(read_buckets_page("{\"buckets\":[" + bucket_json + "]}")->items.at(0), clock.now()),
            bucket_json);
  const AuditEvent event = limiter.audit()->items.at(0);
  EXPECT_EQ(read_audit_page("{\"events\":[" + api::to_json(event) + "]}")->items.at(0), event);
}

TEST_F(Answers, AboutUsageComeBackAsTheyWereHoweverLarge) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const Usage usage{.entity = "key",
                    .resource = "gpt-4",
                    .window = UsageWindow::day,
                    .start = 1'700'006'400'000,
                    .limits = {{"rpm", Amount::milli(-1)}, {"tpm", Amount::milli(largest)}},
                    .events = 12};
  const auto page = read_usage_page("{\"usage\":[" + api::to_json(usage) + "],\"next\":\"00\"}");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->items, std::vector{usage});
  EXPECT_EQ(page->next, "00");
  const std::vector<UsageTotal> top{{"key", "", {{"tpm", Amount::milli(-largest)}}, 12, {usage, usage}},
                                    {"other", "r", {}, 1, {}}};
  EXPECT_EQ(*read_top_usage(api::to_json(std::span(top))), top);
  for (const char* const wrong :
       {R"({"usage":[{"window":"week"}]})", R"({"usage":[{"start":"today"}]})",
        R"({"usage":[{"events":-1}]})", R"({"usage":[{"limits":{"rpm":99999999999999999999}}]})",
        R"({"usage":[{"limits":{"rpm":0.0001}}]})", "{}"})
    EXPECT_FALSE(read_usage_page(wrong)) << wrong;
}

TEST(ForeignAnswers, AreRefused) {
  const auto complaint = [](const auto& read) { return read ? std::string("read") : read.error().message; };
  const auto line = [](const std::string& more) {
    return R"({"limits":[{"entity":"e","resource":"r","name":"rpm","capacity":1,"burst":1,"requested":0,)"
           R"("remaining":1,"exceeded":false,"retry_after_ms":0,"source":"system"})" +
           more + "]}";
  };
  EXPECT_EQ(complaint(read_report(line(""))), "read");
  for (const std::string& json : {
           std::string("{}"),
           std::string("[]"),
           std::string("null"),
           std::string(),
           std::string("{\"limits\":1}"),
           std::string("{\"limits\":[]} x"),
           std::string("{\"limits\":[{}]}"),
           line(R"(,{"entity":"f","resource":"other","name":"rpm"})"),
           line(R"(,{"entity":"e","resource":"r","name":"no good"})"),
           line(R"(,{"entity":"e","resource":"r","name":"rpm","source":"moon"})"),
           line(R"(,{"entity":"e","resource":"r","name":"rpm","capacity":1e99})"),
           line(R"(,{"entity":"e","resource":"r","name":"rpm","retry_after_ms":-5})"),
           line(R"(,{"entity":")" + std::string(300, 'e') + R"(","resource":"r","name":"rpm"})"),
       }) {
    EXPECT_TRUE(complaint(read_report(json)).starts_with("the service's answer cannot be read: ")) << json;
  }
  // More entities than a chain can have, more limits than a report holds.
  std::string chain, many;
  for (int i = 0; i < 9; ++i)
    chain += ",{\"entity\":\"e" + std::to_string(i) + R"(","resource":"r","name":"rpm"})";
  for (int i = 0; i < 128; ++i) many += R"(,{"entity":"e","resource":"r","name":"rpm"})";
  EXPECT_NE(complaint(read_report(line(chain))).find("more entities"), std::string::npos);
  EXPECT_NE(complaint(read_report(line(many))).find("too many elements"), std::string::npos);
  EXPECT_NE(complaint(read_acquired(R"({"lease":"x"})")).find("\"allowed\" is missing"), std::string::npos);
  EXPECT_NE(complaint(read_buckets_page(
                R"({"buckets":[{"limits":[{"name":"a","capacity":1,"refill_period_ms":0}]}]})")),
            "read");
  EXPECT_NE(complaint(read_limits_page(R"({"items":[{"level":"request"}]})")), "read");
  EXPECT_NE(complaint(read_findings(R"({"findings":[{"severity":"odd"}]})")), "read");
}

}  // namespace
}  // namespace weir::client
