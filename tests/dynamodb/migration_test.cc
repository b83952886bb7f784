// Tables with the items of programs before us, one for each limit: read, converted on the way and in bulk,
// beside live traffic, killed and started again. Nothing is lost, nothing counts twice.
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "bucket/refill.h"
#include "dynamodb/table.h"
#include "store/dynamodb/check.h"
#include "store/dynamodb/legacy.h"
#include "store/dynamodb/migrate.h"

namespace weir::dynamodb {
namespace {

/// A legacy limit of 100 a minute, as the tests need them.
struct Old {
  std::string entity = "key";
  std::string limit = "rpm";
  std::int64_t tokens = 40'000;
  Time refilled_at = start_of_time - 30'000;
  std::int64_t consumed = 60'000;
  std::int64_t capacity = 100'000;
  bool nested = false;
  std::optional<std::int64_t> ttl = {};
  std::string resource = "gpt-4";

  Item item() const {
    Item item = Key{"ENTITY#" + entity, "#BUCKET#" + resource + "#" + limit}.item();
    std::vector<Attribute> numbers;
    for (const auto& [name, number] :
         std::vector<std::pair<std::string, std::int64_t>>{{"tokens_milli", tokens},
                                                           {"last_refill_ms", refilled_at},
                                                           {"capacity_milli", capacity},
                                                           {"burst_milli", capacity},
                                                           {"refill_amount_milli", capacity},
                                                           {"refill_period_ms", 60'000},
                                                           {"total_consumed_milli", consumed}})
      numbers.push_back({name, Value::of(number)});
    if (nested) {
      item.push_back({"data", Value::of_map(numbers)});
    } else {
      item.insert(item.end(), numbers.begin(), numbers.end());
    }
    if (ttl) item.push_back({"ttl", Value::of(*ttl)});
    return item;
  }
  /// What it holds at a moment.
  std::int64_t held(Time now) const {
    return bucket::claim(limits::reduced(capacity, 60'000), capacity, refilled_at, now).held(tokens);
  }
};

class Migrating : public testing::Test {
 protected:
  MigrationReport migrate_all(MigrationOptions options = {}) {
    options.dry_run = false;
    options.most_per_second = 0;
    auto report = migrate(*table.client, table.table, table.clock, entropy, options);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : MigrationReport();
  }
  std::string state() const {
    return std::string(wire::aws::text_of(table.item(version_key()), "migration"));
  }
  bool has_legacy(const Old& old) const { return !table.item(key_of(old.item())).empty(); }
  /// Many of them, 25 at a time.
  void put_all(const std::vector<Old>& all) const {
    std::vector<ItemWrite> writes;
    for (const Old& old : all) writes.push_back(dynamodb::put(old.item()));
    for (std::size_t i = 0; i < writes.size(); i += 25) {
      const auto some = std::span(writes).subspan(i, std::min<std::size_t>(25, writes.size() - i));
      ASSERT_TRUE(table.client->ask("BatchWriteItem", batch_write(table.table, some).json, true).ok());
    }
  }
  TestTable table;
  base::SystemEntropy entropy;
};

TEST_F(Migrating, ItemsOfZae05KeepTheirCountersWhichStandBesideTheRest) {
  const Old old{.nested = true};
  Item item = old.item();
  // Its counter is at the top, everything else in `data`.
  for (Attribute& attribute : item) {
    if (attribute.name != "data") continue;
    std::erase_if(attribute.value.members,
                  [](const Attribute& one) { return one.name == "total_consumed_milli"; });
  }
  item.push_back({"total_consumed_milli", Value::of(std::int64_t{60'000})});
  table.put(item);
  Limiter limiter = table.limiter();
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "100/min"}}));
  EXPECT_EQ(limiter.buckets("key")->items.at(0).limits.at(0).consumed, Amount(60));
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 61'000);
  EXPECT_FALSE(has_legacy(old));
}

TEST_F(Migrating, ATableOfANewerZaeLimiterIsRecognisedAndLeftUntouched) {
  const Key keys[] = {{"a1b2c3/BUCKET#user-1#gpt-4#0", "#STATE"},
                      {"_/SYSTEM#", "#NAMESPACE#default"},
                      {"a1b2c3/ENTITY#user-1", "#META"}};
  for (const Key& key : {keys[0], keys[1]}) {
    SCOPED_TRACE(key.pk);
    TestTable other;
    other.put(key.item());
    other.put(keys[2].item());
    const auto opened = Limiter::open(other.url(), {.clock = &other.clock});
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("newer zae-limiter"), std::string::npos) << opened.error().message;
    const auto report = migrate(*other.client, other.table, other.clock, entropy, {.dry_run = true});
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("newer zae-limiter"), std::string::npos);
    std::string found;
    for (const store::Finding& finding : check_table(*other.client, other.table, 2000)) {
      if (finding.what == "layout") found = finding.detail;
    }
    EXPECT_NE(found.find("newer zae-limiter"), std::string::npos);
    EXPECT_TRUE(other.item(version_key()).empty()) << "untouched";
  }
}

TEST_F(Migrating, ABucketOfOldItemsGoesOnWithWhatItHeldInBothShapes) {
  for (const bool nested : {false, true}) {
    const Old rpm{.entity = nested ? "in-a-map" : "flat", .nested = nested};
    const Old tpm{.entity = rpm.entity,
                  .limit = "tpm",
                  .tokens = 1'000'000,
                  .refilled_at = start_of_time - 7'001,
                  .consumed = 9'000'000,
                  .capacity = 10'000'000,
                  .nested = nested};
    table.put(rpm.item());
    table.put(tpm.item());
    Limiter limiter = table.limiter();
    ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "100/min"}, {"tpm", "10000/min"}}));
    const auto seen = limiter.available(rpm.entity, "gpt-4");
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_TRUE(has_legacy(rpm)) << "looking changes nothing";
    const auto listed = limiter.buckets(rpm.entity);
    ASSERT_TRUE(listed) << listed.error().message;
    ASSERT_EQ(listed->items.size(), 1U);
    EXPECT_EQ(listed->items[0].limits.size(), 2U);
    EXPECT_EQ(listed->items[0].refilled_at, tpm.refilled_at) << "one common moment, the last of theirs";
    ASSERT_TRUE(limiter.acquire(rpm.entity, "gpt-4", {{"rpm", 1}, {"tpm", 500}})->admitted());
    EXPECT_EQ(table.number(rpm.entity, "b_rpm_tk"), rpm.held(start_of_time) - 1'000);
    EXPECT_EQ(table.number(rpm.entity, "b_tpm_tk"), tpm.held(start_of_time) - 500'000);
    EXPECT_EQ(table.number(rpm.entity, "b_rpm_tc"), 61'000);
    EXPECT_EQ(table.number(rpm.entity, "b_tpm_tc"), 9'500'000);
    EXPECT_FALSE(has_legacy(rpm));
    EXPECT_FALSE(has_legacy(tpm));
  }
}

TEST_F(Migrating, AnEmptyBucketOfOldItemsIsNotAdmittedAsIfItWereNew) {
  const Old empty{.tokens = 0, .refilled_at = start_of_time};
  table.put(empty.item());
  Limiter limiter = table.limiter();
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "100/min"}}));
  EXPECT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->refused());
  const auto left = limiter.available("key", "gpt-4");
  ASSERT_TRUE(left);
  table.clock.advance(600ms);
  EXPECT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  EXPECT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->refused());
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 61'000);
}

