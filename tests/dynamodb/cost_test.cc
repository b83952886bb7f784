// What decisions cost, by what DynamoDB says and by its rules, and how large items are.
#include "app/measure_cost.h"
#include "dynamodb/table.h"
#include "limiter/core.h"
#include "store/completion.h"

namespace weir::dynamodb {
namespace {

/// Limits as the seeds have them: rpm, tpm and so on, three letters each.
std::vector<NamedLimit> some_limits(int count) {
  std::vector<NamedLimit> limits;
  for (int i = 0; i < count; ++i)
    limits.push_back({"l" + std::to_string(10 + i), *Limit::parse(i % 2 == 0 ? "100/min" : "10000/min")});
  return limits;
}

/// What the client has sent, and what it was charged, since the last time it was asked.
class Meter {
 public:
  explicit Meter(const DynamoStore& store) : store_(store) { reset(); }
  void reset() {
    requests_ = store_.client().counts().requests;
    consumed_ = store_.client().counts().consumed;
  }
  std::uint64_t requests() const { return store_.client().counts().requests - requests_; }
  /// In whole units.
  double units() const { return static_cast<double>(store_.client().counts().consumed - consumed_) / 1000; }

 private:
  const DynamoStore& store_;
  std::uint64_t requests_ = 0;
  std::uint64_t consumed_ = 0;
};

class Cost : public testing::Test {
 protected:
  /// One acquire through the store itself, as the limiter makes it.
  store::Found find(DynamoStore& store, std::string_view entity) {
    return *store::wait_for<store::Found>([&](store::Completion<store::Found> done) {
      store.catalog().find("default", entity, "gpt-4", done);
    });
  }
  limits::ResolutionRef resolve(DynamoStore& store, std::string_view entity) {
    const store::Found found = find(store, entity);
    auto resolution = limits::resolve(found.levels, {}, found.now, 7);
    if (!found.parent.empty()) {
      resolution->parent = found.parent;
      resolution->parent_resolution = resolve(store, found.parent);
    }
    return limits::ResolutionRef(resolution.get());
  }
  bool acquire(DynamoStore& store, std::string_view entity, const std::vector<Charge>& consume) {
    const store::Plan plan{{.name_space = "default",
                            .entity = entity,
                            .resource = "gpt-4",
                            .consume = consume,
                            .lease_for = 600'000},
                           resolve(store, entity)};
    Decision decision;
    const auto progress = store::wait_for<store::Progress>(
        [&](store::Completion<store::Progress> done) { store.buckets().acquire(plan, decision, done); });
    EXPECT_TRUE(progress) << progress.error().message;
    return decision.admitted();
  }

  TestTable table;
};

TEST_F(Cost, AWarmAcquireIsOneRequestAndOneWriteUnitWithTenLimitsToo) {
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), some_limits(10)));
  auto store = table.store();
  std::vector<Charge> consume;
  const std::vector<NamedLimit> limits = some_limits(10);
  for (const NamedLimit& limit : limits) consume.push_back({limit.name, 1});
  Meter meter(*store);
  ASSERT_TRUE(acquire(*store, "user-123", consume));
  EXPECT_EQ(meter.requests(), 2U) << "cold: one read for everything, one transaction that makes the bucket";
  RecordProperty("cold_units", std::to_string(meter.units()));
  for (int i = 0; i < 10; ++i) {
    table.clock.advance(std::chrono::milliseconds(i % 2 == 0 ? 10 : 5000));
    meter.reset();
    ASSERT_TRUE(acquire(*store, "user-123", consume));
    EXPECT_EQ(meter.requests(), 1U);
    EXPECT_EQ(meter.units(), 1.0);
  }
  EXPECT_EQ(store->counts().failed_first_writes, 0U);
}

