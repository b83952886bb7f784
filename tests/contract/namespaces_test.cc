#include <algorithm>

#include "contract/contract.h"

namespace weir::contract {
namespace {

using Names = std::vector<std::string>;

class Namespaces : public Contract {
 public:
  Names names(Limiter& of) {
    store_->between();
    const auto found = of.namespaces();
    if (!found) return {found.error().message};
    Names names;
    for (const Namespace& one : *found) names.push_back(one.name);
    return names;
  }
  Namespace only_one() {
    const auto found = limiter.namespaces();
    EXPECT_TRUE(found && found->size() == 1) << error_of(found);
    return found && !found->empty() ? found->front() : Namespace();
  }
  Namespace purge(std::string_view name, std::chrono::milliseconds keep_for) {
    store_->between();
    auto purged = limiter.purge_namespace(name, keep_for);
    EXPECT_TRUE(purged) << error_of(purged);
    return purged ? *purged : Namespace();
  }
  /// "admitted", "refused", or why it is blocked.
  std::string answer(Limiter& of, std::string_view entity,
                     std::initializer_list<Charge> consume = {{"rpm", 1}}) {
    store_->between();
    const auto decision = of.acquire(entity, resource, consume);
    if (!decision) return error_of(decision);
    if (decision->block() != nullptr) return decision->block()->reason;
    return decision->admitted() ? "admitted" : "refused";
  }
  std::string answer(std::string_view entity, std::initializer_list<Charge> consume = {{"rpm", 1}}) {
    return answer(limiter, entity, consume);
  }
  /// On memory every limiter has a store of its own.
  static bool has_one_only() { return GetParam().name == "memory"; }