TEST_F(Migrating, ACascadeConvertsEveryBucketOfTheChain) {
  const Old own{.entity = "key-1", .tokens = 5'000, .refilled_at = start_of_time};
  const Old above{.entity = "project", .tokens = 2'000, .refilled_at = start_of_time, .nested = true};
  table.put(above.item());
  Limiter limiter = table.limiter();
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "100/min"}}));
  ASSERT_TRUE(limiter.put_entity({.id = "key-1", .parent = "project", .cascade = true}));
  table.put(own.item());
  EXPECT_FALSE(limiter.put_entity({.id = "key-1"})) << "who has a bucket is not moved, also of this kind";
  int admitted = 0;
  for (int i = 0; i < 5; ++i) admitted += limiter.acquire("key-1", "gpt-4", {{"rpm", 1}})->admitted() ? 1 : 0;
  EXPECT_EQ(admitted, 2) << "what the parent held";
  EXPECT_FALSE(has_legacy(own));
  EXPECT_FALSE(has_legacy(above));
}

TEST_F(Migrating, ATableThatWasThereBeforeIsPendingAndOneOfOursIsNot) {
  table.limiter();
  EXPECT_EQ(state(), "none");
  TestTable older;
  older.put(Old{}.item());
  older.limiter();
  const Item record = older.item(version_key());
  EXPECT_EQ(wire::aws::text_of(record, "migration"), "pending");
  // What a program that knows only the old items has to look at before it writes.
  EXPECT_GT(wire::aws::integer_of(record, "least_client").value_or(0), 1);
}

