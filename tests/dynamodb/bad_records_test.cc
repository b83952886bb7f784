// Items that something else than weir has written.
#include <bit>
#include <cstdio>
#include <thread>

#include "app/check_store.h"
#include "dynamodb/table.h"
#include "support/stored_records.h"

namespace weir::dynamodb {
namespace {

using tests::Mutator;
using tests::StoredEntity;

class BadItems : public testing::Test {
 protected:
  TestTable table{"&cache_ms=1"};
  Limiter limiter = table.limiter();

  std::string findings() {
    const auto found = app::check_store(table.url(), {});
    std::string text;
    for (const auto& finding : *found) {
      if (finding.what.starts_with("record")) text += finding.detail + "\n";
    }
    return text;
  }
  /// Changes attributes of some items of the entity, at any depth; returns how many items.
  std::size_t damage(Mutator& random, const std::string& id) {
    const Key keys[] = {meta_key("default", id), bucket_key("default", id, "r"),
                        level_key("default", Level::entity(id, "r")),
                        level_key("default", Level::entity_default(id))};
    std::size_t damaged = 0;
    const std::size_t first = random.below(std::size(keys));
    for (std::size_t i = 0; i < std::size(keys); ++i) {
      if (i == 0 || random.one_in(2))
        damaged += damage(random, keys[(first + i) % std::size(keys)]) ? 1U : 0U;
    }
    std::this_thread::sleep_for(2ms);
    return damaged;
  }
  bool damage(Mutator& random, const Key& key) {
    Item item = table.item(key);
    if (item.empty()) return false;
    for (std::size_t changes = 1 + random.below(3); changes > 0; --changes) change(item, random);
    // DynamoDB refuses some of them.
    std::string json;
    wire::aws::append_json(json, item);
    const auto put =
        table.client->ask("PutItem", R"({"TableName":")" + table.table + R"(","Item":)" + json + "}", true);
    return put.ok();
  }
  /// Waits until no process has the old one cached.
  void put(const Item& item) const {
    table.put(item);
    std::this_thread::sleep_for(2ms);
  }

 private:
  static void change(Value& value, Mutator& random) {
    if (!value.members.empty() && !random.one_in(3)) return change(value.members, random);
    if (!value.list.empty() && !random.one_in(3))
      return change(value.list[random.below(value.list.size())], random);
    if (random.one_in(3)) {
      // Other bytes are no JSON, and DynamoDB Local fails on them as if it were down.
      std::string text = random.text(value.text);
      std::erase_if(text, [](char c) { return c < ' ' || c > '~'; });
      value = Value::of(text);
    } else {
      // Numbers that DynamoDB can store and no integer can.
      value = Value::of(std::int64_t{0});
      value.text = random.number();
    }
  }
  static void change(Item& members, Mutator& random) {
    if (members.empty()) return;
    const std::size_t at = random.below(members.size());
    const std::string name = members[at].name;
    if (name == "PK" || name == "SK" || name.starts_with("GSI")) return;
    if (random.one_in(6)) {
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      change(members[at].value, random);
    }
  }
};

TEST_F(BadItems, ALimitsItemWithImpossibleNumbersDoesNotEndTheProcessButFallsToTheNextLevel) {
  ASSERT_TRUE(limiter.set_limits(Level::resource("gpt-4"), {{"rpm", "5/min"}}));
  const Level level = Level::entity("key", "gpt-4");
  struct Numbers {
    const char *capacity, *burst, *amount, *period;
  };
  for (const Numbers& numbers : {Numbers{"200", "100", "100", "60"},
                                 {"10000000000000", "10000000000000", "1", "1"},
                                 {"-5", "-5", "1", "1"},
                                 {"1", "1", "0", "60"},
                                 {"1", "1", "1", "0"},
                                 {"99999999999999999999", "5", "5", "60"},
                                 {"1.5", "5", "5", "60"}}) {
    SCOPED_TRACE(numbers.capacity);
    const auto number = [](const char* text) {
      Value value = Value::of(std::int64_t{0});
      value.text = text;
      return value;
    };
    Item item = level_key("default", level).item();
    item.push_back({"l_rpm_cp", number(numbers.capacity)});
    item.push_back({"l_rpm_bx", number(numbers.burst)});
    item.push_back({"l_rpm_ra", number(numbers.amount)});
    item.push_back({"l_rpm_rp", number(numbers.period)});
    put(item);
    const auto got = limiter.limits(level);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::unavailable);
    EXPECT_NE(got.error().message.find("\"ENTITY#key\" \"#CONFIG#gpt-4\""), std::string::npos)
        << got.error().message;
    EXPECT_EQ(limiter.effective_limits("key", "gpt-4")->source, Source::resource);
    EXPECT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 0}})->admitted());
    EXPECT_NE(findings().find("\"ENTITY#key\" \"#CONFIG#gpt-4\""), std::string::npos) << findings();
    const auto sync =
        limiter.set_limits(level, {{"rpm", "1/min"}}, {.owner = Owner::sync, .expires_in = 1min});
    ASSERT_FALSE(sync);
    EXPECT_EQ(sync.error().code, ErrorCode::operator_owned) << sync.error().message;
    const auto gone = limiter.delete_limits(level);
    ASSERT_TRUE(gone) << gone.error().message;
    EXPECT_EQ(limiter.limits(level).error().code, ErrorCode::not_found);
    put(item);
    ASSERT_TRUE(limiter.set_limits(level, {{"rpm", "100/min"}}));
    EXPECT_EQ(limiter.effective_limits("key", "gpt-4")->source, Source::entity);
    EXPECT_EQ(findings(), "every record can be used\n");
  }
}

