// Usage on DynamoDB: what the aggregator counts from the stream of a table.
#include "base/json.h"
#include "dynamodb/usage_on_dynamo.h"
#include "store/dynamodb/legacy.h"
#include "store/dynamodb/migrate.h"
#include "store/dynamodb/usage_folding.h"

namespace weir::dynamodb {
namespace {

TEST_F(UsageOnDynamo, HoursAreCountedFromTheStream) {
  Decision lease = acquire(admin, "key", {{"rpm", 1}, {"tpm", 500}});
  acquire(admin, "key", {{"rpm", 1}});
  ASSERT_TRUE(lease.lease().settle({{"tpm", 480}}));
  count();
  EXPECT_EQ(used_by("key"), "key gpt-4 +0h 3: rpm=2 tpm=480");
  table.clock.advance(1h);
  acquire(admin, "key", {{"rpm", 7}});
  table.clock.advance(1h);
  acquire(admin, "key", {{"rpm", 2}});
  acquire(admin, "other", {{"rpm", 1}});
  count();
  count();
  EXPECT_EQ(used_by("key"),
            "key gpt-4 +0h 3: rpm=2 tpm=480 | key gpt-4 +1h 1: rpm=7 | key gpt-4 +2h 1: rpm=2");
  EXPECT_EQ(used({.name_space = "default", .resource = "gpt-4", .to = last_window}, 1),
            "key gpt-4 +0h 3: rpm=2 tpm=480 | key gpt-4 +1h 1: rpm=7 | key gpt-4 +2h 1: rpm=2 | "
            "other gpt-4 +2h 1: rpm=1");
  EXPECT_EQ(used({.name_space = "default",
                  .entity = "key",
                  .resource = "gpt-4",
                  .from = first_hour + usage::hour,
                  .to = first_hour + 2 * usage::hour}),
            "key gpt-4 +1h 1: rpm=7");
  EXPECT_EQ(used({.name_space = "default",
                  .resource = "gpt-4",
                  .from = first_hour + usage::hour,
                  .to = first_hour + 2 * usage::hour}),
            "key gpt-4 +1h 1: rpm=7");
}

TEST_F(UsageOnDynamo, ItemsHaveTheNamesOfTheSchema) {
  acquire(admin, "key", {{"rpm", 2}, {"tpm", 500}});
  count();
  const Item item = table.item({"ENTITY#key", "#USAGE#gpt-4#2033-05-18T03:00:00Z"});
  const auto text = [&](const char* name) { return std::string(wire::aws::text_of(item, name)); };
  EXPECT_EQ(text("window"), "hour");
  EXPECT_EQ(text("window_start"), "2033-05-18T03:00:00Z");
  EXPECT_EQ(text("GSI2PK"), "RESOURCE#gpt-4");
  EXPECT_EQ(text("GSI2SK"), "USAGE#2033-05-18T03:00:00Z#key");
  EXPECT_EQ(wire::aws::integer_of(item, "rpm"), 2000);
  EXPECT_EQ(wire::aws::integer_of(item, "tpm"), 500'000);
  EXPECT_EQ(wire::aws::integer_of(item, "total_events"), 1);
  EXPECT_EQ(wire::aws::integer_of(item, "ttl"), (first_hour + usage::hour + 97 * usage::day) / 1000);
}

TEST_F(UsageOnDynamo, ALimitMayHaveTheNameOfAnAttribute) {
  ASSERT_TRUE(
      admin.set_limits(Level::system(), {{"ttl", "100/min"}, {"window", "100/min"}, {"c", "100/min"}}));
  acquire(admin, "key", {{"ttl", 2}, {"window", 3}, {"c", 4}});
  count();
  EXPECT_EQ(used_by("key"), "key gpt-4 +0h 1: c=4 ttl=2 window=3");
}

TEST_F(UsageOnDynamo, ChargesThatDoNotCountAreLeftOutAndUsageCanBeSwitched) {
  acquire(admin, "key", {{"rpm", 1}});
  acquire(admin, "key", {{"rpm", 100}}, false);
  Decision lease = acquire(admin, "key", {{"rpm", 10}}, false);
  ASSERT_TRUE(lease.lease().settle({{"rpm", 4}})) << "as the bucket is";
  count();
  EXPECT_EQ(used_by("key"), "key gpt-4 +0h 1: rpm=1");
  acquire(admin, "key", {{"rpm", 0}});
  count();
  acquire(admin, "key", {{"rpm", 5}});
  acquire(admin, "off", {{"rpm", 5}}, false);
  count();
  EXPECT_EQ(used_by("key"), "key gpt-4 +0h 2: rpm=6");
  EXPECT_EQ(used_by("off"), "");
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 110'000);
}

TEST_F(UsageOnDynamo, CountersThatAMigrationBringsAreNoUsage) {
  const auto legacy = [&](const std::string& entity, std::int64_t consumed) {
    Item item = Key{"ENTITY#" + entity, "#BUCKET#gpt-4#rpm"}.item();
    for (const auto& [name, number] :
         std::vector<std::pair<std::string, std::int64_t>>{{"tokens_milli", 40'000},
                                                           {"last_refill_ms", first_hour - 1000},
                                                           {"capacity_milli", 100'000},
                                                           {"burst_milli", 100'000},
                                                           {"refill_amount_milli", 100'000},
                                                           {"refill_period_ms", 60'000},
                                                           {"total_consumed_milli", consumed}})
      item.push_back({name, Value::of(number)});
    table.put(item);
  };
  acquire(admin, "absorbs", {{"rpm", 1}});
  legacy("absorbs", 70'000);
  legacy("converts", 60'000);
  base::SystemEntropy entropy;
  const auto migrated =
      migrate(*table.client, table.table, table.clock, entropy, {.dry_run = false, .most_per_second = 0});
  ASSERT_TRUE(migrated && migrated->counts.buckets == 2);
  count();
  EXPECT_EQ(used_by("absorbs"), "absorbs gpt-4 +0h 1: rpm=1");
  EXPECT_EQ(used_by("converts"), "");
  Limiter other = table.limiter();
  acquire(other, "absorbs", {{"rpm", 2}});
  acquire(other, "converts", {{"rpm", 3}});
  count();
  EXPECT_EQ(used_by("absorbs"), "absorbs gpt-4 +0h 2: rpm=3");
  EXPECT_EQ(used_by("converts"), "converts gpt-4 +0h 1: rpm=3");
  EXPECT_EQ(table.number("absorbs", "b_rpm_tc"), 73'000);
}

TEST_F(UsageOnDynamo, BucketsDoNotDependOnTheAggregator) {
  // Never run here. Days of use, expiry and recreation included; nothing waits for it and nothing grows.
  for (int i = 0; i < 60; ++i) {
    acquire(admin, "key", {{"rpm", 1}, {"tpm", 10}});
    table.clock.advance(i % 3 == 0 ? 24h : 20min);
  }
  EXPECT_EQ(used_by("key"), "");
  const auto items =
      table.client->ask("Query", query(table.table, {.pk = entity_pk("default", "key")}).json, true);
  EXPECT_EQ(items.answer.items.size(), 1U) << "the bucket";
}

TEST_F(UsageOnDynamo, OldHoursAreFoldedIntoDaysOnce) {
  for (int i = 0; i < 30; ++i) {
    acquire(admin, "key", {{"rpm", 1}, {"tpm", i}});
    if (i % 2 == 0) acquire(admin, "other", {{"rpm", 1}});
    table.clock.advance(1h);
  }
  count();
  const std::string hours = used_by("key");
  const store::UsageKept kept;
  const auto at = [&](Time days) {
    return fold_usage(*table.client, table.table, first_hour + days * usage::day, kept);
  };
  ASSERT_EQ(at(90)->days, 0U);
  EXPECT_EQ(used_by("key"), hours);
  const auto folded = at(91);
  ASSERT_TRUE(folded) << folded.error().message;
  // The first hour is 3 o'clock.
  EXPECT_EQ(folded->days, 2U);
  EXPECT_EQ(folded->hours, 21U + 11U);
  EXPECT_EQ(used_by("key").substr(0, 121),
            "key gpt-4 -3h(day) 21: rpm=21 tpm=210 | key gpt-4 +21h 1: rpm=1 tpm=21 | "
            "key gpt-4 +22h 1: rpm=1 tpm=22 | key gpt-4 +23h ");
  EXPECT_EQ(at(91)->days, 0U);
  EXPECT_EQ(at(92)->days, 2U);
  EXPECT_EQ(used_by("key"), "key gpt-4 -3h(day) 21: rpm=21 tpm=210 | key gpt-4 +21h(day) 9: rpm=9 tpm=225");
  EXPECT_EQ(used({.name_space = "default", .resource = "gpt-4", .to = last_window}, 1),
            "key gpt-4 -3h(day) 21: rpm=21 tpm=210 | other gpt-4 -3h(day) 11: rpm=11 | "
            "key gpt-4 +21h(day) 9: rpm=9 tpm=225 | other gpt-4 +21h(day) 4: rpm=4");
  // The bucket goes on: what was counted is not counted again.
  table.clock.advance(24h * 100);
  acquire(admin, "key", {{"rpm", 1}});
  count();
  EXPECT_TRUE(used_by("key").ends_with("tpm=225 | key gpt-4 +2430h 1: rpm=1")) << used_by("key");
}

TEST_F(UsageOnDynamo, HoursThatAreNotKeptAnyMoreWhenTheyAreCountedGoToTheirDay) {
  // Limits under which a bucket does not expire, since DynamoDB Local deletes by the real time.
  ASSERT_TRUE(admin.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "1000000/min"}}));
  const Time day = start_of(UsageWindow::day, SystemClock().now()) - 100 * usage::day;
  table.clock.set(day + 5 * usage::hour);
  acquire(admin, "key", {{"rpm", 1}});
  table.clock.set(day + 6 * usage::hour);
  acquire(admin, "key", {{"rpm", 2}});
  count();
  ASSERT_TRUE(fold_usage(*table.client, table.table, SystemClock().now(), {}));
  table.clock.set(day + 7 * usage::hour);
  acquire(admin, "key", {{"rpm", 4}});
  count();
  count();
  const auto page = admin.usage({.entity = "key", .from = day, .to = day + usage::day}, {});
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->items[0], (Usage{"key", "gpt-4", UsageWindow::day, day, {{"rpm", 7}}, 3}));
}

TEST_F(UsageOnDynamo, ATableWithoutAStreamIsRefused) {
  AggregationOptions wrong = options();
  wrong.store.table = "without-stream";
  ASSERT_TRUE(
      table.client
          ->ask(
              "CreateTable",
              R"({"TableName":"without-stream","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":)"
              R"([{"AttributeName":"PK","AttributeType":"S"},{"AttributeName":"SK","AttributeType":"S"}],)"
              R"("KeySchema":[{"AttributeName":"PK","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}]})",
              false)
          .ok());
  const auto refused = Aggregation::start(wrong);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("weir store init"), std::string::npos) << refused.error().message;
}

/// Simulated seconds of acquires, as one shard of a stream; the writes of usage go to the table.
class SimulatedCost {
 public:
  SimulatedCost(const TestTable& table, Time batch) : table_(table), machine_(options(batch)) {}

