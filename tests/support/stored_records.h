// Records that something else than weir has written into a store: valid ones, changed at random, and every
// call over them. A call may fail, but only with an error; and a put or a delete repairs what is stored.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "weir/weir.h"

namespace weir::tests {

/// The number of records to try: WEIR_RECORDS, or the default.
inline std::size_t records_to_try(std::size_t by_default) {
  const char* const text = std::getenv("WEIR_RECORDS");
  return text == nullptr ? by_default : static_cast<std::size_t>(std::strtoull(text, nullptr, 10));
}

class Mutator {
 public:
  /// WEIR_SEED is added, so that several runs try different records.
  explicit Mutator(std::uint64_t seed) : random_(seed + added()) {}

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }
  bool one_in(std::size_t many) { return below(many) == 0; }

  /// A number at the edges of what can be stored.
  std::string number() {
    static const std::array<const char*, 26> edges = {"0",
                                                      "1",
                                                      "-1",
                                                      "999",
                                                      "1000",
                                                      "1001",
                                                      "4294967296",
                                                      "65536",
                                                      "2147483647",
                                                      "2147483648",
                                                      "4503599627370495",
                                                      "4503599627370496",
                                                      "4503599627370497",
                                                      "9007199254740992",
                                                      "9007199254740993",
                                                      "9223372036854775807",
                                                      "-9223372036854775808",
                                                      "9223372036854775806",
                                                      "1152921504606846977",
                                                      "10000000000000",
                                                      "-10000000000000",
                                                      "17",
                                                      "33",
                                                      "1700000000000",
                                                      "99999999999999999999",
                                                      "256"};
    if (one_in(6)) return std::to_string(static_cast<std::int64_t>(random_()));
    return edges.at(below(edges.size()));
  }
  double real() {
    static const std::array<double, 12> edges = {
        0, -1, 1, 1e15, 9007199254740992.0, -9007199254740992.0, 1e18, -1e18, 1e300, 1.5, 1e-300, 3.6e16};
    if (one_in(4)) return std::bit_cast<double>(random_());
    return edges.at(below(edges.size()));
  }

  /// Changes one to three places of a text: numbers become others, words go, come twice or change their
  /// bytes.
  std::string text(std::string value) {
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) change(value);
    return value;
  }
  /// The same for a text that begins with doubles.
  std::string doubles(std::string value, std::size_t most_doubles) {
    const std::size_t count = std::min(most_doubles, value.size() / 8);
    if (count == 0 || one_in(2)) return text(std::move(value));
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const double number = real();
      std::memcpy(value.data() + 8 * below(count), &number, sizeof number);
    }
    return value;
  }

 private:
  static std::uint64_t added() {
    const char* const text = std::getenv("WEIR_SEED");
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  }

  void change(std::string& value) {
    if (value.empty()) {
      value = number();
      return;
    }
    const std::size_t at = below(value.size());
    switch (below(8)) {
      case 0:
        value.resize(at);
        break;
      case 1:
        value[at] = static_cast<char>(random_());
        break;
      case 2:
        value.insert(at, number());
        break;
      case 3:
        value.insert(at, value.substr(at, below(40)));
        break;
      case 4:
        value.erase(at, below(12));
        break;
      default:
        replace_number(value, at);
    }
  }
  void replace_number(std::string& value, std::size_t from) {
    const std::size_t at = value.find_first_of("-0123456789", from);
    if (at == std::string::npos) return;
    const std::size_t end = value.find_first_not_of("-0123456789", at);
    value.replace(at, end == std::string::npos ? std::string::npos : end - at, number());
  }

  std::mt19937_64 random_;
};

/// An entity with everything that a store keeps about one: limits at both levels that have changed, a parent,
/// a bucket with dormant and concurrent limits, and a lease that was adjusted.
struct StoredEntity {
  std::string id;
  std::string lease = {};
};

inline void make_shared_records(Limiter& limiter) {
  ASSERT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "1000/min"}}));
  ASSERT_TRUE(limiter.set_limits(Level::resource("r"), {{"rpm", "900/min"}, {"tpm", "5000/min:6000"}}));
  const NamedLimit limit{"rpm", *Limit::parse("800/min")};
  ASSERT_TRUE(limiter.put_plan({.name = "plan",
                                .limits = {{limit}, true},
                                .resources = {{"r", {.limits = {limit}, .inherit = true}}}}));
  ASSERT_TRUE(limiter.put_entity({.id = "top", .plan = "plan"}));
}