/// Items of limits as other programs write them: by the presence of `ttl` they are sync's or an operator's.
class OtherPrograms : public BadItems {
 protected:
  Item limits_item(const Level& of, std::int64_t capacity) const {
    Item item = level_key("default", of).item();
    for (const char* const name : {"l_rpm_cp", "l_rpm_bx", "l_rpm_ra"})
      item.push_back({name, Value::of(capacity)});
    item.push_back({"l_rpm_rp", Value::of(std::int64_t{60})});
    item.push_back({"GSI3PK", Value::of("ENTITY_CONFIG#" + of.resource())});
    item.push_back({"GSI3SK", Value::of(of.entity())});
    return item;
  }
  void update(const Level& of, const std::string& expression, const std::string& values) const {
    const Key key = level_key("default", of);
    std::string json;
    wire::aws::append_json(json, key.item());
    const auto asked = table.client->ask("UpdateItem",
                                         R"({"TableName":")" + table.table + R"(","Key":)" + json +
                                             R"(,"UpdateExpression":")" + expression +
                                             R"(","ExpressionAttributeNames":{"#ttl":"ttl"})" + values + "}",
                                         true);
    ASSERT_TRUE(asked.ok()) << asked.failure->message;
    std::this_thread::sleep_for(2ms);
  }
  const Level level = Level::entity("key", "gpt-4");
};

TEST_F(OtherPrograms, SyncRenewsTheTtlOfOurRecordAndTheNewExpiryHolds) {
  table.clock.advance(1ms);
  const auto stored =
      limiter.set_limits(level, {{"rpm", "5/min"}}, {.owner = Owner::sync, .expires_in = 30s});
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->expires_at, start_of_time + 31'000) << "rounded up to seconds";
  const Item item = table.item(level_key("default", level));
  EXPECT_EQ(wire::aws::find(item, "owner"), nullptr);
  EXPECT_EQ(wire::aws::find(item, "expires_at"), nullptr);
  EXPECT_EQ(wire::aws::integer_of(item, "ttl"), start_of_time / 1000 + 31);
  const std::string later = std::to_string(start_of_time / 1000 + 90);
  update(level, "SET #ttl=:t", R"(,"ExpressionAttributeValues":{":t":{"N":")" + later + "\"}}");
  EXPECT_EQ(limiter.limits(level)->expires_at, start_of_time + 90'000);
  table.clock.advance(60s);
  EXPECT_EQ(limiter.effective_limits("key", "gpt-4")->owner, Owner::sync);
  table.clock.advance(31s);
  EXPECT_EQ(limiter.limits(level).error().code, ErrorCode::not_found);
}

TEST_F(OtherPrograms, AnOperatorWhoRemovesTheTtlOwnsTheRecordAndSyncIsRefused) {
  ASSERT_TRUE(limiter.set_limits(level, {{"rpm", "5/min"}}, {.owner = Owner::sync, .expires_in = 30s}));
  update(level, "REMOVE #ttl", "");
  EXPECT_EQ(limiter.limits(level)->owner, Owner::operator_);
  EXPECT_FALSE(limiter.limits(level)->expires_at);
  const auto refused =
      limiter.set_limits(level, {{"rpm", "6/min"}}, {.owner = Owner::sync, .expires_in = 30s});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::operator_owned) << refused.error().message;
  EXPECT_EQ(limiter.list_limits({.owner = Owner::operator_})->items.size(), 1U);
}