  /// Ten acquires a second on each bucket. Returns write units.
  double run(int buckets, int seconds) {
    constexpr int rate = 10;
    const Time end = first_hour + seconds * Time{1000};
    const Time last = end + 20'000;
    for (now_ = first_hour; now_ < last; now_ += 10) {
      if (now_ == end + 1000) machine_.stop();
      // Each bucket has its own moment within a tenth of a second.
      for (int i = 0; i < buckets && now_ < end; ++i) {
        if ((now_ / 10 + i) % (100 / rate) == 0) charge(i);
      }
      for (auto started = machine_.poll(now_); !started.empty(); started = machine_.poll(now_)) {
        for (usage::Started& one : started) carry_out(one);
      }
    }
    EXPECT_TRUE(machine_.stopped());
    EXPECT_EQ(machine_.counts().events, static_cast<std::uint64_t>(buckets * seconds * rate));
    EXPECT_EQ(machine_.counts().refused, 0U);
    return static_cast<double>(written_) / 1000;
  }
  const usage::AggregatorCounts& counts() const { return machine_.counts(); }

 private:
  static usage::AggregatorOptions options(Time batch) {
    usage::AggregatorOptions options;
    options.worker = "one";
    options.batch = batch;
    options.most_writes = 1000;
    return options;
  }
  void charge(int bucket) {
    usage::BucketRecord record;
    record.bucket = {"default", "key-" + std::to_string(bucket), "gpt-4"};
    record.sequence = std::to_string(++sequence_);
    record.position = usage::stream_position("2026-11-17T00:00:00.000", record.sequence);
    record.at = record.created = now_;
    usage::Counters& state = states_[bucket];
    if (!state.amounts.empty()) record.old = state;
    const std::int64_t charged = state.amounts.empty() ? 0 : state.amounts[0].amount;
    state = {1, {{"rpm", charged + 1000}, {"tpm", 500 * (charged + 1000)}}};
    record.next = state;
    fresh_.push_back(std::move(record));
  }
  void carry_out(const usage::Started& started) {
    std::visit([&](const auto& asked) { machine_.answer(started.id, run(asked), now_); }, started.operation);
  }
  aws::Asked ask(Request request) {
    auto asked = table_.client->ask(std::move(request.operation), std::move(request.json), true);
    EXPECT_TRUE(asked.ok());
    written_ += asked.spent.written;
    return asked;
  }
  usage::Answer run(const usage::Discover& /*asked*/) { return usage::Discovered{{{"shard"}}, leases_}; }
  usage::Answer run(const usage::WriteLease& asked) {
    leases_ = {asked.change.next};
    (void)ask(single_write(table_.table, render(asked.change, now_)));
    return usage::Written::done;
  }
  usage::Answer run(const usage::EraseLease& /*asked*/) { return usage::Written::done; }
  usage::Answer run(const usage::ReadShard& /*asked*/) {
    usage::ShardRead read;
    read.records = std::exchange(fresh_, {});
    read.iterator = "next";
    read.empty = read.records.empty();
    if (!read.empty) read.last_sequence = read.records.back().sequence;
    return read;
  }
  usage::Answer run(const usage::ReadCursor& asked) {
    const auto read = ask(latest_hour(table_.table, asked.bucket));
    return read.answer.items.empty() ? std::optional<usage::StreamCursor>()
                                     : read_cursor(read.answer.items[0]);
  }
  usage::Answer run(const usage::WriteUsage& asked) {
    (void)ask(usage_request(table_.table, asked.bucket, asked.advance, {}));
    return usage::Written::done;
  }

  const TestTable& table_;
  usage::Aggregator machine_;
  Time now_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t written_ = 0;
  std::map<int, usage::Counters> states_;
  std::vector<usage::BucketRecord> fresh_;
  std::vector<usage::ShardLease> leases_;
};

TEST_F(UsageOnDynamo, UsageCostsATenthOfAWriteUnitForEachAcquire) {
  // A hundred buckets and a hundred seconds, unless this is a short run: the figures are the same.
  const bool whole = std::getenv("WEIR_USAGE_COST") != nullptr;
  const int buckets = whole ? 100 : 20;
  const int seconds = whole ? 100 : 50;
  for (const Time batch : {Time{1000}, Time{5000}, Time{10'000}}) {
    TestTable other;
    SimulatedCost cost(other, batch);
    const double units = cost.run(buckets, seconds);
    const double each = units / (buckets * seconds * 10);
    std::cout << "batches of " << batch << " ms: " << units << " write units, " << each << " per acquire, "
              << cost.counts().writes << " writes of usage\n";
    EXPECT_LE(each, batch == 1000 ? 0.1 : 0.03);
  }
}

}  // namespace
}  // namespace weir::dynamodb