/// By the rule: two units for the bucket, two for the check of its entity, and one for its keys in an index.
TEST_F(Cost, MakingABucketIsOneTransactionThatChecksTheEntity) {
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::system(), some_limits(10)));
  ASSERT_TRUE(admin.put_entity({.id = "user-123", .name = "somebody"}));
  auto store = table.store();
  find(*store, "user-123");
  Meter meter(*store);
  ASSERT_TRUE(acquire(*store, "user-123", {{"l10", 1}}));
  EXPECT_EQ(meter.requests(), 1U);
  EXPECT_LE(wire::aws::size_of(table.bucket("user-123")), 1024U);
  EXPECT_LE(wire::aws::size_of(table.item(meta_key("default", "user-123"))), 1024U);
  table.clock.advance(1s);
  meter.reset();
  ASSERT_TRUE(acquire(*store, "user-123", {{"l10", 1}}));
  EXPECT_EQ(meter.units(), 1.0) << "and never again, as long as it is there";
}

TEST_F(Cost, AWarmCascadeOfTwoIsOneTransaction) {
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::system(), some_limits(2)));
  ASSERT_TRUE(admin.put_entity({.id = "user-123", .parent = "project-1", .cascade = true}));
  auto store = table.store();
  ASSERT_TRUE(acquire(*store, "user-123", {{"l10", 1}}));
  table.clock.advance(1s);
  Meter meter(*store);
  ASSERT_TRUE(acquire(*store, "user-123", {{"l10", 1}}));
  EXPECT_EQ(meter.requests(), 1U);
  // DynamoDB Local says 2 whatever is in a transaction. By the rule: two units for each item of at most 1 KB.
  EXPECT_LE(wire::aws::size_of(table.bucket("user-123")), 1024U);
  EXPECT_LE(wire::aws::size_of(table.bucket("project-1")), 1024U);
}

/// By the rule, since DynamoDB Local says 2 whatever is in a transaction: each item of a transaction costs
/// two units for each KB that it begins.
TEST_F(Cost, SettlingIsOneTransactionOfFourUnitsAndOfSixInACascade) {
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::system(), some_limits(10)));
  ASSERT_TRUE(admin.put_entity({.id = "below", .parent = "above", .cascade = true}));
  const std::pair<const char*, std::size_t> bars[] = {{"alone", 4}, {"below", 6}};
  for (const auto& [entity, most] : bars) {
    auto store = table.store();
    limiter::Core core({std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock),
                        std::make_shared<base::SystemEntropy>(), store},
                       {});
    const std::vector<Charge> charge{{"l11", 5}};
    auto decision = core.acquire(entity, "gpt-4", charge, {});
    ASSERT_TRUE(decision && decision->admitted());
    const auto id = decision->lease().id();
    ASSERT_TRUE(id);
    const std::vector<Charge> actual{{"l11", 3}};
    Meter meter(*store);
    ASSERT_TRUE(core.change_by_id(*id, {detail::LeaseVerb::settle, {}, actual}));
    EXPECT_EQ(meter.requests(), 1U) << entity;
    std::size_t units = 0;
    const auto count = [&](const Item& item) { units += 2 * ((wire::aws::size_of(item) + 1023) / 1024); };
    count(table.bucket(entity));
    if (most == 6) count(table.bucket("above"));
    const auto markers = table.client->ask(
        "Query", query(table.table, {.pk = entity_pk("default", entity), .begins_with = "#LEASE#"}).json,
        true);
    ASSERT_EQ(markers.answer.items.size(), 1U) << "one marker";
    count(markers.answer.items[0]);
    EXPECT_EQ(units, most) << entity;
    EXPECT_EQ(table.number(entity, "b_l11_tc"), 3'000);
    // Again: found done, nothing charged.
    ASSERT_TRUE(core.change_by_id(*id, {detail::LeaseVerb::settle, {}, actual}));
    EXPECT_EQ(table.number(entity, "b_l11_tc"), 3'000);
  }
}