TEST_F(Migrating, AVersionRecordOfAnOlderProgramIsTakenOverAndKeepsOldClientsOut) {
  Item record = version_key().item();
  record.push_back({"schema_version", Value::of("0.9.0")});
  record.push_back({"least_client", Value::of(std::int64_t{1})});
  record.push_back({"note", Value::of("theirs")});
  table.put(record);
  table.limiter();
  const Item after = table.item(version_key());
  EXPECT_EQ(wire::aws::text_of(after, "note"), "theirs");
  EXPECT_EQ(wire::aws::text_of(after, "migration"), "pending");
  // A write of such a client, with the check that fences it.
  ItemWrite check{.kind = ItemWrite::Kind::check, .key = version_key()};
  const std::string least = check.expression.name("least_client");
  check.expression.condition("(attribute_not_exists(" + least + ") OR " + least +
                             "<=" + check.expression.value(1) + ")");
  const std::vector<ItemWrite> writes{check, dynamodb::put(Old{}.item())};
  const auto asked =
      table.client->ask("TransactWriteItems", transaction(table.table, writes, "old").json, true);
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.failure->kind, aws::DynamoFailure::Kind::condition);
  EXPECT_FALSE(has_legacy(Old{}));
}

TEST_F(Migrating, ADryRunCountsAndWritesNothing) {
  std::vector<Old> all;
  for (int i = 0; i < 30; ++i) {
    for (const char* const limit : {"rpm", "tpm", "rpd"})
      all.push_back({.entity = "key-" + std::to_string(i), .limit = limit, .nested = i % 2 == 0});
  }
  put_all(all);
  const auto report =
      migrate(*table.client, table.table, table.clock, entropy, {.most_per_second = 0, .page = 7});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->counts.found, 90U);
  EXPECT_EQ(report->counts.buckets, 30U) << "also those that two pages share";
  EXPECT_TRUE(table.item(version_key()).empty()) << "not even the version record, which keeps others out";
  EXPECT_TRUE(has_legacy(all[0]));
}

TEST_F(Migrating, WhatCannotBeReadIsNamedAndLeftAlone) {
  Item broken = Old{.entity = "broken"}.item();
  std::erase_if(broken, [](const Attribute& one) { return one.name == "refill_period_ms"; });
  table.put(broken);
  table.put(Old{}.item());
  table.limiter();
  const MigrationReport report = migrate_all();
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_NE(report.problems[0].find("ENTITY#broken"), std::string::npos) << report.problems[0];
  EXPECT_FALSE(has_legacy(Old{})) << "the others are converted";
  EXPECT_TRUE(has_legacy({.entity = "broken"}));
  EXPECT_EQ(state(), "running") << "and it is not over";
}

