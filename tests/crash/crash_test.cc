// Kills a process that uses a file, again and again, and looks each time at what it left behind.
//
// WEIR_CRASH_ROUNDS sets how often, WEIR_CRASH_SEED with what; `./dev test --crash` runs 200 of each kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "crash/child.h"
#include "crash/inspection.h"
#include "crash/ledger.h"
#include "support/folder.h"

namespace weir::crash {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

constexpr int rounds_per_population = 3;
constexpr std::size_t most_repeats = 30;

/// The file that was left behind, opened by a new process, so to speak.
class Aftermath {
 public:
  Aftermath(const Ledger& ledger, const Names& names, const std::string& path)
      : ledger_(ledger),
        names_(names),
        file_(inspect(path)),
        opened_(Limiter::open("sqlite:" + path, options())) {}

  void check() {
    ASSERT_EQ(file_.integrity, "ok");
    ASSERT_TRUE(opened_) << opened_.error().message;
    check_balances();
    check_catalog();
    check_repeats();
    check_what_is_left();
  }
  /// What the file said before anything was repeated.
  void conclude(Ledger& ledger) const {
    for (const std::string& key : keys()) ledger.conclude(key, file_.consumed(key));
    for (std::size_t i = 0; i < catalog_size; ++i) ledger.conclude_catalog(i, limits_[i], entities_[i]);
    ledger.conclude_catalog(shared_place, shared_limits_, {});
  }

 private:
  static Options options() {
    static const FakeClock clock(standing_time);
    return {.clock = &clock, .lease_deadline = std::chrono::hours(24)};
  }
  std::vector<std::string> own_keys() const {
    std::vector<std::string> keys;
    for (int i = 0; i < callers; ++i) keys.push_back(names_.own_key(i));
    return keys;
  }
  std::vector<std::string> keys() const {
    auto keys = own_keys();
    keys.push_back(names_.shared_key());
    return keys;
  }
  Sums consumed_now(const std::string& entity);
  void check_holds(const std::string& entity, const Capacity& capacity);
  void check_balances();
  void check_catalog();
  void check_repeats();
  void check_acknowledged_repeats();
  void check_shared_limits();
  Result<Decision> repeat_acquire(const std::string& entity, const Sums& asked, const std::string& key);
  /// False: it was an acquire, and it is refused.
  bool repeat(const Pending& step);
  void check_what_is_left();