TEST_F(Cost, ASettleUnderLimitsOfTheRequestReadsThemOnlyWhereItsImageIsOutOfDate) {
  const auto core_on = [&](const std::shared_ptr<DynamoStore>& store) {
    return limiter::Core({std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock),
                          std::make_shared<base::SystemEntropy>(), store},
                         {});
  };
  const std::vector<NamedLimit> rates{{"rpm", *Limit::parse("100/min")}, {"tpm", *Limit::parse("1000/min")}};
  std::vector<NamedLimit> all = rates;
  all.push_back({"calls", *Limit::parse("5:concurrent")});
  const std::vector<NamedLimit> others{{"rpm", *Limit::parse("50/min")}, {"rpd", *Limit::parse("500/d")}};
  const std::pair<const char*, std::vector<NamedLimit>> shapes[] = {{"of-rates", rates}, {"of-all", all}};
  for (const auto& shape : shapes) {
    const char* const entity = shape.first;
    SCOPED_TRACE(entity);
    const auto limits = RequestLimits::make(shape.second);
    const auto other_limits = RequestLimits::make(others);
    ASSERT_TRUE(limits && other_limits);
    std::vector<Charge> charge;
    for (const NamedLimit& limit : shape.second)
      charge.push_back({limit.name, limit.name == "tpm" ? 100 : 1});
    const std::vector<Charge> actual{{"tpm", 30}};
    auto store = table.store();
    auto core = core_on(store);
    const auto settle = [&](const std::string& id) {
      Meter meter(*store);
      EXPECT_TRUE(core.change_by_id(id, {detail::LeaseVerb::settle, {}, actual}));
      return meter.requests();
    };
    const auto acquire = [&] {
      table.clock.advance(std::chrono::milliseconds(777));
      auto decision = core.acquire(entity, "gpt-4", charge, {.limits = &*limits});
      EXPECT_TRUE(decision && decision->admitted());
      return *decision->lease().id();
    };
    for (int i = 0; i < 3; ++i) EXPECT_EQ(settle(acquire()), 1U);
    EXPECT_EQ(table.number(entity, "b_tpm_tc"), 90'000);
    const std::string id = acquire();
    auto other_store = table.store();
    auto other = core_on(other_store);
    table.clock.advance(std::chrono::milliseconds(777));
    const std::vector<Charge> one{{"rpm", 1}};
    ASSERT_TRUE(other.acquire(entity, "gpt-4", one, {.limits = &*other_limits})->admitted());
    settle(id);
    EXPECT_EQ(table.number(entity, "b_tpm_tc"), 120'000) << "dormant, and given back to";
    EXPECT_EQ(table.number(entity, "b_rpm_cp"), 50'000) << "the other process's limits stay in force";
    EXPECT_EQ(table.number(entity, "b_rpd_tc"), 0);
  }
}

TEST_F(Cost, ALaterChangeOfALeaseSucceedsWithItsFirstTransaction) {
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "100/min"}}));
  for (const bool keyed : {false, true}) {
    SCOPED_TRACE(keyed);
    auto store = table.store();
    limiter::Core core({std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock),
                        std::make_shared<base::SystemEntropy>(), store},
                       {});
    const std::vector<Charge> charge{{"rpm", 5}};
    auto decision = core.acquire("key", "gpt-4", charge, {.idempotency_key = keyed ? "key" : ""});
    ASSERT_TRUE(decision && decision->admitted());
    const auto id = decision->lease().id();
    ASSERT_TRUE(id);
    Meter meter(*store);
    for (const char* const key : {"first", "second", "third"}) {
      const std::vector<Charge> back{{"rpm", -1}};
      ASSERT_TRUE(core.change_by_id(*id, {detail::LeaseVerb::adjust, key, back}));
      EXPECT_EQ(meter.requests(), 1U) << key;
      meter.reset();
    }
    ASSERT_TRUE(core.change_by_id(*id, {detail::LeaseVerb::settle, {}, std::vector<Charge>{{"rpm", 1}}}));
    EXPECT_EQ(meter.requests(), 1U);
    // Another process does not know the marker: its first transaction fails, and tells it.
    auto other_store = table.store();
    limiter::Core other({std::shared_ptr<const Clock>(std::shared_ptr<const Clock>(), &table.clock),
                         std::make_shared<base::SystemEntropy>(), other_store},
                        {});
    auto shared = core.acquire("key", "gpt-4", charge, {});
    const auto shared_id = shared->lease().id();
    ASSERT_TRUE(
        core.change_by_id(*shared_id, {detail::LeaseVerb::adjust, "a", std::vector<Charge>{{"rpm", -1}}}));
    Meter others(*other_store);
    ASSERT_TRUE(
        other.change_by_id(*shared_id, {detail::LeaseVerb::adjust, "b", std::vector<Charge>{{"rpm", -1}}}));
    EXPECT_GE(others.requests(), 2U);
    // What the first process remembers is out of date now, which its condition shows.
    ASSERT_TRUE(
        core.change_by_id(*shared_id, {detail::LeaseVerb::settle, {}, std::vector<Charge>{{"rpm", 1}}}));
    EXPECT_EQ(table.number("key", "b_rpm_tc") % 1000, 0);
    ASSERT_TRUE(
        other.change_by_id(*shared_id, {detail::LeaseVerb::settle, {}, std::vector<Charge>{{"rpm", 1}}}));
  }
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 4'000) << "1 for each of four leases";
}

