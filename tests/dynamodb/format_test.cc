// Items as other versions of weir wrote them, and who may write to buckets at all.
#include "dynamodb/table.h"
#include "limiter/core.h"
#include "store/client_version.h"
#include "store/dynamodb/start_up.h"

namespace weir::dynamodb {
namespace {

class Format : public testing::Test {
 protected:
  /// The items of a transaction of the last release, word by word.
  void put_literally(const std::string& item) const {
    const auto asked =
        table.client->ask("PutItem", "{\"TableName\":\"" + table.table + "\",\"Item\":" + item + "}", true);
    ASSERT_TRUE(asked.ok()) << asked.failure->message;
  }
  /// 100 a minute, 7 charged.
  void put_bucket_of_format_1() const {
    put_literally(
        R"({"PK":{"S":"ENTITY#key"},"SK":{"S":"#BUCKET#gpt-4"},"entity_id":{"S":"key"},"resource":{"S":"gpt-4"},)"
        R"("rf":{"N":"2000000000000"},"pv":{"N":"0"},"gen":{"N":"123456789"},"at":{"N":"2000000000000"},)"
        R"("GSI2PK":{"S":"RESOURCE#gpt-4"},"GSI2SK":{"S":"BUCKET#key"},"ttl":{"N":"2000000420"},)"
        R"("b_rpm_tk":{"N":"93000"},"b_rpm_cp":{"N":"100000"},"b_rpm_bx":{"N":"100000"},)"
        R"("b_rpm_ra":{"N":"100000"},"b_rpm_rp":{"N":"60000"},"b_rpm_tc":{"N":"7000"}})");
  }
  static std::int64_t number(const Item& item, std::string_view name) {
    return wire::aws::integer_of(item, name).value_or(-1);
  }

  TestTable table;
  Limiter admin = table.limiter();
};

TEST_F(Format, ABucketOfFormat1IsChargedAndBecomesOneOfFormat2) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  put_bucket_of_format_1();
  Limiter limiter = table.limiter();
  EXPECT_EQ(limiter.available("key", "gpt-4")->limits()[0].remaining.to_string(), "93");
  EXPECT_EQ(wire::aws::find(table.bucket("key"), "fv"), nullptr) << "looking changes nothing";
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 3}})->admitted());
  const Item item = table.bucket("key");
  EXPECT_EQ(number(item, "fv"), 2);
  EXPECT_EQ(wire::aws::text_of(item, "pa"), "");
  EXPECT_NE(wire::aws::find(item, "pa"), nullptr) << "the entity has no parent";
  EXPECT_EQ(number(item, "b_rpm_tk"), 90'000);
  EXPECT_EQ(number(item, "b_rpm_tc"), 10'000);
  EXPECT_EQ(number(item, "gen"), 123456789);
}

TEST_F(Format, WhatTheLastReleaseDoesToABucketOfFormat2IsUnderstood) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  ASSERT_TRUE(admin.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  EXPECT_EQ(number(table.bucket("key"), "fv"), 2);
  // Its Normal: an update that knows nothing of the new attributes leaves them.
  const auto updated = table.client->ask(
      "UpdateItem",
      "{\"TableName\":\"" + table.table +
          R"(","Key":{"PK":{"S":"ENTITY#key"},"SK":{"S":"#BUCKET#gpt-4"}},)"
          R"("UpdateExpression":"SET rf=:rf, #at=:rf ADD b_rpm_tk :minus, b_rpm_tc :plus",)"
          R"("ExpressionAttributeNames":{"#at":"at"},)"
          R"("ExpressionAttributeValues":{":rf":{"N":"2000000000000"},":minus":{"N":"-2000"},":plus":{"N":"2000"}}})",
      true);
  ASSERT_TRUE(updated.ok()) << updated.failure->message;
  EXPECT_EQ(number(table.bucket("key"), "fv"), 2);
  Limiter other = table.limiter();
  EXPECT_EQ(other.acquire("key", "gpt-4", {{"rpm", 1}})->limits()[0].remaining.to_string(), "96");
  // Its Create replaces the item: the new attributes are gone, and come back with the next charge.
  put_bucket_of_format_1();
  EXPECT_TRUE(other.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  EXPECT_EQ(number(table.bucket("key"), "fv"), 2);
  EXPECT_EQ(number(table.bucket("key"), "b_rpm_tc"), 8'000);
}

TEST_F(Format, AMarkerOfFormat1AnswersARepeatedAcquire) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  const std::vector<Charge> charge{{"rpm", 5}};
  auto store = table.store();
  limiter::Core limiter({std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock),
                         std::make_shared<base::SystemEntropy>(), store},
                        {});
  const auto keyed = [&] { return limiter.acquire("key", "gpt-4", charge, {.idempotency_key = "K"}); };
  ASSERT_TRUE(keyed()->admitted());
  // The marker as the last release would have written it.
  auto found = table.client->ask(
      "Query", query(table.table, {.pk = entity_pk("default", "key"), .begins_with = "#LEASE#"}).json, true);
  ASSERT_EQ(found.answer.items.size(), 1U);
  Item marker = found.answer.items[0];
  EXPECT_EQ(number(marker, "fv"), 2);
  EXPECT_NE(wire::aws::find(marker, "entities"), nullptr);
  std::erase_if(marker, [](const Attribute& one) { return one.name == "fv" || one.name == "entities"; });
  table.put(marker);
  auto again = keyed();
  ASSERT_TRUE(again && again->admitted());
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 5'000) << "charged once";
  ASSERT_TRUE(again->lease().rollback());
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 0);
}