  const Ledger& ledger_;
  const Names names_;
  const Inspection file_;
  Result<Limiter> opened_;
  Limiter& limiter() { return *opened_; }
  std::array<std::optional<std::uint64_t>, catalog_size> limits_{};
  std::array<std::optional<std::uint64_t>, catalog_size> entities_{};
  std::optional<std::uint64_t> shared_limits_;
};

Sums Aftermath::consumed_now(const std::string& entity) {
  auto buckets = limiter().buckets(entity);
  EXPECT_TRUE(buckets) << buckets.error().message;
  Sums sums{};
  if (!buckets) return sums;
  for (const Bucket& bucket : buckets->items) {
    for (const BucketLimit& limit : bucket.limits) {
      for (std::size_t i = 0; i < std::size(limit_names); ++i) {
        if (limit.name == limit_names[i]) sums[i] = limit.consumed.millitokens() / 1000;
      }
    }
  }
  return sums;
}

/// Nothing refills, so what a bucket holds and what was charged add up.
void Aftermath::check_holds(const std::string& entity, const Capacity& capacity) {
  const auto found = file_.buckets.find(entity);
  if (found == file_.buckets.end()) return;
  const Sums full{capacity.rpm, capacity.tpm, capacity.credits};
  EXPECT_EQ(found->second.tokens + found->second.consumed, full) << entity;
  EXPECT_GE(found->second.tokens[0], 0) << entity;
  EXPECT_GE(found->second.tokens[1], 0) << entity;
}

void Aftermath::check_balances() {
  Sums small{};
  for (const std::string& key : keys()) {
    EXPECT_TRUE(ledger_.explains(key, file_.consumed(key)))
        << key << ": the file says " << to_string(file_.consumed(key)) << ", acknowledged were "
        << to_string(ledger_.acknowledged(key));
    check_holds(key, key == names_.shared_key() ? of_the_rest : of_own_key);
  }
  for (const std::string& key : own_keys()) small = small + file_.consumed(key);
  const Sums large = file_.consumed(names_.shared_key());
  EXPECT_EQ(file_.consumed(names_.small_team()), small) << "a chain was charged in part";
  EXPECT_EQ(file_.consumed(names_.large_team()), large) << "a chain was charged in part";
  EXPECT_EQ(file_.consumed(names_.organisation()), small + large) << "a chain was charged in part";
  check_holds(names_.small_team(), of_small_team);
  check_holds(names_.large_team(), of_the_rest);
  check_holds(names_.organisation(), of_the_rest);
}

void Aftermath::check_catalog() {
  for (std::size_t i = 0; i < catalog_size; ++i) {
    if (const auto stored = limiter().limits(Level::resource(catalog_resource(i)))) {
      ASSERT_EQ(stored->limits.size(), 1U);
      limits_[i] = static_cast<std::uint64_t>(stored->limits[0].limit.capacity().millitokens() / 1000) - 1;
      EXPECT_EQ(stored->limits[0].limit, *Limit::parse(catalog_limit(*limits_[i])));
    }
    EXPECT_TRUE(ledger_.limits_may_be(i, limits_[i])) << catalog_resource(i) << " " << limits_[i].value_or(0);
    if (auto entity = limiter().entity(catalog_entity(i))) {
      entities_[i] = std::strtoull(entity->metadata["step"].c_str(), nullptr, 10);
      Entity expected = catalog_content(i, *entities_[i]);
      expected.created_at = entity->created_at;
      EXPECT_EQ(*entity, expected);
    }
    EXPECT_TRUE(ledger_.entity_may_be(i, entities_[i]))
        << catalog_entity(i) << " " << entities_[i].value_or(0);
    if (ledger_.entity_is_gone(i)) {
      EXPECT_TRUE(limiter().buckets(catalog_entity(i))->items.empty()) << catalog_entity(i);
    }
  }
  if (!ledger_.prepared()) return;
  check_shared_limits();
  for (const std::string& key : own_keys()) {
    const auto entity = limiter().entity(key);
    ASSERT_TRUE(entity) << entity.error().message;
    EXPECT_EQ(entity->parent, names_.small_team());
    EXPECT_TRUE(limiter().limits(Level::entity_default(key)));
  }
}

void Aftermath::check_shared_limits() {
  const auto stored = limiter().limits(Level::entity_default(names_.shared_key()));
  ASSERT_TRUE(stored) << stored.error().message;
  const Limit& rpm = std::find_if(stored->limits.begin(), stored->limits.end(), [](const NamedLimit& limit) {
                       return limit.name == "rpm";
                     })->limit;
  const auto step =
      static_cast<std::uint64_t>((rpm.burst().millitokens() - rpm.capacity().millitokens()) / 1000);
  if (step != 0) shared_limits_ = step;
  EXPECT_TRUE(ledger_.shared_limits_may_be(shared_limits_)) << "the shared key's limits are of step " << step;
  for (const NamedLimit& limit : shared_limits(step))
    EXPECT_NE(std::find(stored->limits.begin(), stored->limits.end(), limit), stored->limits.end());
}

Result<Decision> Aftermath::repeat_acquire(const std::string& entity, const Sums& asked,
                                           const std::string& key) {
  AcquireOptions options;
  options.idempotency_key = key;
  return limiter().acquire(entity, resource, {{"rpm", asked[0]}, {"tpm", asked[1]}, {"credits", asked[2]}},
                           options);
}

bool Aftermath::repeat(const Pending& step) {
  if (step.kind == 'A') {
    const auto decision = repeat_acquire(step.entity, step.change, step.key);
    EXPECT_TRUE(decision) << decision.error().message;
    return decision && decision->admitted();
  }
  const std::string& id = ledger_.leases().at(step.lease).id;
  const Charge actual[] = {{"tpm", step.amounts[1]}, {"credits", step.amounts[2]}};
  const Charge more[] = {{"credits", step.amounts[2]}};
  const auto done = step.verb == "settle"     ? limiter().settle(id, actual)
                    : step.verb == "rollback" ? limiter().rollback(id)
                                              : limiter().adjust(id, more, step.key);
  EXPECT_TRUE(done) << step.verb << ": " << done.error().message;
  return true;
}

/// Sends the steps that were not acknowledged again: each counts once. Then repeats acknowledged steps: they
/// do not count again.
void Aftermath::check_repeats() {
  Ledger after = ledger_;
  // Acquires, if there is no room for them, are refused as often as they are sent.
  std::vector<Pending> steps = after.take_repeatable();
  std::erase_if(steps, [&](const Pending& step) { return !repeat(step); });
  for (const Pending& step : steps) after.acknowledge(step);
  for (int time = 0; time < 2; ++time) {
    for (const Pending& step : steps) EXPECT_TRUE(repeat(step));
    for (const std::string& key : keys())
      EXPECT_TRUE(after.explains(key, consumed_now(key))) << key << ": " << to_string(consumed_now(key));
  }
  std::map<std::string, Sums> before;
  for (const std::string& key : keys()) before[key] = consumed_now(key);
  check_acknowledged_repeats();
  for (const std::string& key : keys()) EXPECT_EQ(consumed_now(key), before[key]) << key;
}

void Aftermath::check_acknowledged_repeats() {
  std::size_t repeats = 0;
  for (auto at = ledger_.leases().rbegin(); at != ledger_.leases().rend() && repeats < most_repeats; ++at) {
    const LeaseEntry& lease = at->second;
    if (lease.id == "-" || ledger_.is_unknown(at->first)) continue;
    ++repeats;
    if (lease.key != "-") {
      auto again = repeat_acquire(lease.entity, lease.asked, lease.key);
      ASSERT_TRUE(again) << again.error().message;
      ASSERT_TRUE(again->admitted());
      if (lease.adjusts.empty() && lease.ended.empty()) {
        EXPECT_EQ(*again->lease().id(), lease.id);
      }
    }
    if (lease.ended.empty()) {
      for (const auto& [key, credits] : lease.adjusts)
        EXPECT_TRUE(limiter().adjust(lease.id, {{"credits", credits}}, key));
    } else if (lease.ended == "rollback") {
      EXPECT_TRUE(limiter().rollback(lease.id));
      EXPECT_FALSE(limiter().settle(lease.id, {{"tpm", 1}}));
    } else {
      EXPECT_TRUE(limiter().settle(lease.id, {{"tpm", lease.settled[1]}, {"credits", lease.settled[2]}}));
      EXPECT_FALSE(limiter().settle(lease.id, {{"tpm", lease.settled[1] + 1}}));
      EXPECT_FALSE(limiter().rollback(lease.id));
    }
  }
}

/// Takes all that is left: with what was acknowledged before it must not be more than there ever was.
void Aftermath::check_what_is_left() {
  if (!ledger_.prepared()) return;
  Sums team{};
  for (const std::string& key : own_keys()) {
    const auto look = limiter().available(key, resource);
    ASSERT_TRUE(look) << look.error().message;
    std::int64_t left = of_own_key.rpm;
    for (const LimitStatus status : look->limits()) {
      if (status.name == "rpm") left = std::min(left, status.remaining.millitokens() / 1000);
    }
    EXPECT_TRUE(limiter().acquire(key, resource, {{"rpm", left}})->admitted());
    EXPECT_FALSE(limiter().acquire(key, resource, {{"rpm", 1}})->admitted());
    const Sums all = ledger_.least_charged(key) + Sums{left, 0, 0};
    EXPECT_LE(all[0], of_own_key.rpm) << key << ": over-admitted";
    EXPECT_LE(all[1], of_own_key.tpm) << key << ": over-admitted";
    team = team + all;
  }
  EXPECT_LE(team[0], of_small_team.rpm) << "the team was over-admitted";
  EXPECT_LE(team[1], of_small_team.tpm) << "the team was over-admitted";
}

/// A file, and workers on it, one after the other.
class Crash : public testing::Test {
 public:
  enum class By { kill, power_loss };