TEST_F(Cost, ARefusalFromMemoryCostsNothingAndIsShort) {
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "1/min"}}));
  auto store = table.store({.refuse_for = 100ms});
  ASSERT_TRUE(acquire(*store, "key", {{"rpm", 1}}));
  Meter meter(*store);
  EXPECT_FALSE(acquire(*store, "key", {{"rpm", 1}}));
  EXPECT_EQ(meter.requests(), 0U);
  EXPECT_EQ(store->counts().refused_from_memory, 1U);
  table.clock.advance(101ms);
  EXPECT_FALSE(acquire(*store, "key", {{"rpm", 1}}));
  EXPECT_EQ(meter.requests(), 1U) << "after a while it is asked again";
  table.clock.advance(100ms);
  EXPECT_FALSE(acquire(*store, "key", {{"rpm", 1}}));
  EXPECT_EQ(meter.requests(), 1U) << "and then not for a while";
  table.clock.advance(1min);
  EXPECT_TRUE(acquire(*store, "key", {{"rpm", 1}}))
      << "nothing is admitted from memory, and nothing kept from it";
}

TEST_F(Cost, AGrantIsNotRefusedFromMemory) {
  const std::string url =
      "dynamodb://" + table.table + "?endpoint=" + table.endpoint + "&deadline_ms=60000&refuse_ms=10000";
  Limiter limiter = *Limiter::open(url, {.clock = &table.clock});
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "10/d"}}));
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 10}})->admitted());
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->refused());
  ASSERT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->from_memory());
  ASSERT_TRUE(limiter.grant("key", "gpt-4", {{"rpm", 3}}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->admitted()) << i;
  EXPECT_TRUE(limiter.acquire("key", "gpt-4", {{"rpm", 1}})->refused());
}

TEST_F(Cost, TheBenchMeasuresTheSameAndCleansUp) {
  const std::string url =
      "dynamodb://" + table.table + "?endpoint=" + table.endpoint + "&deadline_ms=60000&refuse_ms=10000";
  const auto lines = app::measure_cost(url);
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 6U);
  for (const std::size_t warm : {1U, 2U}) {
    EXPECT_NEAR((*lines)[warm].requests, 1.0, 1e-6) << (*lines)[warm].what;
    EXPECT_NEAR((*lines)[warm].read_units, 0.0, 1e-6) << (*lines)[warm].what;
    EXPECT_NEAR((*lines)[warm].write_units, 1.0, 1e-6) << (*lines)[warm].what;
    EXPECT_NEAR((*lines)[warm].per_million(), 0.625, 1e-6);
  }
  EXPECT_NEAR((*lines)[3].requests, 1.0, 1e-6) << "one transaction";
  EXPECT_EQ((*lines)[4].requests, 0.0) << "refused from memory";
  EXPECT_NEAR((*lines)[5].requests, 1.0, 1e-6) << "settle";
  Limiter after = *Limiter::open(table.url(), {.name_space = "weir-bench"});
  EXPECT_TRUE(after.entities()->items.empty());
  EXPECT_TRUE(after.list_limits()->items.empty());
  EXPECT_FALSE(app::measure_cost("memory:"));
}