TEST_F(Format, AnItemOfANewerWeirIsRefusedByName) {
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  ASSERT_TRUE(admin.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  Item item = table.bucket("key");
  for (Attribute& attribute : item) {
    if (attribute.name == "fv") attribute.value = Value::of(std::int64_t{3});
  }
  table.put(item);
  Limiter other = table.limiter();
  const auto refused = other.acquire("key", "gpt-4", {{"rpm", 1}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("was written by a newer weir"), std::string::npos)
      << refused.error().message;
}

TEST_F(Format, AFeatureThatThisWeirDoesNotKnowShutsItOut) {
  auto store = table.store();
  ASSERT_TRUE(store->require_client(schema_version)) << "what everybody knows changes nothing";
  ASSERT_TRUE(Limiter::open(table.url(), {.clock = &table.clock}));
  ASSERT_TRUE(admin.set_limits(Level::entity_default("key"), {{"rpm", "1/min"}}, {.inherit = true}));
  ASSERT_TRUE(Limiter::open(table.url(), {.clock = &table.clock})) << "limits that inherit are known";
  ASSERT_TRUE(store->require_client(store::client_version + 1));
  ASSERT_TRUE(store->require_client(schema_version)) << "it is not lowered";
  const auto opened = Limiter::open(table.url(), {.clock = &table.clock});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("was written by a newer weir"), std::string::npos);
}

TEST_F(Format, EveryWriteToABucketIsOneThatAMachineHasMade) {
  const std::uint64_t before = foreign_bucket_writes();
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min"}}));
  ASSERT_TRUE(admin.put_entity({.id = "key", .parent = "project", .cascade = true}));
  for (int i = 0; i < 3; ++i) {
    auto decision = admin.acquire("key", "gpt-4", {{"rpm", 5}});
    ASSERT_TRUE(decision && decision->admitted());
    ASSERT_TRUE(decision->lease().id());
    const std::vector<Charge> actual{{"rpm", i == 1 ? 2 : 9}};
    EXPECT_TRUE(i == 0 || decision->lease().settle(actual));
    table.clock.advance(i == 0 ? 5ms : 1s);
  }
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "50/min"}}));
  ASSERT_TRUE(admin.delete_entity("key"));
  EXPECT_TRUE(table.bucket("key").empty());
  EXPECT_EQ(foreign_bucket_writes(), before);
  // What it would look like otherwise.
  ItemWrite by_hand{.kind = ItemWrite::Kind::update, .key = bucket_key("default", "key", "gpt-4")};
  by_hand.expression.set("rf", Value::of(std::int64_t{1}));
  (void)single_write(table.table, by_hand);
  EXPECT_EQ(foreign_bucket_writes(), before + 1);
}

}  // namespace
}  // namespace weir::dynamodb