  void run(By kind) {
    const std::uint64_t seed = setting("WEIR_CRASH_SEED", std::random_device()());
    const std::uint64_t rounds = setting("WEIR_CRASH_ROUNDS", 8);
    std::printf("WEIR_CRASH_SEED=%llu WEIR_CRASH_ROUNDS=%llu\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(rounds));
    random_.seed(seed);
    for (round_ = 0; round_ < rounds && !HasFailure(); ++round_) {
      if (round_ % rounds_per_population == 0) ledger_.start_over();
      names_.population = static_cast<int>(round_ / rounds_per_population);
      crash(kind);
      look();
    }
    std::printf("%llu rounds, %llu answers, %llu steps of unknown outcome: %s\n",
                static_cast<unsigned long long>(round_), static_cast<unsigned long long>(ledger_.answers()),
                static_cast<unsigned long long>(unknown_),
                HasFailure() ? "FAILED" : "over-admitted 0, forgotten 0, integrity ok");
  }

 private:
  /// Between a few and many, all magnitudes alike.
  std::uint64_t some(double most) {
    return static_cast<std::uint64_t>(std::pow(most, std::uniform_real_distribution<>(0, 1)(random_)));
  }
  /// Now and then while the file is made and prepared, mostly in the middle of work.
  std::uint64_t write_or_sync() { return random_() % 4 == 0 ? some(500) : 400 + some(8000); }
  void crash(By kind) {
    const bool power = kind == By::power_loss;
    Child child({.path = path_,
                 .population = names_.population,
                 .seed = random_(),
                 .first_step = ledger_.next_step(),
                 .power_lost_at = power ? write_or_sync() : 0});
    // With the power the worker goes by itself.
    std::uint64_t lines = power ? UINT64_MAX : some(4000) - 1;
    if (lines == 0) child.kill();
    while (auto line = child.line()) {
      ledger_.read(*line);
      if (--lines == 0) child.kill();
    }
    ledger_.worker_died();
    unknown_ += ledger_.unknown_count();
  }
  void look() {
    SCOPED_TRACE("round " + std::to_string(round_));
    for (const std::string& failure : ledger_.failures()) ADD_FAILURE() << failure;
    const std::string copy = folder_.file("copy.db");
    copy_database(path_, copy);
    Aftermath aftermath(ledger_, names_, copy);
    aftermath.check();
    aftermath.conclude(ledger_);
  }

  tests::Folder folder_;
  const std::string path_ = folder_.file("weir.db");
  Ledger ledger_;
  Names names_;
  std::mt19937_64 random_;
  std::uint64_t round_ = 0;
  std::uint64_t unknown_ = 0;
};

TEST_F(Crash, NothingAcknowledgedIsForgottenWhenTheProcessIsKilled) { run(By::kill); }
TEST_F(Crash, NothingAcknowledgedIsForgottenWhenThePowerGoes) { run(By::power_loss); }

}  // namespace
}  // namespace weir::crash

int main(int argc, char** argv) {
  if (const auto task = weir::crash::task_of(argc, argv)) return weir::crash::work(*task);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
