// Values in Redis that something else than weir has written.
#include <gtest/gtest.h>

#include <thread>

#include "app/check_store.h"
#include "support/redis_server.h"
#include "support/stored_records.h"
#include "weir/weir.h"

namespace weir {
namespace {

using tests::Mutator;
using tests::RedisServer;
using tests::StoredEntity;

constexpr const char* catalog = "weir:{default}:catalog";

class RedisBadRecords : public testing::Test {
 protected:
  RedisServer server;
  tests::RedisProbe probe{server.port()};
  FakeClock clock{1'700'000'000'000};
  Limiter limiter = open();

  Limiter open() {
    auto opened = Limiter::open(server.patient_url() + "&cache_ms=1", {.clock = &clock});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  /// Writes a field of the catalog as another program would, and waits until no process has the old one
  /// cached.
  void write(const std::string& field, const std::string& value) {
    probe.ask({"HSET", catalog, field, value});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::string findings() {
    const auto found = app::check_store(server.patient_url(), {});
    std::string text;
    for (const auto& finding : *found) {
      if (finding.what.starts_with("record")) text += finding.detail + "\n";
    }
    return text;
  }
  /// Changes one of the values about an entity.
  void damage(Mutator& random, const std::string& id) {
    const auto field = [&](const std::string& name) {
      write(name, random.text(probe.ask({"HGET", catalog, name})));
    };
    switch (random.below(8)) {
      case 0:
        return field("n " + id);
      case 1:
        return field("e " + id + " ");
      case 2:
      case 3:
        return field("e " + id + " r");
      case 4: {
        const std::string key = first_lease(id);
        if (!key.empty()) probe.ask({"SET", key, random.text(probe.ask({"GET", key}))});
        return;
      }
      case 5:
        if (random.one_in(20)) return field("s");
        if (random.one_in(20)) return field("r r");
        [[fallthrough]];
      default: {
        const std::string key = "weir:default:{" + id + "}:b:" + id + ":r";
        probe.ask({"SET", key, random.doubles(probe.ask({"GET", key}), 16)});
      }
    }
  }
  std::string first_lease(const std::string& id) {
    const std::string keys = probe.ask({"KEYS", "weir:default:{" + id + "}:l:*"});
    return keys.substr(0, keys.find(' '));
  }
};

TEST_F(RedisBadRecords, LimitsWithACapacityAboveTheBurstDoNotEndTheProcessButFallToTheNextLevel) {
  ASSERT_TRUE(limiter.set_limits(Level::resource("r"), {{"rpm", "5/min"}}));
  ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), {{"rpm", "100/min"}}));
  for (const char* const numbers :
       {"200000 100000 100000 60000 5 3", "10000000000000000 10000000000000000 1 1 1 1", "-5 -5 1 1 1 1",
        "1000 1000 0 60000 0 60000", "1000 1000 1000 0 1 0", "1000 1000 7 60000 1 1"}) {
    SCOPED_TRACE(numbers);
    const std::string value =
        std::string("1 1700000000000 0 9223372036854775807 0 0 0 1 rpm ") + numbers + " 0";
    write("e key r", value);
    const auto got = limiter.limits(Level::entity("key", "r"));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::unavailable);
    EXPECT_NE(got.error().message.find("entity \"key\" on resource \"r\""), std::string::npos)
        << got.error().message;
    EXPECT_EQ(limiter.effective_limits("key", "r")->source, Source::resource);
    EXPECT_TRUE(limiter.acquire("key", "r", {{"rpm", 0}})->admitted());
    EXPECT_NE(findings().find("entity \"key\" on resource \"r\""), std::string::npos) << findings();
    EXPECT_EQ(limiter.list_limits()->items.size(), 1U);
    // A sync write does not take an operator's record, bad or not.
    const auto sync = limiter.set_limits(Level::entity("key", "r"), {{"rpm", "1/min"}},
                                         {.owner = Owner::sync, .expires_in = std::chrono::minutes(1)});
    ASSERT_FALSE(sync);
    EXPECT_EQ(sync.error().code, ErrorCode::operator_owned);
    ASSERT_TRUE(limiter.delete_limits(Level::entity("key", "r")));
    EXPECT_EQ(limiter.limits(Level::entity("key", "r")).error().code, ErrorCode::not_found);
    write("e key r", value);
    ASSERT_TRUE(limiter.set_limits(Level::entity("key", "r"), {{"rpm", "100/min"}}));
    EXPECT_EQ(limiter.effective_limits("key", "r")->source, Source::entity);
    EXPECT_EQ(findings(), "every record can be used\n");
  }
  ASSERT_EQ(limiter.warnings().size(), 1U) << "once for each record";
}

