// Fills a store with something of every kind, and reads it through the public API.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "api/catalog_json.h"
#include "api/usage_json.h"
#include "limits/record.h"
#include "weir/weir.h"

namespace weir::tests {

/// What has to work in a copy as it would have in the store itself.
struct Leases {
  std::string plain;      ///< never written: only its id knows it
  std::string adjusted;   ///< open, in debt
  std::string of_a_call;  ///< holds a concurrent limit
  std::string of_grants;  ///< took 7 of the grant that ends and 3 of the other
};

/// A store of several namespaces, made by a random sequence of calls over a day that ends now.
class Content {
 public:
  static constexpr const char* namespaces[] = {"default", "acme", "empty-but-for-limits"};
  static constexpr const char* resources[] = {"gpt-4", "search/v1", "images"};

  explicit Content(unsigned seed) : random_(seed) {}

  /// The clock of the caller is a day back.
  void fill(const std::string& url, FakeClock& clock) {
    clock_ = &clock;
    end_ = clock.now();
    for (const char* const name_space : namespaces) {
      // Each namespace has its part of the day, so that the clock never goes back.
      end_ += std::chrono::milliseconds(day).count() / static_cast<Time>(std::size(namespaces));
      auto opened = Limiter::open(url, {.name_space = name_space, .clock = &clock, .principal = "tester"});
      ASSERT_TRUE(opened) << opened.error().message;
      limiter_ = &*opened;
      set_limits();
      if (std::string(name_space) == "empty-but-for-limits") continue;
      set_entities();
      for (int step = 0; step < 150; ++step) charge();
      change_limits();
      for (int step = 0; step < 50; ++step) charge();
      open_leases();
      clock.set(end_);
    }
  }

  std::vector<std::string> entities() const {
    std::vector<std::string> ids = charged();
    ids.insert(ids.end(), {"calls", "granted", "lease"});
    return ids;
  }
  const Leases& leases() const { return leases_; }
  static constexpr std::chrono::hours day{24};

  /// Everything that can be read, one record on a line. Buckets expire at whole seconds in some stores.
  std::string read(const std::string& url) const {
    std::string text;
    for (const char* const name_space : namespaces) {
      auto opened = Limiter::open(url, {.name_space = name_space});
      if (!opened) return opened.error().message;
      text += std::string("namespace ") + name_space + "\n" + read(*opened);
    }
    return text;
  }

 private:
  /// At random.
  static std::vector<std::string> charged() {
    std::vector<std::string> ids{"org", "team", "key", "blocked@example", "a:b/c"};
    for (int i = 0; i < 12; ++i) ids.push_back("user-" + std::to_string(i));
    return ids;
  }
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  void set(const Level& level, const std::vector<LimitText>& limits, const SetLimitsOptions& options = {}) {
    const auto done = limiter_->set_limits(level, limits, options);
    ASSERT_TRUE(done) << done.error().message;
    clock_->advance(std::chrono::milliseconds(below(50)));
  }
  void put(const Entity& entity) {
    const auto done = limiter_->put_entity(entity);
    ASSERT_TRUE(done) << done.error().message;
  }

  void set_limits() {
    set(Level::system(), {{"rpm", "1000/d:1500"}, {"tpm", "50000/d"}},
        {.bucket_ttl_refill_multiplier = 9, .on_unavailable = OnUnavailable::allow});
    set(Level::resource("gpt-4"), {{"rpm", "100/d"}, {"old", "300/d"}});
    set(Level::resource("gpt-4"), {{"rpm", "120/d:130"}, {"old", "300/d"}, {"calls", "40:concurrent"}});
    set(Level::resource("images"), {{"rpm", "7/d"}, {"slow", "0.125/d"}}, {.usage = false});
    set(Level::entity("user-1", "gpt-4"), {{"rpm", "50/d"}}, {.inherit = true});
    set(Level::entity_default("user-2"), {{"rpm", R"({"capacity":60,"burst":100,"refill_amount":60,)"
                                                  R"("refill_period_ms":86400000,"mode":"shadow"})"}});
    set(Level::entity_default("user-3"), {{"rpm", "5/d"}},
        {.owner = Owner::sync, .expires_in = std::chrono::hours(100)});
    set(Level::entity("user-4", "search/v1"), {{"rpm", "1/d"}});
    ASSERT_TRUE(limiter_->delete_limits(Level::entity("user-4", "search/v1")));
  }