TEST_F(Cost, WhereFirstAttemptsFailBucketsAreReadFirst) {
  ASSERT_TRUE(table.limiter().set_limits(Level::system(), {{"rpm", "100000/min"}}));
  auto one = table.store();
  auto other = table.store();
  for (int i = 0; i < 40; ++i) {
    table.clock.advance(1s);
    ASSERT_TRUE(acquire(i % 2 == 0 ? *one : *other, "key", {{"rpm", 1}}));
  }
  EXPECT_GT(one->counts().failed_first_writes, 0U);
  const std::uint64_t failed = one->counts().failed_first_writes;
  const std::uint64_t reads = one->counts().reads;
  for (int i = 0; i < 10; ++i) {
    table.clock.advance(1s);
    ASSERT_TRUE(acquire(i % 2 == 0 ? *one : *other, "key", {{"rpm", 1}}));
  }
  EXPECT_EQ(one->counts().failed_first_writes, failed);
  EXPECT_GT(one->counts().reads, reads);
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 50'000);
}

TEST_F(Cost, ItemsAreNoLargerThanTheSeedsSay) {
  const std::pair<int, std::size_t> bars[] = {{2, 520}, {5, 835}, {10, 1024}};
  for (const auto& [count, most] : bars) {
    Limiter admin = table.limiter();
    ASSERT_TRUE(admin.set_limits(Level::system(), some_limits(count)));
    std::vector<Charge> consume;
    const auto limits = some_limits(count);
    for (const NamedLimit& limit : limits) consume.push_back({limit.name, Amount::milli(1234)});
    const std::string entity = "user-12" + std::to_string(count);
    for (int i = 0; i < 3; ++i) {
      table.clock.advance(std::chrono::milliseconds(777));
      ASSERT_TRUE(admin.acquire(entity, "gpt-4", consume)->admitted());
    }
    const std::size_t size = wire::aws::size_of(table.bucket(entity));
    EXPECT_LE(size, most) << count << " limits";
    RecordProperty("bytes_at_" + std::to_string(count), std::to_string(size));
    std::cout << "bucket with " << count << " limits: " << size << " bytes\n";
  }
}

TEST_F(Cost, EightPlainAndTwoConcurrentLimitsWithSixteenDeadlinesAreOneKilobyte) {
  Limiter admin = table.limiter();
  std::vector<NamedLimit> limits = some_limits(8);
  for (const char* const name : {"calls", "jobs"}) limits.push_back({name, *Limit::parse("100:concurrent")});
  ASSERT_TRUE(admin.set_limits(Level::system(), limits));
  std::vector<Charge> consume;
  for (const NamedLimit& limit : limits) consume.push_back({limit.name, 1});
  for (int i = 1; i <= 20; ++i) {
    table.clock.advance(std::chrono::milliseconds(777));
    const auto decision =
        admin.acquire("user-123", "gpt-4", consume, {.lease_for = std::chrono::seconds(100 * i)});
    ASSERT_TRUE(decision && decision->admitted());
  }
  const auto buckets = admin.buckets("user-123");
  ASSERT_TRUE(buckets);
  std::size_t full = 0;
  for (const BucketLimit& limit : buckets->items[0].limits) full += limit.held.size() == 16 ? 1U : 0U;
  EXPECT_EQ(full, 2U);
  const std::size_t size = wire::aws::size_of(table.bucket("user-123"));
  EXPECT_LE(size, 1024U);
  std::cout << "bucket with 8 plain and 2 concurrent limits, 16 deadlines each: " << size << " bytes\n";
}