TEST_F(RedisBadRecords, APlanThatCannotBeReadFallsToTheNextLevelUntilItIsPut) {
  const LimitsPlan plan{.name = "pro", .limits = {{{"rpm", *Limit::parse("100/min")}}}};
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "5/min"}}));
  ASSERT_TRUE(limiter.put_plan(plan));
  ASSERT_TRUE(limiter.put_entity({.id = "key", .plan = "pro"}));
  EXPECT_EQ(limiter.effective_limits("key", "r")->source, Source::plan);
  for (const char* const value : {"nonsense", "1 0 1 _default_ 1 2 3", "1 0 1 a%20b 1 0", "2 0 0"}) {
    write("p pro", value);
    EXPECT_EQ(limiter.effective_limits("key", "r")->source, Source::system);
    EXPECT_EQ(limiter.plan("pro").error().code, ErrorCode::unavailable);
    EXPECT_TRUE(limiter.plans()->items.empty());
    EXPECT_NE(findings().find("plan \"pro\""), std::string::npos) << findings();
    ASSERT_TRUE(limiter.put_plan(plan));
    EXPECT_EQ(limiter.effective_limits("key", "r")->source, Source::plan);
  }
}

TEST_F(RedisBadRecords, AParentHasTheRightChildrenWhateverBecameOfTheirRecords) {
  tests::check_children_of_damaged(limiter, [&](const std::string& id) { write("n " + id, "nonsense"); });
}

TEST_F(RedisBadRecords, APlanHasTheRightMembersWhateverBecameOfTheirRecords) {
  tests::check_members_of_damaged(
      limiter, [&](const std::string& id) { write("n " + id, "nonsense"); },
      [&](const std::string& id) {
        std::string record = probe.ask({"HGET", catalog, "n " + id});
        record.replace(record.find("gold"), 4, "lead");
        write("n " + id, record);
      });
}

TEST_F(RedisBadRecords, AnEntityThatCannotBeReadIsRefusedUntilItIsPutOrDeleted) {
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "5/min"}}));
  ASSERT_TRUE(limiter.put_entity({.id = "key"}));
  for (const char* const value : {"1 1 0 0 key % 0", "1 1 0 0 not%20a%20name % 0", "nonsense"}) {
    write("n key", value);
    const auto decision = limiter.acquire("key", "r", {{"rpm", 1}});
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().code, ErrorCode::unavailable);
    EXPECT_NE(decision.error().message.find("\"key\""), std::string::npos);
    EXPECT_FALSE(limiter.entity("key"));
    EXPECT_TRUE(limiter.entities()->items.empty());
    EXPECT_NE(findings().find("entity \"key\""), std::string::npos) << findings();
    ASSERT_TRUE(limiter.put_entity({.id = "key", .name = "again"}));
    EXPECT_EQ(limiter.entity("key")->name, "again");
    write("n key", value);
    ASSERT_TRUE(limiter.delete_entity("key"));
    EXPECT_EQ(limiter.entity("key").error().code, ErrorCode::not_found);
    ASSERT_TRUE(limiter.put_entity({.id = "key"}));
  }
}

TEST_F(RedisBadRecords, AnEntityThatIsItsOwnAncestorIsAnErrorNotAnEndlessChain) {
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "5/min"}}));
  write("n a", "1 1 0 0 b % 0");
  write("n b", "1 1 0 0 a % 0");
  const auto decision = limiter.acquire("a", "r", {{"rpm", 1}});
  ASSERT_FALSE(decision);
  EXPECT_NE(decision.error().message.find("its own ancestor"), std::string::npos);
  ASSERT_TRUE(limiter.put_entity({.id = "b"}));
  EXPECT_TRUE(limiter.acquire("a", "r", {{"rpm", 1}})->admitted());
}

TEST_F(RedisBadRecords, RandomRecordsAreErrorsOrAnswersAndCanBeRepaired) {
  Mutator random(17);
  tests::make_shared_records(limiter);
  const std::size_t records = tests::records_to_try(1000);
  constexpr std::size_t of_each = 3;
  for (std::size_t i = 0; i < records / of_each && !HasFailure(); ++i) {
    const StoredEntity entity = tests::make_records(limiter, "e" + std::to_string(i % 100));
    for (std::size_t j = 0; j < of_each; ++j) damage(random, entity.id);
    SCOPED_TRACE(i);
    tests::read_everything(limiter, entity);
    if (i % 50 == 0) tests::list_everything(limiter);
    if (i % 1000 == 999) (void)findings();
    tests::repair_everything(limiter, entity.id);
    if (HasFatalFailure()) return;
    ASSERT_TRUE(limiter.delete_limits(Level::entity(entity.id, "r")));
    ASSERT_TRUE(limiter.put_entity({.id = entity.id}));
    ASSERT_TRUE(limiter.delete_entity(entity.id));
    if (!limiter.limits(Level::system()) || !limiter.limits(Level::resource("r")))
      tests::make_shared_records(limiter);
  }
  EXPECT_FALSE(limiter.warnings().empty());
}

}  // namespace
}  // namespace weir