inline StoredEntity make_records(Limiter& limiter, const std::string& id) {
  StoredEntity made{id};
  EXPECT_TRUE(limiter.put_entity({.id = id, .parent = "top", .cascade = true, .name = "n", .plan = "plan"}));
  EXPECT_TRUE(limiter.set_limits(Level::entity_default(id), {{"rpm", "50/min"}}));
  EXPECT_TRUE(limiter.set_limits(Level::entity(id, "r"), {{"old", "7/day"}, {"rpm", "100/min"}}));
  EXPECT_TRUE(limiter.acquire(id, "r", {{"old", 3}, {"rpm", 2}}));
  EXPECT_TRUE(limiter.set_limits(Level::entity(id, "r"),
                                 {{"rpm", "80.5/min:90"}, {"tpm", "1000/h"}, {"calls", "5:concurrent"}}));
  auto decision = limiter.acquire(id, "r", {{"rpm", 1}, {"calls", 2}}, {.idempotency_key = "key"});
  EXPECT_TRUE(decision) << decision.error().message;
  if (!decision || !decision->admitted()) return made;
  made.lease = *decision->lease().id();
  EXPECT_TRUE(limiter.adjust(made.lease, {{"rpm", 1}, {"calls", -1}}, "first"));
  return made;
}

/// Every call that reads a record. Whether it succeeds depends on what is stored.
inline void read_everything(Limiter& limiter, const StoredEntity& entity) {
  (void)limiter.limits(Level::entity(entity.id, "r"));
  (void)limiter.limits(Level::entity_default(entity.id));
  (void)limiter.limits(Level::resource("r"));
  (void)limiter.limits(Level::system());
  (void)limiter.effective_limits(entity.id, "r");
  (void)limiter.available(entity.id, "r", {{"rpm", 1}});
  (void)limiter.acquire(entity.id, "r", {{"rpm", 1}});
  (void)limiter.acquire(entity.id, "r", {{"rpm", 1}, {"calls", 2}}, {.idempotency_key = "key"});
  (void)limiter.acquire(entity.id, "r", {{"calls", 1}});
  if (!entity.lease.empty()) {
    (void)limiter.extend(entity.lease, std::chrono::minutes(20));
    (void)limiter.adjust(entity.lease, {{"rpm", 1}, {"calls", 1}}, "second");
    (void)limiter.settle(entity.lease, {{"rpm", 1}});
  }
  (void)limiter.buckets(entity.id);
  (void)limiter.entity(entity.id);
  (void)limiter.children("top");
  (void)limiter.plan("plan");
  (void)limiter.plans();
  (void)limiter.members("plan");
}

/// A put and a delete repair the record of limits, and deleting the entity repairs the rest.
inline void repair_everything(Limiter& limiter, const std::string& id) {
  const Level level = Level::entity(id, "r");
  const auto put = limiter.set_limits(level, {{"rpm", "10/min"}});
  ASSERT_TRUE(put) << put.error().message;
  const auto got = limiter.limits(level);
  ASSERT_TRUE(got) << got.error().message;
  const auto gone = limiter.delete_limits(level);
  ASSERT_TRUE(gone) << gone.error().message;
  const auto deleted = limiter.delete_entity(id);
  if (!deleted) {
    ASSERT_EQ(deleted.error().code, ErrorCode::not_found) << deleted.error().message;
    ASSERT_TRUE(limiter.put_entity({.id = id}));
    ASSERT_TRUE(limiter.delete_entity(id));
  }
  ASSERT_TRUE(limiter.set_limits(level, {{"rpm", "10/min"}}));
  const auto decision = limiter.acquire(id, "r", {{"rpm", 1}});
  ASSERT_TRUE(decision) << decision.error().message;
  EXPECT_TRUE(decision->admitted());
}

/// Listings leave out what cannot be used.
inline void list_everything(Limiter& limiter) {
  const auto limits = limiter.list_limits();
  EXPECT_TRUE(limits) << limits.error().message;
  const auto entities = limiter.entities();
  EXPECT_TRUE(entities) << entities.error().message;
  const auto events = limiter.audit();
  EXPECT_TRUE(events) << events.error().message;
}