  const std::string purged_ = "namespace default was purged";
};
INSTANTIATE_TEST_SUITE_P(Stores, Namespaces, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(Namespaces, ThatHoldDataAreListed) {
  EXPECT_EQ(names(limiter), Names{});
  set_system({{"rpm", "10/min"}});
  EXPECT_EQ(names(limiter), Names{"default"});
  if (has_one_only()) return;
  auto team = store_->open({.name_space = "team-2"});
  auto looks = store_->open({.name_space = "looks"});
  auto buckets = store_->open({.name_space = "buckets"});
  ASSERT_TRUE(team && looks && buckets);
  ASSERT_TRUE(team->put_entity({.id = "key/1"}));
  EXPECT_FALSE(looks->entity("nobody"));
  const auto limits = *RequestLimits::make({{"rpm", "5/min"}});
  AcquireOptions options;
  options.limits = &limits;
  ASSERT_TRUE(buckets->acquire("key", "gpt-4", {{"rpm", 1}}, options));
  EXPECT_EQ(names(limiter), (Names{"buckets", "default", "team-2"}));
  EXPECT_EQ(names(*looks), (Names{"buckets", "default", "team-2"}));
}

TEST_P(Namespaces, ThatWereCreatedAreListedBeforeTheyAreUsed) {
  const auto created = limiter.create_namespace("default");
  ASSERT_TRUE(created) << error_of(created);
  EXPECT_EQ(created->created_at, now());
  advance(1s);
  EXPECT_EQ(error_of(limiter.create_namespace("default")), "no error") << "a second time changes nothing";
  EXPECT_EQ(only_one(), *created);
  EXPECT_ERROR("no-limits", "", limiter.acquire("key", resource, {{"rpm", 1}}));
  set_system({{"rpm", "10/min"}});
  EXPECT_EQ(answer("key"), "admitted");
  ASSERT_TRUE(limiter.delete_limits(Level::system()));
  EXPECT_EQ(only_one(), *created) << "a change of limits keeps the state";
  EXPECT_ERROR("invalid-argument", "namespace", limiter.create_namespace("No"));
}

TEST_P(Namespaces, ThatWerePurgedRefuseEverythingUntilTheyAreRestored) {
  set_system({{"rpm", "10/min"}});
  put("key", "project");
  put("project", "company");
  AcquireOptions keyed;
  keyed.idempotency_key = "call-1";
  Decision first = acquire("key", {{"rpm", 4}}, keyed);
  ASSERT_TRUE(first.admitted());
  const std::string lease = *first.lease().id();

  const Namespace purged = purge("default", 24h);
  EXPECT_EQ(purged.purged_at, now());
  EXPECT_EQ(purged.kept_until, now() + Time{24} * 3'600'000);
  EXPECT_FALSE(purged.erased);
  EXPECT_EQ(only_one(), purged);
  EXPECT_EQ(answer("key"), purged_);
  EXPECT_EQ(answer("key", {{"rpm", 0}}), purged_);
  EXPECT_EQ(answer("new-key"), purged_);
  EXPECT_EQ(answer("key", {{"unknown", 1}}), purged_) << "whatever it names";
  if (!has_one_only()) {
    auto other = store_->open({});
    ASSERT_TRUE(other);
    EXPECT_EQ(answer(*other, "key"), purged_) << "from another process, too";
  }
  EXPECT_TRUE(acquire("key", {{"rpm", 4}}, keyed).admitted()) << "a repetition gets its lease";
  EXPECT_TRUE(limiter.settle(lease, {{"rpm", 1}})) << "leases can be settled";
  EXPECT_ERROR("conflict", "restore", limiter.create_namespace("default"));

  const auto restored = limiter.restore_namespace("default");
  ASSERT_TRUE(restored) << error_of(restored);
  EXPECT_FALSE(restored->purged_at);
  for (const char* const entity : {"key", "project", "company"})
    EXPECT_EQ(remaining(entity, "rpm"), "9") << entity;
  EXPECT_EQ(answer("key"), "admitted");
  EXPECT_ERROR("not-found", "was not purged", limiter.restore_namespace("default"));
}

TEST_P(Namespaces, StayPurgedWhenTheirLimitsChange) {
  set_system({{"rpm", "10/min"}});
  ASSERT_EQ(answer("key"), "admitted");
  purge("default", 24h);
  set_system({{"rpm", "20/min"}});
  EXPECT_EQ(answer("key"), purged_);
  set(Level::entity("key", resource), {{"rpm", "30/min"}});
  EXPECT_EQ(answer("key"), purged_);
  ASSERT_TRUE(limiter.delete_limits(Level::system()));
  EXPECT_EQ(answer("key"), purged_);
  ASSERT_TRUE(limiter.restore_namespace("default"));
  EXPECT_EQ(answer("key"), "admitted");
}

TEST_P(Namespaces, AreDeletedByAPurgeWhenTheirTimeIsOver) {
  set_system({{"rpm", "10/min"}});
  set(Level::entity("key", resource), {{"rpm", "5/min"}});
  put("key", "project");
  ASSERT_TRUE(limiter.put_plan({.name = "gold", .limits = {.limits = {{"rpm", *Limit::parse("7/min")}}}}));
  ASSERT_EQ(answer("key", {{"rpm", 3}}), "admitted");
  const Namespace purged = purge("default", 1h);
  advance(59min);
  EXPECT_EQ(purge("default", 0s), purged) << "sent again, it changes nothing";
  EXPECT_EQ(answer("key"), purged_);
  advance(1min);
  EXPECT_ERROR("conflict", "is over", limiter.restore_namespace("default"));
  EXPECT_EQ(answer("key"), purged_) << "until it is deleted";
  store_->collect_usage();
  EXPECT_TRUE(purge("default", 0s).erased);

  EXPECT_EQ(names(limiter), Names{});
  EXPECT_ERROR("not-found", "holds nothing", limiter.purge_namespace("default", 0s));
  EXPECT_ERROR("no-limits", "", limiter.acquire("key", resource, {{"rpm", 1}}));
  EXPECT_ERROR("not-found", "key", limiter.entity("key"));
  EXPECT_ERROR("not-found", "gold", limiter.plan("gold"));
  store_->collect_usage();
  const auto used = limiter.usage({.entity = "key", .from = 0, .to = now() + 3'600'000});
  EXPECT_TRUE(used && used->items.empty()) << error_of(used);
  const auto events = limiter.audit();
  ASSERT_TRUE(events) << error_of(events);
  ASSERT_EQ(events->items.size(), 1U);
  EXPECT_EQ(events->items[0].action, "namespace.erase");
  EXPECT_EQ(events->items[0].after, R"({"namespace":"default"})");

  set_system({{"rpm", "10/min"}});
  EXPECT_EQ(answer("key"), "admitted") << "the name can be used again";
  EXPECT_EQ(remaining("key", "rpm"), "9");
  EXPECT_EQ(names(limiter), Names{"default"});
}

TEST_P(Namespaces, AreDeletedAtOnceIfNothingIsKept) {
  set_system({{"rpm", "10/min"}});
  ASSERT_EQ(answer("key", {{"rpm", 3}}), "admitted");
  const Namespace purged = purge("default", 0s);
  EXPECT_TRUE(purged.erased);
  EXPECT_EQ(names(limiter), Names{});
  EXPECT_ERROR("invalid-argument", "366 days", limiter.purge_namespace("default", 400 * 24h));
  EXPECT_ERROR("not-found", "holds nothing", limiter.purge_namespace("nobody", 0s));
  EXPECT_ERROR("invalid-argument", "namespace", limiter.purge_namespace("No", 0s));
}

TEST_P(Namespaces, AreNotTouchedByThePurgeOfAnother) {
  if (has_one_only()) return;
  std::vector<Limiter> all;
  for (const char* const name : {"team", "team-2", "te"}) {
    all.push_back(*store_->open({.name_space = name}));
    ASSERT_TRUE(all.back().set_limits(Level::system(), {{"rpm", "10/min"}}));
    ASSERT_TRUE(all.back().put_entity({.id = "key", .parent = "project", .cascade = true}));
    ASSERT_EQ(answer(all.back(), "key", {{"rpm", 2}}), "admitted");
  }
  set_system({{"rpm", "10/min"}});
  ASSERT_EQ(answer("key", {{"rpm", 2}}), "admitted");
  EXPECT_TRUE(purge("team", 0s).erased);
  EXPECT_EQ(names(limiter), (Names{"default", "te", "team-2"}));
  for (Limiter* const of : {&all[1], &all[2]}) {
    const auto decision = of->acquire("key", resource, {{"rpm", 1}});
    ASSERT_TRUE(decision) << error_of(decision);
    ASSERT_EQ(decision->limits().size(), 2U);
    for (const LimitStatus status : decision->limits()) EXPECT_EQ(status.remaining, Amount(7));
  }
  EXPECT_EQ(remaining("key", "rpm"), "8");
  const auto events = limiter.audit("$SYSTEM");
  ASSERT_TRUE(events) << error_of(events);
  const bool told = std::any_of(events->items.begin(), events->items.end(), [](const AuditEvent& event) {
    return event.action == "namespace.erase" && event.after == R"({"namespace":"team"})";
  });
  EXPECT_TRUE(told) << "the audit of default has it";
}

}  // namespace
}  // namespace weir::contract