TEST_F(Migrating, ExpiredItemsAreCleanedUp) {
  const Old gone{.tokens = -5'000, .ttl = start_of_time / 1000 - 1};
  table.put(gone.item());
  Limiter limiter = table.limiter();
  const MigrationReport report = migrate_all();
  EXPECT_EQ(report.counts.expired, 1U);
  EXPECT_EQ(report.state, "done");
  EXPECT_TRUE(table.bucket("key").empty());
  EXPECT_FALSE(has_legacy(gone));
}

TEST_F(Migrating, OldItemsBesideABucketAreChargedToItOnce) {
  Limiter limiter = table.limiter();
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "100/min"}}));
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 10}})->admitted());
  // A writer that was not kept out: full, then 30 charged.
  table.put(Old{.tokens = 70'000, .refilled_at = start_of_time, .consumed = 30'000}.item());
  table.put(Old{.limit = "tpm", .tokens = 1'000, .refilled_at = start_of_time}.item());
  EXPECT_EQ(migrate_all().counts.absorbed, 1U);
  EXPECT_EQ(table.number("key", "b_rpm_tk"), 60'000);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 40'000);
  EXPECT_EQ(table.number("key", "b_tpm_tk"), 1'000);
  EXPECT_EQ(migrate_all().counts.found, 0U);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 40'000);
  EXPECT_EQ(state(), "done");
}

TEST_F(Migrating, ChangingAndDeletingAnEntityTakesItsOldItemsAlong) {
  table.put(Old{}.item());
  Limiter limiter = table.limiter();
  ASSERT_TRUE(limiter.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "50/min"}}));
  ASSERT_TRUE(limiter.set_limits(Level::entity_default("key"), {{"rpm", "60/min"}}));
  ASSERT_TRUE(limiter.put_entity({.id = "key"}));
  ASSERT_TRUE(limiter.delete_entity("key"));
  EXPECT_FALSE(has_legacy(Old{}));
}

