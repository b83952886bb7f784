// Two stores that are asked for the same: memory, which is never closed, and another one that is closed and
// opened again at random moments. They must not differ in a word.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "weir/weir.h"

namespace weir::tests {

using namespace std::chrono_literals;

/// The same steps on both stores; what they answer must not differ.
class Twins {
 public:
  /// Opens the store that is compared with memory, new or as it was left.
  using Open = std::function<Result<Limiter>(const Options& options)>;
  Twins(unsigned seed, Open open_other) : random_(seed), open_other_(std::move(open_other)) { open(); }

  void step() {
    switch (pick(20)) {
      case 0:
        return reopen();
      case 1:
        return advance();
      case 2:
        return set_limits();
      case 3:
        return delete_limits();
      case 4:
        return put_entity();
      case 5:
        return delete_entity();
      case 6:
      case 7:
        return change_lease();
      case 8:
        return compare("look",
                       [&](Limiter& limiter) { return limiter.available(entity(), resource_name(), {}); });
      default:
        return acquire();
    }
  }

  void compare_catalogs() {
    const auto limits = [](Limiter& limiter) {
      std::string text;
      const auto page = limiter.list_limits({}, {.limit = 1000});
      for (const StoredLimits& item : page->items) {
        text += item.level.entity() + "|" + item.level.resource() + "|" + name_of(item.owner);
        for (const NamedLimit& limit : item.limits) text += limit.name + limit.limit.to_json();
        text += std::to_string(item.expires_at.value_or(0)) + "\n";
      }
      return text;
    };
    const auto entities = [](Limiter& limiter) { return limiter.entities({.limit = 1000})->items; };
    const auto audit = [](Limiter& limiter) { return limiter.audit({}, {.limit = 1000})->items; };
    EXPECT_EQ(limits(*other_), limits(*memory_));
    EXPECT_EQ(entities(*other_), entities(*memory_));
    EXPECT_EQ(audit(*other_), audit(*memory_));
  }

 private:
  struct LeaseIds {
    std::string memory;
    std::string other;
  };

  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  // Drawn once per step, so that both stores are asked for the same.
  std::string entity() const { return entity_; }
  std::string resource_name() const { return resource_; }
  void draw() {
    entity_ = std::string("e") + std::to_string(pick(4));
    resource_ = pick(2) == 0 ? "r0" : "r1";
  }

  void open() {
    if (!memory_) memory_.emplace(*Limiter::open("memory:", {.clock = &clock_}));
    other_.reset();
    auto opened = open_other_({.clock = &clock_});
    ASSERT_TRUE(opened) << opened.error().message;
    other_.emplace(*std::move(opened));
  }
  void reopen() { open(); }
  void advance() {
    constexpr std::chrono::milliseconds spans[] = {1ms, 700ms, 1s, 17s, 1min, 7min, 10min, 2h};
    clock_.advance(spans[pick(8)]);
  }

  template <class Ask>
  void compare(const char* what, Ask&& ask) {
    draw();
    const auto in_memory = ask(*memory_);
    const auto in_other = ask(*other_);
    EXPECT_EQ(words(in_other), words(in_memory)) << what << " of " << entity_ << " on " << resource_;
  }
  static std::string words(const Result<Decision>& decision) {
    if (!decision) return decision.error().message;
    std::string text = decision->admitted() ? "admitted" : "refused";
    text += std::to_string(decision->retry_after().value_or(-1ms).count());
    return text + words(decision->limits());
  }
  static std::string words(const LimitReport& report) {
    std::string text;
    for (const LimitStatus status : report) {
      text += " " + std::string(status.entity) + ":" + std::string(status.name) + "=" +
              status.remaining.to_string();
    }
    return text;
  }
  static std::string words(const Result<LimitReport>& report) {
    return report ? words(*report) : report.error().message;
  }
  template <class T>
  static std::string words(const Result<T>& result) {
    return result ? "done" : result.error().message;
  }