/// The members of a plan as the limiter lists them: "a b".
inline std::string members_of(Limiter& limiter, const std::string& plan) {
  const auto page = limiter.members(plan);
  EXPECT_TRUE(page) << page.error().message;
  std::string names;
  for (const std::string& id : page->items) names += (names.empty() ? "" : " ") + id;
  return names;
}

/// The children of an entity as the limiter lists them: "a b".
inline std::string children_of(Limiter& limiter, const std::string& parent) {
  const auto page = limiter.children(parent);
  EXPECT_TRUE(page) << page.error().message;
  std::string names;
  for (const std::string& id : page->items) names += (names.empty() ? "" : " ") + id;
  return names;
}

/// Children of "old" whose records another program damages: parents have the right children once those are
/// put or deleted, and an old parent can be deleted.
inline void check_children_of_damaged(Limiter& limiter,
                                      const std::function<void(const std::string&)>& damage) {
  for (const char* const id : {"old", "new"}) ASSERT_TRUE(limiter.put_entity({.id = id}));
  for (const char* const id : {"again", "away", "erased", "moved"})
    ASSERT_TRUE(limiter.put_entity({.id = id, .parent = "old"}));
  for (const char* const id : {"again", "away", "erased", "moved"}) damage(id);
  EXPECT_EQ(limiter.delete_entity("old").error().code, ErrorCode::conflict) << "they may be its children";
  ASSERT_TRUE(limiter.put_entity({.id = "again", .parent = "old"}));
  ASSERT_TRUE(limiter.put_entity({.id = "away"}));
  ASSERT_TRUE(limiter.delete_entity("erased"));
  ASSERT_TRUE(limiter.put_entity({.id = "moved", .parent = "new"}));
  EXPECT_EQ(children_of(limiter, "old"), "again");
  EXPECT_EQ(children_of(limiter, "new"), "moved");
  EXPECT_EQ(limiter.delete_entity("old").error().code, ErrorCode::conflict) << "again is its child";
  ASSERT_TRUE(limiter.put_entity({.id = "again"}));
  const auto deleted = limiter.delete_entity("old");
  EXPECT_TRUE(deleted) << deleted.error().message;
  ASSERT_TRUE(limiter.put_entity({.id = "old"}));
  EXPECT_EQ(children_of(limiter, "old"), "");
}

/// Entities with the plan "gold" whose records another program damages, so that they cannot be used, or
/// changes, so that they name the plan "lead": the plan has the right members once they are put or deleted.
inline void check_members_of_damaged(Limiter& limiter, const std::function<void(const std::string&)>& damage,
                                     const std::function<void(const std::string&)>& change) {
  for (const char* const name : {"gold", "lead"})
    ASSERT_TRUE(limiter.put_plan({.name = name, .limits = {{{"rpm", *Limit::parse("100/min")}}}}));
  for (const char* const id : {"again", "away", "erased", "moved", "renamed"})
    ASSERT_TRUE(limiter.put_entity({.id = id, .plan = "gold"}));
  for (const char* const id : {"again", "away", "erased", "moved"}) damage(id);
  EXPECT_EQ(limiter.delete_plan("gold").error().code, ErrorCode::conflict);
  ASSERT_TRUE(limiter.put_entity({.id = "again", .plan = "gold"}));
  ASSERT_TRUE(limiter.put_entity({.id = "away"}));
  ASSERT_TRUE(limiter.delete_entity("erased"));
  ASSERT_TRUE(limiter.put_entity({.id = "moved", .plan = "lead"}));
  EXPECT_EQ(members_of(limiter, "gold"), "again renamed");
  EXPECT_EQ(members_of(limiter, "lead"), "moved");
  EXPECT_EQ(limiter.effective_limits("again", "r")->source, Source::plan);
  change("renamed");
  EXPECT_EQ(limiter.delete_plan("gold").error().code, ErrorCode::conflict) << "again is a member";
  ASSERT_TRUE(limiter.put_entity({.id = "again"}));
  const auto deleted = limiter.delete_plan("gold");
  EXPECT_TRUE(deleted) << deleted.error().message;
  ASSERT_TRUE(limiter.put_plan({.name = "gold", .limits = {{{"rpm", *Limit::parse("100/min")}}}}));
  EXPECT_EQ(members_of(limiter, "gold"), "");
}

}  // namespace weir::tests
