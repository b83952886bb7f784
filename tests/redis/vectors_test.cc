// Runs the histories of tests/vectors through the script in a Redis server, whose numbers are doubles.
#include <gtest/gtest.h>

#include <boost/json/src.hpp>
#include <fstream>

#include "support/redis_server.h"
#include "tests_folder.h"
#include "weir/weir.h"

namespace weir {
namespace {

namespace json = boost::json;
using Amounts = std::map<std::string, std::int64_t>;

/// A bucket under limits of its own, so that it never expires: the histories know no expiry.
class RedisBucket {
 public:
  RedisBucket(const std::string& url, const json::object& limits, Time first)
      : clock_(first),
        limiter_(*Limiter::open(url, {.clock = &clock_, .lease_deadline = std::chrono::hours(1'000'000)})) {
    usable_ = change(limits);
  }
  bool usable() const { return usable_; }

  void set(Time now) { clock_.set(now); }
  bool change(const json::object& limits) {
    std::vector<NamedLimit> named;
    for (const auto& [name, value] : limits) {
      const auto numbers = json::value_to<std::vector<std::int64_t>>(value);
      auto limit = Limit::make({.capacity = Amount::milli(numbers[0]),
                                .burst = Amount::milli(numbers[1]),
                                .refill_amount = Amount::milli(numbers[2]),
                                .refill_period = std::chrono::milliseconds(numbers[3])});
      // The arithmetic reaches further than what can be set.
      if (!limit) return false;
      named.push_back({name, *limit});
    }
    auto stored = limiter_.set_limits(Level::entity("key", "r"), named);
    EXPECT_TRUE(stored) << stored.error().message;
    return stored.ok();
  }
  Amounts held() {
    Amounts held;
    const auto look = limiter_.available("key", "r");
    EXPECT_TRUE(look) << look.error().message;
    for (const LimitStatus status : look->limits())
      held[std::string(status.name)] = status.remaining.millitokens();
    return held;
  }
  Result<Decision> take(const Amounts& amounts) { return limiter_.acquire("key", "r", charges(amounts)); }
  /// Charges by way of a lease; a new one of nothing where there is none.
  bool charge(const Amounts& amounts) {
    if (leases_.empty()) {
      Amounts nothing = amounts;
      for (auto& [name, amount] : nothing) amount = 0;
      auto decision = take(nothing);
      if (!decision || !decision->admitted()) return false;
      keep(*decision, nothing);
    }
    return adjust(leases_.front(), amounts);
  }
  /// Gives back by way of as many leases as hold enough. False: nobody has that much.
  bool give(Amounts amounts) {
    for (auto& [name, left] : amounts) {
      for (Held& held : leases_) {
        const std::int64_t part = std::min(left, held.net[name]);
        if (part <= 0) continue;
        if (!adjust(held, {{name, -part}})) return false;
        left -= part;
      }
      if (left > 0) return false;
    }
    return true;
  }
  bool exists() const { return !leases_.empty(); }
  void keep(Decision& decision, const Amounts& taken) {
    leases_.push_back({std::move(decision.lease()), taken});
  }

 private:
  static std::vector<Charge> charges(const Amounts& amounts) {
    std::vector<Charge> charges;
    for (const auto& [name, amount] : amounts) charges.push_back({name, Amount::milli(amount)});
    return charges;
  }
  struct Held {
    Lease lease;
    Amounts net;
  };
  static bool adjust(Held& held, const Amounts& amounts) {
    auto done = held.lease.adjust(charges(amounts));
    // More than one lease can hold.
    if (!done && done.error().code == ErrorCode::invalid_argument) return false;
    EXPECT_TRUE(done) << done.error().message;
    for (const auto& [name, amount] : amounts) held.net[name] += amount;
    return done.ok();
  }

  FakeClock clock_;
  Limiter limiter_;
  std::vector<Held> leases_;
  bool usable_ = false;
};

/// True if the step could be run: only what was taken can be given back.
bool run(RedisBucket& bucket, const json::object& step) {
  bucket.set(step.at("at").as_int64());
  if (const auto* take = step.if_contains("take")) {
    auto decision = bucket.take(json::value_to<Amounts>(*take));
    EXPECT_TRUE(decision) << decision.error().message;
    if (!decision) return false;
    EXPECT_EQ(decision->admitted(), step.at("admitted").as_bool()) << step;
    if (const auto* expected = step.if_contains("wait")) {
      const auto wait = decision->retry_after();
      EXPECT_EQ(wait ? std::optional<Time>(wait->count()) : std::nullopt,
                expected->is_null() ? std::optional<Time>() : expected->as_int64())
          << step;
    }
    if (decision->admitted()) bucket.keep(*decision, json::value_to<Amounts>(*take));
    // A store makes the bucket that has to grow, which the arithmetic alone does not.
    if (decision->refused() && decision->retry_after() && !bucket.exists()) return false;
  } else if (const auto* charge = step.if_contains("charge")) {
    if (!bucket.charge(json::value_to<Amounts>(*charge))) return false;
  } else if (const auto* give = step.if_contains("give")) {
    if (!bucket.give(json::value_to<Amounts>(*give))) return false;
  } else {
    if (!bucket.change(step.at("limits").as_object())) return false;
  }
  EXPECT_EQ(bucket.held(), json::value_to<Amounts>(step.at("held"))) << step;
  return true;
}

TEST(RedisVectors, EveryHistoryOfABucketComesOutTheSame) {
  tests::RedisServer server;
  std::ifstream file(WEIR_TESTS_FOLDER "/vectors/bucket.jsonl");
  int histories = 0;
  int whole = 0;
  for (std::string line; std::getline(file, line); ++histories) {
    const json::object history = json::parse(line).as_object();
    SCOPED_TRACE(json::value_to<std::string>(history.at("what")));
    const json::array& steps = history.at("steps").as_array();
    const Time first = steps.at(0).as_object().at("at").as_int64();
    RedisBucket bucket(server.patient_url() + "&prefix=v" + std::to_string(histories),
                       history.at("limits").as_object(), first);
    bool went_on = bucket.usable();
    for (const auto& step : steps) {
      if (!(went_on = went_on && run(bucket, step.as_object()))) break;
    }
    whole += went_on ? 1 : 0;
  }
  EXPECT_GE(histories, 40);
  EXPECT_GE(whole, 30) << "most histories must run to their end";
}

}  // namespace
}  // namespace weir