  Level level() {
    switch (pick(4)) {
      case 0:
        return Level::entity(entity_, resource_);
      case 1:
        return Level::entity_default(entity_);
      case 2:
        return Level::resource(resource_);
      default:
        return Level::system();
    }
  }
  void set_limits() {
    draw();
    const Level at = level();
    std::vector<NamedLimit> limits;
    for (const char* const name : {"rpm", "tpm"}) {
      if (name[0] == 't' && pick(3) == 0) continue;
      constexpr const char* choices[] = {"10/min", "3/s", "100/h:150", "20/day", "0", "7/10s:9"};
      limits.push_back({name, *Limit::parse(choices[pick(6)])});
    }
    SetLimitsOptions options;
    if (!at.entity().empty() && pick(2) == 0) {
      options.owner = Owner::sync;
      options.expires_in = std::chrono::seconds(1 + pick(1000));
    }
    if (at.kind() == Source::system && pick(3) == 0) options.bucket_ttl_refill_multiplier = 1 + pick(9);
    ask_both("set", [&](Limiter& limiter) { return limiter.set_limits(at, limits, options); });
  }
  template <class Ask>
  void ask_both(const char* what, Ask&& ask) {
    const auto in_memory = ask(*memory_);
    const auto in_other = ask(*other_);
    EXPECT_EQ(words(in_other), words(in_memory)) << what;
  }
  void delete_limits() {
    draw();
    const Level at = level();
    ask_both("delete limits", [&](Limiter& limiter) { return limiter.delete_limits(at); });
  }
  void put_entity() {
    draw();
    Entity next{.id = entity_, .name = "né \"x\"", .metadata = {{"plan", "gold\n"}}};
    if (pick(3) != 0) next.parent = "e" + std::to_string(pick(4));
    next.cascade = !next.parent.empty() && pick(2) == 0;
    ask_both("put entity", [&](Limiter& limiter) { return limiter.put_entity(next); });
  }
  void delete_entity() {
    draw();
    ask_both("delete entity", [&](Limiter& limiter) { return limiter.delete_entity(entity_); });
  }
  void acquire() {
    draw();
    std::vector<Charge> consume{{"rpm", Amount::milli(pick(4) * 700)}};
    if (pick(2) == 0) consume.push_back({"tpm", Amount(pick(12))});
    AcquireOptions options;
    const std::string key = "k" + std::to_string(pick(3));
    if (pick(4) == 0) options.idempotency_key = key;
    auto in_memory = memory_->acquire(entity_, resource_, consume, options);
    auto in_other = other_->acquire(entity_, resource_, consume, options);
    EXPECT_EQ(words(in_other), words(in_memory)) << "acquire by " << entity_ << " on " << resource_;
    if (!in_memory || !in_other || !in_memory->admitted() || !in_other->admitted() || pick(3) != 0) return;
    leases_.push_back({*in_memory->lease().id(), *in_other->lease().id()});
  }
  void change_lease() {
    if (leases_.empty()) return;
    const LeaseIds ids = leases_[static_cast<std::size_t>(pick(static_cast<int>(leases_.size())))];
    const std::vector<Charge> amounts{{"rpm", Amount::milli(pick(5) * 500)}};
    const std::string key = "k" + std::to_string(pick(3));
    const int verb = pick(3);
    const auto change = [&](Limiter& limiter, const std::string& id) {
      if (verb == 0) return limiter.rollback(id);
      return verb == 1 ? limiter.settle(id, amounts) : limiter.adjust(id, amounts, key);
    };
    EXPECT_EQ(words(change(*other_, ids.other)), words(change(*memory_, ids.memory))) << "lease";
  }

  std::mt19937 random_;
  const Open open_other_;
  FakeClock clock_;
  std::optional<Limiter> memory_;
  std::optional<Limiter> other_;
  std::vector<LeaseIds> leases_;
  std::string entity_ = "e0";
  std::string resource_ = "r0";
};

/// Runs the twins through random steps, once for each seed. `open_for` makes an empty store and says how to
/// open it.
inline void compare_with_memory(unsigned seeds, int steps, const std::function<Twins::Open()>& open_for) {
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Twins twins(seed, open_for());
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      twins.step();
    }
    twins.compare_catalogs();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace weir::tests