  void set_entities() {
    ASSERT_TRUE(limiter_->put_plan({.name = "pro",
                                    .limits = {.limits = {{"rpm", *Limit::parse("80/d")}}, .inherit = true},
                                    .resources = {{"images", {.limits = {{"rpm", *Limit::parse("9/d")}}}}}}));
    put({.id = "org", .name = "An organisation", .metadata = {{"tier", "gold"}, {"note", "a \"b\" ü"}}});
    put({.id = "team", .parent = "org", .cascade = true});
    put({.id = "key", .parent = "team", .cascade = true, .plan = "pro"});
    put({.id = "user-5", .plan = "pro"});
    put({.id = "user-5"});
    ASSERT_TRUE(limiter_->set_access("blocked@example", {.access = Access::blocked, .reason = "abuse"}));
    ASSERT_TRUE(limiter_->set_access(
        "user-6",
        {.access = Access::exempt, .resource = "images", .until = end_ + 1'000'000'000, .reason = "launch"}));
  }

  void charge() {
    const auto ids = charged();
    const std::string& entity = ids[static_cast<std::size_t>(below(static_cast<int>(ids.size())))];
    AcquireOptions options;
    options.lease_for = std::chrono::hours(48);
    options.usage = below(8) != 0;
    const std::string key = "request-" + std::to_string(below(1000));
    if (below(4) == 0) options.idempotency_key = key;
    const auto amount = Amount::milli(1 + below(4000));
    auto decision = limiter_->acquire(entity, resources[below(3)], {{"rpm", amount}}, options);
    ASSERT_TRUE(decision) << decision.error().message;
    if (decision->admitted() && below(3) == 0) {
      ASSERT_TRUE(decision->lease().adjust({{"rpm", Amount::milli(below(200'000))}}));
    }
    clock_->advance(std::chrono::minutes(below(4)) + std::chrono::milliseconds(below(1000)));
    if (clock_->now() > end_) clock_->set(end_);
  }

  /// Buckets that have charged "old" keep it as a dormant limit.
  void change_limits() {
    ASSERT_TRUE(limiter_->acquire("user-7", "gpt-4", {{"old", 200}}));
    set(Level::resource("gpt-4"), {{"rpm", "110/d:130"}, {"calls", "40:concurrent"}});
    ASSERT_TRUE(limiter_->acquire("user-7", "gpt-4", {{"rpm", 1}}));
  }

  void open_leases() {
    AcquireOptions options;
    options.lease_for = std::chrono::hours(48);
    const auto take = [&](const char* entity, std::initializer_list<Charge> consume) -> std::string {
      auto decision = limiter_->acquire(entity, "gpt-4", consume, options);
      EXPECT_TRUE(decision && decision->admitted());
      auto id = decision->lease().id();
      EXPECT_TRUE(id);
      return *id;
    };
    set(Level::entity("lease", "gpt-4"), {{"rpm", "1000/d"}, {"calls", "40:concurrent"}});
    set(Level::entity("calls", "gpt-4"), {{"calls", "40:concurrent"}});
    leases_.plain = take("lease", {{"rpm", 5}});
    leases_.adjusted = take("lease", {{"rpm", 5}});
    ASSERT_TRUE(limiter_->adjust(leases_.adjusted, {{"rpm", 2000}}, "more"));
    leases_.of_a_call = take("calls", {{"calls", 3}});
    // A keyed acquire notes in its marker what it took of grants.
    set(Level::entity("granted", "gpt-4"), {{"rpm", "1000/d"}});
    ASSERT_TRUE(limiter_->grant("granted", "gpt-4", {{"rpm", 7}}, {.expires_in = std::chrono::hours(72)}));
    ASSERT_TRUE(limiter_->grant("granted", "gpt-4", {{"rpm", 9}}, {.key = "ticket"}));
    options.idempotency_key = "of-grants";
    leases_.of_grants = take("granted", {{"rpm", 10}});
  }

  template <class PageOf, class Print>
  static void print_all(std::string& text, PageOf page, Print print) {
    Paging paging{.cursor = {}, .limit = 100};
    do {
      auto items = page(paging);
      if (!items) {
        text += items.error().message + "\n";
        return;
      }
      for (const auto& item : items->items) text += print(item) + "\n";
      paging.cursor = items->next;
    } while (!paging.cursor.empty());
  }

  std::string read(Limiter& limiter) const {
    const auto json = [](const auto& item) { return api::to_json(item); };
    std::string text;
    print_all(text, [&](const Paging& paging) { return limiter.list_limits({}, paging); }, json);
    print_all(text, [&](const Paging& paging) { return limiter.plans(paging); }, json);
    print_all(
        text, [&](const Paging& paging) { return limiter.members("pro", paging); },
        [](const std::string& id) { return "member " + id; });
    print_all(text, [&](const Paging& paging) { return limiter.entities(paging); }, json);
    print_all(
        text, [&](const Paging& paging) { return limiter.children("org", paging); },
        [](const std::string& id) { return "child " + id; });
    print_all(text, [&](const Paging& paging) { return limiter.audit({}, paging); }, json);
    for (const std::string& id : entities()) {
      print_all(
          text, [&](const Paging& paging) { return limiter.buckets(id, paging); },
          [](Bucket bucket) { return text_of(std::move(bucket)); });
      print_all(text, [&](const Paging& paging) { return limiter.usage({.entity = id}, paging); }, json);
    }
    return text;
  }
  static std::string text_of(Bucket bucket) {
    if (bucket.expires_at) bucket.expires_at = limits::whole_seconds(*bucket.expires_at);
    std::string held;
    for (const BucketLimit& limit : bucket.limits) {
      for (const HeldAmount& one : limit.held)
        held += " " + std::to_string(one.deadline) + ":" + one.amount.to_string();
    }
    return std::to_string(bucket.version) + " " + std::to_string(bucket.refilled_at) + held + " " +
           api::to_json(bucket, bucket.refilled_at);
  }

  std::mt19937 random_;
  FakeClock* clock_ = nullptr;
  Limiter* limiter_ = nullptr;
  Time end_ = 0;
  Leases leases_;
};

/// A file that is filled, by a clock that ends at the present moment.
inline Content filled(const std::string& url, unsigned seed) {
  Content content(seed);
  FakeClock clock(SystemClock().now() - std::chrono::milliseconds(Content::day).count());
  content.fill(url, clock);
  return content;
}

}  // namespace weir::tests
