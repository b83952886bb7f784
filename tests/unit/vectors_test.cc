// Runs the histories of tests/vectors through the arithmetic in C++.
#include <gtest/gtest.h>

#include <boost/json/src.hpp>
#include <fstream>

#include "bucket/claims.h"
#include "tests_folder.h"

namespace weir::bucket {
namespace {

namespace json = boost::json;
using limits::LimitsRecordRef;

using Amounts = std::map<std::string, std::int64_t>;

limits::LimitSetRef set_of(const json::object& limits) {
  std::vector<limits::NamedParameters> set;
  for (const auto& [name, value] : limits) {
    const auto numbers = json::value_to<std::vector<std::int64_t>>(value);
    set.push_back(
        {name, {numbers[0], numbers[1], numbers[2], numbers[3], limits::reduced(numbers[2], numbers[3])}});
  }
  return limits::LimitSetRef(new limits::LimitSet(std::move(set)));
}

/// A bucket under the limits of the system level.
class Bucket {
 public:
  explicit Bucket(const json::object& limits) { change(limits, 0); }

  void change(const json::object& limits, Time at) {
    record_ = LimitsRecordRef(limits::next_record(record_, set_of(limits), at, at).get());
  }
  Amounts held(Time at) const {
    Amounts held;
    for (const LimitClaim& limit : claims(at).limits) held[limit.name] = limit.held(state());
    return held;
  }
  /// The time to wait, 0 if it was admitted, nothing if it can never be.
  std::optional<Time> take(const Amounts& amounts, Time at) {
    const Claims now = claims(at);
    Time wait = 0;
    for (const LimitClaim& limit : now.limits) {
      const auto named = amounts.find(limit.name);
      if (named == amounts.end() || named->second <= limit.held(state())) continue;
      if (named->second > limit.parameters.burst) return std::nullopt;
      wait = std::max(
          wait, moment_granted(limit.parameters.rate, now.at, named->second - limit.held(state())) - at);
    }
    if (wait == 0) write(now, amounts);
    return wait;
  }
  void charge(const Amounts& amounts, Time at) { write(claims(at), amounts); }

 private:
  const State* state() const { return state_ ? &*state_ : nullptr; }
  Claims claims(Time at) const {
    const auto resolution = limits::resolve(
        {.records = {LimitsRecordRef(), LimitsRecordRef(), LimitsRecordRef(), record_}}, {}, at, 7);
    return claims_of(state(), *resolution, at);
  }
  void write(const Claims& claims, const Amounts& amounts) {
    State next{claims.at, claims.version, 1, never, {}};
    for (const LimitClaim& limit : claims.limits) {
      const auto named = amounts.find(limit.name);
      const std::int64_t amount = named == amounts.end() ? 0 : named->second;
      const std::int64_t tokens = std::min(limit.held(state()) - amount, limit.parameters.burst);
      next.limits.push_back({limit.name, limit.parameters, tokens, 0});
    }
    state_ = next;
  }

  LimitsRecordRef record_;
  std::optional<State> state_;
};

void run(Bucket& bucket, const json::object& step) {
  const Time at = step.at("at").as_int64();
  if (const auto* take = step.if_contains("take")) {
    const auto wait = bucket.take(json::value_to<Amounts>(*take), at);
    EXPECT_EQ(wait == Time{0}, step.at("admitted").as_bool()) << step;
    if (const auto* expected = step.if_contains("wait")) {
      EXPECT_EQ(wait, expected->is_null() ? std::optional<Time>() : expected->as_int64()) << step;
    }
  } else if (const auto* charge = step.if_contains("charge")) {
    bucket.charge(json::value_to<Amounts>(*charge), at);
  } else if (const auto* give = step.if_contains("give")) {
    auto amounts = json::value_to<Amounts>(*give);
    for (auto& [name, amount] : amounts) amount = -amount;
    bucket.charge(amounts, at);
  } else {
    bucket.change(step.at("limits").as_object(), at);
  }
  EXPECT_EQ(bucket.held(at), json::value_to<Amounts>(step.at("held"))) << step;
}

TEST(Vectors, EveryHistoryOfABucketComesOutTheSame) {
  std::ifstream file(WEIR_TESTS_FOLDER "/vectors/bucket.jsonl");
  int histories = 0;
  for (std::string line; std::getline(file, line); ++histories) {
    const json::object history = json::parse(line).as_object();
    SCOPED_TRACE(json::value_to<std::string>(history.at("what")));
    Bucket bucket(history.at("limits").as_object());
    for (const auto& step : history.at("steps").as_array()) run(bucket, step.as_object());
  }
  EXPECT_GE(histories, 40);
}

}  // namespace
}  // namespace weir::bucket