TEST_F(Cost, ItemsHaveTheNamesOfTheSchema) {
  Limiter admin = table.limiter();
  ASSERT_TRUE(admin.set_limits(Level::system(), {{"rpm", "100/min:150"}}));
  ASSERT_TRUE(admin.acquire("key", "gpt-4", {{"rpm", 1}})->admitted());
  const Item item = table.bucket("key");
  const auto text = [&](const char* name) { return std::string(wire::aws::text_of(item, name)); };
  EXPECT_EQ(text("PK"), "ENTITY#key");
  EXPECT_EQ(text("SK"), "#BUCKET#gpt-4");
  EXPECT_EQ(text("entity_id"), "key");
  EXPECT_EQ(text("resource"), "gpt-4");
  EXPECT_EQ(text("GSI2PK"), "RESOURCE#gpt-4");
  EXPECT_EQ(text("GSI2SK"), "BUCKET#key");
  const std::pair<const char*, std::int64_t> numbers[] = {
      {"b_rpm_tk", 99'000},  {"b_rpm_cp", 100'000}, {"b_rpm_bx", 150'000},
      {"b_rpm_ra", 100'000}, {"b_rpm_rp", 60'000},  {"b_rpm_tc", 1'000},
      {"rf", start_of_time}, {"at", start_of_time}, {"ttl", start_of_time / 1000 + 420}};
  for (const auto& [name, value] : numbers) EXPECT_EQ(wire::aws::integer_of(item, name), value) << name;
  const Item limits = table.item(level_key("default", Level::system()));
  EXPECT_EQ(wire::aws::integer_of(limits, "l_rpm_cp"), 100);
  EXPECT_EQ(wire::aws::integer_of(limits, "l_rpm_bx"), 150);
  EXPECT_EQ(wire::aws::integer_of(limits, "l_rpm_rp"), 60);
  EXPECT_EQ(wire::aws::find(limits, "l_rpm_cpm"), nullptr) << "whole tokens say it exactly";
  Limiter other = *Limiter::open(table.url(), {.name_space = "other", .clock = &table.clock});
  ASSERT_TRUE(other.set_limits(Level::entity("key", "gpt-4"), {{"rpm", "1.5/s"}}));
  const Item in_other = table.item({"other/ENTITY#key", "#CONFIG#gpt-4"});
  EXPECT_EQ(wire::aws::text_of(in_other, "GSI3PK"), "other/ENTITY_CONFIG#gpt-4");
  EXPECT_EQ(wire::aws::integer_of(in_other, "l_rpm_cpm"), 1'500);
}

TEST_F(Cost, LimitsThatAnotherProgramWroteAreRead) {
  Item foreign = level_key("default", Level::resource("gpt-4")).item();
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::int64_t>>{
           {"l_rpm_cp", 5}, {"l_rpm_bx", 5}, {"l_rpm_ra", 5}, {"l_rpm_rp", 60}})
    foreign.push_back({name, Value::of(value)});
  table.put(foreign);
  Limiter limiter = table.limiter();
  int admitted = 0;
  for (int i = 0; i < 10; ++i) admitted += limiter.acquire("key", "gpt-4", {{"rpm", 1}})->admitted() ? 1 : 0;
  EXPECT_EQ(admitted, 5);
}

TEST_F(Cost, SyncGivesWayToAnOperatorWhoWroteBehindItsBack) {
  Limiter sync = table.limiter();
  const Level level = Level::entity("key", "gpt-4");
  ASSERT_TRUE(sync.set_limits(level, {{"rpm", "5"}}, {.owner = Owner::sync, .expires_in = 1h}));
  EXPECT_NE(wire::aws::find(table.item(level_key("default", level)), "ttl"), nullptr);
  Item by_operator = level_key("default", level).item();
  for (const char* const name : {"l_rpm_cp", "l_rpm_bx", "l_rpm_ra", "l_rpm_rp"})
    by_operator.push_back({name, Value::of(std::int64_t{7})});
  table.put(by_operator);
  const auto refused = sync.set_limits(level, {{"rpm", "5"}}, {.owner = Owner::sync, .expires_in = 1h});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::operator_owned);
  ASSERT_TRUE(sync.delete_limits(level));
  EXPECT_TRUE(sync.set_limits(level, {{"rpm", "5"}}, {.owner = Owner::sync, .expires_in = 1h}))
      << "what was deleted goes back to sync";
}

}  // namespace
}  // namespace weir::dynamodb
