#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(BadInput);

const std::string too_long_entity(257, 'e');
const std::string too_long_resource(129, 'r');
const std::string too_long_limit(65, 'l');

TEST_P(BadInput, AnAcquireThatCannotBeDoneNamesTheCulpritAndChangesNothing) {
  EXPECT_ERROR("no-limits", "gpt-4", limiter.acquire("key", resource, {{"rpm", 1}}));
  set_system({{"rpm", "10/min"}, {"tpm", "100/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  const auto refuse = [&](const char* code, const char* culprit, std::string_view entity, std::string_view on,
                          std::initializer_list<Charge> consume) {
    EXPECT_ERROR(code, culprit, limiter.acquire(entity, on, consume));
    EXPECT_ERROR(code, culprit, limiter.available(entity, on, consume));
  };
  refuse("unknown-limit", "rpd", "key", resource, {{"rpm", 1}, {"rpd", 1}});
  refuse("unknown-limit", "rpd", "new", resource, {{"rpm", 1}, {"rpd", 1}});
  refuse("invalid-argument", "rpm", "key", resource, {{"tpm", 1}, {"rpm", -1}});
  refuse("invalid-argument", "rpm", "key", resource, {{"tpm", 1}, {"rpm", Amount::milli(-1)}});
  refuse("invalid-argument", "rpm", "key", resource, {{"tpm", 1}, {"rpm", 1'000'000'000'000'000'000}});
  refuse("invalid-argument", "rpm", "key", resource, {{"rpm", Amount::milli(Amount::max_millitokens + 1)}});
  refuse("invalid-argument", "\"rpm\" is named twice", "key", resource, {{"rpm", 1}, {"rpm", 1}});
  refuse("invalid-argument", "twice", "new", resource, {{"rpm", 1}, {"rpm", 1}});
  refuse("invalid-argument", "limit name", "key", resource, {{"1rpm", 1}});
  refuse("invalid-argument", "limit name", "key", resource, {{"", 1}});
  refuse("invalid-argument", "limit name", "key", resource, {{too_long_limit, 1}});
  refuse("invalid-argument", "a key", "a key", resource, {{"rpm", 1}});
  refuse("invalid-argument", "entity", "", resource, {{"rpm", 1}});
  refuse("invalid-argument", "entity", too_long_entity, resource, {{"rpm", 1}});
  refuse("invalid-argument", "gpt#4", "key", "gpt#4", {{"rpm", 1}});
  refuse("invalid-argument", "_default_", "key", "_default_", {{"rpm", 1}});
  refuse("invalid-argument", "resource", "key", too_long_resource, {{"rpm", 1}});
  EXPECT_ERROR("invalid-argument", "names no limit", limiter.acquire("key", resource, {}));
  EXPECT_EQ(remaining("key", "rpm"), "9");
  EXPECT_EQ(remaining("key", "tpm"), "100");
  EXPECT_EQ(remaining("new", "rpm"), "10");
}

TEST_P(BadInput, TheLongestNamesAreFine) {
  const std::string name(64, 'l');
  resource = std::string(128, 'r');
  set_system({{name, "10/min"}});
  const std::string entity(256, 'e');
  EXPECT_TRUE(admits(entity, {{name, 1}}));
  EXPECT_TRUE(admits("_-.:@/+=", {{name, 1}}));
}

TEST_P(BadInput, SixtyFiveLimitsInOneRequestAreTooMany) {
  set_system({{"rpm", "10/min"}});
  const std::vector<Charge> consume(65, Charge{"rpm", 1});
  EXPECT_ERROR("invalid-argument", "64", limiter.acquire("key", resource, consume));
}

TEST_P(BadInput, LimitsThatCannotBeSetNameTheCulpritAndChangeNothing) {
  set_system({{"rpm", "10/min"}});
  const auto refuse = [&](const char* culprit, const Level& level, const std::vector<LimitText>& limits,
                          const SetLimitsOptions& options = {}) {
    EXPECT_ERROR("invalid-argument", culprit, limiter.set_limits(level, limits, options));
  };
  refuse("no limits", Level::system(), {});
  refuse("rpm", Level::system(), {{"rpm", "ten"}});
  refuse("rpm", Level::system(), {{"rpm", "-1/min"}});
  refuse("fortnight", Level::system(), {{"rpm", "10/fortnight"}});
  refuse("burst", Level::system(), {{"rpm", "10/min:5"}});
  refuse("twice", Level::system(), {{"rpm", "10"}, {"rpm", "10"}});
  refuse("r p m", Level::system(), {{"r p m", "10"}});
  refuse("exactly", Level::system(), {{"rpm", "4503599627.369/day"}});
  refuse("a key", Level::entity("a key", "gpt-4"), {{"rpm", "10"}});
  refuse("_default_", Level::entity("key", "_default_"), {{"rpm", "10"}});
  refuse("resource", Level::resource(""), {{"rpm", "10"}});
  refuse("sync", Level::system(), {{"rpm", "10"}}, {.owner = Owner::sync, .expires_in = 30s});
  refuse("expiry", Level::entity_default("key"), {{"rpm", "10"}}, {.owner = Owner::sync});
  refuse("expire", Level::entity_default("key"), {{"rpm", "10"}}, {.expires_in = 30s});
  refuse("future", Level::entity_default("key"), {{"rpm", "10"}}, {.owner = Owner::sync, .expires_in = 0s});
  refuse("multiplier", Level::resource("gpt-4"), {{"rpm", "10"}}, {.bucket_ttl_refill_multiplier = 2});
  refuse("multiplier", Level::system(), {{"rpm", "10"}}, {.bucket_ttl_refill_multiplier = 0});
  refuse("usage", Level::entity("key", "gpt-4"), {{"rpm", "10"}}, {.usage = false});
  refuse("usage", Level::entity_default("key"), {{"rpm", "10"}}, {.usage = true});
  std::vector<NamedLimit> seventeen;
  for (int i = 0; i < 17; ++i) seventeen.push_back({"l" + std::to_string(i), *Limit::parse("10")});
  EXPECT_ERROR("invalid-argument", "16", limiter.set_limits(Level::system(), seventeen));
  EXPECT_ERROR("invalid-argument", "a key", limiter.limits(Level::entity_default("a key")));
  EXPECT_ERROR("invalid-argument", "a key", limiter.delete_limits(Level::entity_default("a key")));
  EXPECT_ERROR("invalid-argument", "a key", limiter.effective_limits("a key", resource));
  EXPECT_EQ(limiter.limits(Level::system())->limits[0].limit.capacity(), Amount(10));
}

TEST_P(BadInput, EntitiesThatCannotBePutNameTheCulprit) {
  EXPECT_ERROR("invalid-argument", "a key", limiter.put_entity({.id = "a key"}));
  EXPECT_ERROR("invalid-argument", "a parent", limiter.put_entity({.id = "key", .parent = "a parent"}));
  EXPECT_ERROR("invalid-argument", "cascade", limiter.put_entity({.id = "key", .cascade = true}));
  EXPECT_ERROR("invalid-argument", "a key", limiter.entity("a key"));
  EXPECT_ERROR("invalid-argument", "a key", limiter.delete_entity("a key"));
  EXPECT_ERROR("invalid-argument", "a key", limiter.children("a key"));
  EXPECT_ERROR("invalid-argument", "UTF-8", limiter.put_entity({.id = "key", .name = "a\xff"}));
  EXPECT_ERROR("invalid-argument", "UTF-8",
               limiter.put_entity({.id = "key", .metadata = {{"a", "\xc0\x80"}}}));
  EXPECT_ERROR("not-found", "key", limiter.entity("key"));
}

TEST_P(BadInput, OptionsAreChecked) {
  EXPECT_ERROR("invalid-argument", "Upper", store_->open({.name_space = "Upper"}));
  EXPECT_ERROR("invalid-argument", "namespace", store_->open({.name_space = ""}));
  EXPECT_ERROR("invalid-argument", "principal", store_->open({.principal = ""}));
  EXPECT_ERROR("invalid-argument", "lease_deadline", store_->open({.lease_deadline = 0ms}));
  EXPECT_ERROR("invalid-argument", "cassandra", Limiter::open("cassandra://x"));
}

TEST_P(BadInput, TooManyDifferentLimitsInOneBucketAreRefusedNotForgotten) {
  for (int i = 0; i < 40; ++i) {
    const std::string name = "limit-" + std::to_string(i);
    const auto limits = RequestLimits::make({{name, "10/day"}});
    auto decision = limiter.acquire("key", resource, {{name, 10}}, {.limits = &*limits});
    if (i < 32) {
      ASSERT_TRUE(decision && decision->admitted()) << i;
    } else {
      EXPECT_ERROR("conflict", "key", decision);
    }
  }
}

}  // namespace
}  // namespace weir::contract