TEST_F(OtherPrograms, TheirRecordsWorkAndAreListed) {
  const Level synced = Level::entity("another", "gpt-4");
  put(limits_item(level, 7));
  Item item = limits_item(synced, 9);
  item.push_back({"ttl", Value::of(start_of_time / 1000 + 60)});
  put(item);
  ASSERT_TRUE(limiter.set_limits(Level::entity("mine", "gpt-4"), {{"rpm", "5/min"}}));
  EXPECT_EQ(limiter.limits(level)->owner, Owner::operator_);
  EXPECT_EQ(limiter.limits(synced)->owner, Owner::sync);
  EXPECT_EQ(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->limits()[0].remaining, Amount(6));
  std::vector<std::string> names;
  std::string cursor;
  do {
    const auto page = limiter.list_limits({}, {.cursor = cursor, .limit = 1});
    ASSERT_TRUE(page) << page.error().message;
    for (const StoredLimits& one : page->items) names.push_back(one.level.entity());
    cursor = page->next;
  } while (!cursor.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"another", "key", "mine"}));
  EXPECT_EQ(limiter.list_limits({.owner = Owner::sync})->items.at(0).level, synced);
  // Sync replaces its own, and not the operator's, also where that has no limits at all.
  EXPECT_TRUE(limiter.set_limits(synced, {{"rpm", "6/min"}}, {.owner = Owner::sync, .expires_in = 30s}));
  for (const Item& theirs : {limits_item(level, 7), level_key("default", level).item()}) {
    put(theirs);
    const auto refused =
        limiter.set_limits(level, {{"rpm", "6/min"}}, {.owner = Owner::sync, .expires_in = 30s});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::operator_owned) << refused.error().message;
  }
  // Deleting the entity deletes their records too.
  put(limits_item(level, 7));
  ASSERT_TRUE(limiter.put_entity({.id = "key"}));
  ASSERT_TRUE(limiter.delete_entity("key"));
  EXPECT_EQ(limiter.limits(level).error().code, ErrorCode::not_found);
}

TEST_F(BadItems, AParentHasTheRightChildrenWhateverBecameOfTheirRecords) {
  tests::check_children_of_damaged(limiter, [&](const std::string& id) {
    Item item = table.item(meta_key("default", id));
    for (Attribute& attribute : item) {
      if (attribute.name == "created_at") attribute.value = Value::of(std::string("yesterday"));
    }
    put(item);
  });
}

TEST_F(BadItems, APlanHasTheRightMembersWhateverBecameOfTheirRecords) {
  const auto set = [&](const std::string& id, const char* name, const Value& value) {
    Item item = table.item(meta_key("default", id));
    for (Attribute& attribute : item) {
      if (attribute.name == name) attribute.value = value;
    }
    put(item);
  };
  tests::check_members_of_damaged(
      limiter, [&](const std::string& id) { set(id, "created_at", Value::of(std::string("yesterday"))); },
      [&](const std::string& id) { set(id, "plan", Value::of(std::string("lead"))); });
}

TEST_F(BadItems, RandomItemsAreErrorsOrAnswersAndCanBeRepaired) {
  Mutator random(23);
  tests::make_shared_records(limiter);
  const std::size_t records = tests::records_to_try(15);
  std::size_t tried = 0;
  for (std::size_t i = 0; tried < records && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const StoredEntity entity = tests::make_records(limiter, "e" + std::to_string(i));
    tried += damage(random, entity.id);
    tests::read_everything(limiter, entity);
    // Listings grow with the number of entities.
    if (std::has_single_bit(i) || i % 500 == 0) tests::list_everything(limiter);
    tests::repair_everything(limiter, entity.id);
    if (HasFatalFailure()) return;
    if (i % 500 == 499) {
      std::printf("%zu records\n", tried);
      std::fflush(stdout);
    }
  }
  EXPECT_FALSE(limiter.warnings().empty());
  (void)findings();
}

}  // namespace
}  // namespace weir::dynamodb