/// The bar: many items, traffic all the time, and the one who converts is stopped again and again. Each pair
/// of buckets is charged by traffic while it may be converted; what is admitted must be in the counters once.
TEST_F(Migrating, ATableMigratesUnderTrafficThoughItIsStoppedAllTheTime) {
  const char* const wanted = std::getenv("WEIR_MIGRATION_BUCKETS");
  const int buckets = wanted != nullptr ? std::atoi(wanted) : 250;
  std::vector<Old> all;
  for (int i = 0; i < buckets; ++i) {
    for (int j = 0; j < 5; ++j)
      all.push_back({.entity = "key-" + std::to_string(i),
                     .limit = "l" + std::to_string(j),
                     .tokens = std::int64_t{1'000} * (i % 90),
                     .refilled_at = start_of_time - Time{1'000} * j - i,
                     .consumed = std::int64_t{1'000} * i + j,
                     .nested = (i + j) % 2 == 0});
  }
  put_all(all);
  Limiter limiter = table.limiter();
  std::vector<NamedLimit> limits;
  for (int j = 0; j < 5; ++j) limits.push_back({"l" + std::to_string(j), *Limit::parse("100/min")});
  ASSERT_TRUE(limiter.set_limits(Level::system(), limits));

  std::atomic<bool> over{false};
  std::vector<std::atomic<int>> admitted(static_cast<std::size_t>(buckets));
  std::atomic<int> failed{0};
  std::vector<std::thread> traffic;
  for (int t = 0; t < 2; ++t) {
    traffic.emplace_back([&, t] {
      Limiter of_it = table.limiter();
      for (int i = t; !over; i = (i + 7) % buckets) {
        const auto decision = of_it.acquire("key-" + std::to_string(i), "gpt-4", {{"l0", 1}});
        if (!decision) ++failed;
        if (decision && decision->admitted()) ++admitted[static_cast<std::size_t>(i)];
      }
    });
  }
  int runs = 0;
  std::uint64_t converted = 0;
  for (MigrationReport report; report.state != "done"; ++runs) {
    int pages = 0;
    // Every bucket is at least one item, so three pages are less than half of them.
    report = migrate_all({.stop = [&] { return ++pages == 3; }, .page = static_cast<unsigned>(buckets) / 7});
    converted += report.counts.buckets;
    if (runs == buckets) break;
  }
  over = true;
  for (std::thread& thread : traffic) thread.join();
  ASSERT_EQ(state(), "done");
  EXPECT_EQ(failed, 0);
  EXPECT_GT(runs, 2);
  std::printf("%d buckets of 5 limits in %d runs, %llu of them by traffic\n", buckets, runs,
              static_cast<unsigned long long>(static_cast<std::uint64_t>(buckets) - converted));
  std::vector<Key> keys;
  for (int i = 0; i < buckets; ++i)
    keys.push_back(bucket_key("default", "key-" + std::to_string(i), "gpt-4"));
  std::map<std::string, Item> found;
  for (std::size_t i = 0; i < keys.size(); i += 50) {
    const auto some = std::span(keys).subspan(i, std::min<std::size_t>(50, keys.size() - i));
    auto asked = table.client->ask("BatchGetItem", batch_get(table.table, some).json, true);
    ASSERT_TRUE(asked.ok() && asked.answer.unprocessed.empty());
    for (Item& item : asked.answer.items) found[key_of(item).pk] = std::move(item);
  }
  ASSERT_EQ(found.size(), keys.size());
  for (const Old& old : all) {
    const Item& item = found["ENTITY#" + old.entity];
    const int i = std::atoi(old.entity.c_str() + 4);
    const std::int64_t charged = old.limit == "l0" ? 1'000 * admitted[static_cast<std::size_t>(i)] : 0;
    const auto read = read_bucket(item);
    ASSERT_TRUE(read);
    const bucket::LimitState* const limit = read->state.find(old.limit);
    ASSERT_NE(limit, nullptr) << old.entity;
    EXPECT_EQ(limit->consumed, old.consumed + charged) << old.entity << " " << old.limit;
    EXPECT_EQ(
        bucket::claim(limit->parameters.rate, limit->parameters.burst, read->state.refilled_at, start_of_time)
            .held(limit->tokens),
        old.held(start_of_time) - charged)
        << old.entity << " " << old.limit;
  }
}

/// Killed by a signal wherever it is, not where it likes.
TEST_F(Migrating, AMigrationThatIsKilledGoesOnAndNothingCountsTwice) {
  std::vector<Old> all;
  for (int i = 0; i < 60; ++i) {
    for (const char* const limit : {"rpm", "tpm"})
      all.push_back(
          {.entity = "key-" + std::to_string(i), .limit = limit, .consumed = std::int64_t{1'000} * i});
  }
  put_all(all);
  table.limiter();
  const auto left = [&] {
    const auto report = migrate(*table.client, table.table, table.clock, entropy, {.most_per_second = 0});
    EXPECT_TRUE(report);
    return report ? report->counts.buckets : 0;
  };
  int kills = 0;
  for (std::uint64_t before = left(); before > 0 && kills < 20; ++kills) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl(WEIR_DYNAMODB_WORKER, WEIR_DYNAMODB_WORKER, "migrate", table.table.c_str(),
              table.endpoint.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    // Until it has done something; then at once.
    std::uint64_t now = left();
    for (int i = 0; i < 2'000 && now == before; ++i) {
      ::poll(nullptr, 0, 20);
      now = left();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_LT(now, before) << "it does nothing";
    before = left();
    if (kills == 3) break;
  }
  EXPECT_GT(kills, 0);
  EXPECT_EQ(migrate_all().state, "done");
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(table.number("key-" + std::to_string(i), "b_rpm_tc"), 1'000 * i);
    EXPECT_EQ(table.number("key-" + std::to_string(i), "b_tpm_tc"), 1'000 * i);
  }
}

}  // namespace
}  // namespace weir::dynamodb
