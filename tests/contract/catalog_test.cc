#include <algorithm>
#include <set>

#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Catalog);

std::string shown(const StoredLimits& item) {
  std::string text = name_of(item.level.kind());
  if (!item.level.entity().empty()) text += " " + item.level.entity();
  if (!item.level.resource().empty()) text += " " + item.level.resource();
  return text + " " + name_of(item.owner);
}

std::vector<std::string> shown(const Result<Page<StoredLimits>>& page) {
  std::vector<std::string> texts;
  if (!page) return {page.error().message};
  for (const StoredLimits& item : page->items) texts.push_back(shown(item));
  std::sort(texts.begin(), texts.end());
  return texts;
}

using Texts = std::vector<std::string>;

TEST_P(Catalog, AListingShowsOwnersAndFiltersByThem) {
  set_system({{"rpm", "10/min"}});
  set(Level::resource("gpt-4"), {{"rpm", "20/min"}});
  set(Level::entity("key", "gpt-4"), {{"rpm", "30/min"}});
  set(Level::entity_default("key"), {{"rpm", "40/min"}}, {.owner = Owner::sync, .expires_in = 30s});
  set(Level::entity("gone", "gpt-4"), {{"rpm", "30/min"}});
  ASSERT_TRUE(limiter.delete_limits(Level::entity("gone", "gpt-4")));
  EXPECT_EQ(shown(limiter.list_limits()), (Texts{"entity key gpt-4 operator", "entity_default key sync",
                                                 "resource gpt-4 operator", "system operator"}));
  EXPECT_EQ(shown(limiter.list_limits({.owner = Owner::sync})), Texts{"entity_default key sync"});
  EXPECT_EQ(shown(limiter.list_limits({.level = Source::entity})), Texts{"entity key gpt-4 operator"});
  EXPECT_EQ(limiter.list_limits({.owner = Owner::sync})->items[0].expires_at, now() + 30'000);
  advance(30s);
  EXPECT_EQ(shown(limiter.list_limits({.owner = Owner::sync})), Texts{})
      << "an expired record is absent at once";
}

TEST_P(Catalog, AListingComesInPages) {
  for (int i = 0; i < 25; ++i) set(Level::entity_default("key-" + std::to_string(i)), {{"rpm", "1/min"}});
  std::set<std::string> seen;
  Paging paging{.cursor = "", .limit = 10};
  int pages = 0;
  do {
    auto page = limiter.list_limits({}, paging);
    ASSERT_TRUE(page);
    EXPECT_LE(page->items.size(), 10U);
    for (const StoredLimits& item : page->items) EXPECT_TRUE(seen.insert(item.level.entity()).second);
    paging.cursor = page->next;
    ++pages;
  } while (!paging.cursor.empty());
  EXPECT_EQ(seen.size(), 25U);
  EXPECT_EQ(pages, 3);
  EXPECT_ERROR("invalid-argument", "page", limiter.list_limits({}, {.limit = 0}));
  EXPECT_ERROR("invalid-argument", "page", limiter.list_limits({}, {.limit = 1001}));
}

TEST_P(Catalog, ChildrenComeInPages) {
  for (int i = 0; i < 25; ++i) put("key-" + std::to_string(i), "project");
  auto page = limiter.children("project", {.limit = 20});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.size(), 20U);
  page = limiter.children("project", {.cursor = page->next, .limit = 20});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.size(), 5U);
  EXPECT_TRUE(page->next.empty());
}

TEST_P(Catalog, ChangesHappenTogetherOrNotAtAll) {
  set(Level::entity("owned", "gpt-4"), {{"rpm", "1/min"}});
  const std::vector<NamedLimit> limits = *parse_limits({{"rpm", "5/min"}});
  std::vector<CatalogChange> changes = {
      SetLimits{Level::system(), limits}, PutEntity{{.id = "key", .parent = "project", .cascade = true}},
      SetLimits{Level::entity("key", "gpt-4"), limits},
      SetLimits{Level::entity("owned", "gpt-4"), limits, {.owner = Owner::sync, .expires_in = 30s}}};
  EXPECT_ERROR("operator-owned", "change 4: an operator owns the limits of entity \"owned\"",
               limiter.change(changes));
  EXPECT_ERROR("not-found", "system", limiter.limits(Level::system()));
  EXPECT_ERROR("not-found", "key", limiter.entity("key"));
  EXPECT_TRUE(limiter.audit("key")->items.empty());
  changes.pop_back();
  ASSERT_TRUE(limiter.change(changes));
  EXPECT_TRUE(limiter.limits(Level::system()));
  EXPECT_EQ(limiter.entity("key")->parent, "project");
  EXPECT_EQ(limiter.children("project")->items, Texts{"key"});
}

TEST_P(Catalog, LaterChangesSeeEarlierOnesOfTheSameStep) {
  const std::vector<CatalogChange> circle = {PutEntity{{.id = "a", .parent = "b", .cascade = true}},
                                             PutEntity{{.id = "b", .parent = "a", .cascade = true}}};
  EXPECT_ERROR("conflict", "\"b\"", limiter.change(circle));
  EXPECT_ERROR("not-found", "\"a\"", limiter.entity("a"));
  const std::vector<CatalogChange> replaced = {PutEntity{{.id = "a", .parent = "b", .cascade = true}},
                                               DeleteEntity{"a"},
                                               PutEntity{{.id = "b", .parent = "a", .cascade = true}}};
  EXPECT_TRUE(limiter.change(replaced));
  EXPECT_EQ(limiter.children("a")->items, Texts{"b"});
}

TEST_P(Catalog, AnOperatorWhoTakesLimitsFromSyncIsTold) {
  const Level level = Level::entity("key", "gpt-4");
  set(level, {{"rpm", "1/min"}}, {.owner = Owner::sync, .expires_in = 30s});
  auto taken = limiter.set_limits(level, {{"rpm", "2/min"}});
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->taken_from_sync);
  auto again = limiter.set_limits(level, {{"rpm", "3/min"}});
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->taken_from_sync);
}

TEST_P(Catalog, TheAuditSaysWhoChangedWhatAndWhen) {
  auto other = store_->open({.principal = "alice"});
  ASSERT_TRUE(other);
  const Time began = now();
  ASSERT_TRUE(other->set_limits(Level::entity("key", "gpt-4"), {{"rpm", "1/min"}}));
  advance(1s);
  ASSERT_TRUE(other->set_limits(Level::entity("key", "gpt-4"), {{"rpm", "2/min"}}));
  ASSERT_TRUE(other->put_entity({.id = "key", .parent = "project", .cascade = true, .name = "A \"key\""}));
  ASSERT_TRUE(other->set_limits(Level::system(), {{"rpm", "9/min"}}));
  ASSERT_TRUE(other->set_limits(Level::resource("gpt-4"), {{"rpm", "8/min"}}));
  ASSERT_TRUE(other->delete_entity("key"));
  auto events = other->audit("key");
  ASSERT_TRUE(events);
  ASSERT_EQ(events->items.size(), 5U);
  Texts actions;
  for (const AuditEvent& event : events->items) {
    actions.push_back(event.action);
    EXPECT_EQ(event.principal, "alice");
    EXPECT_EQ(event.subject, "key");
  }
  EXPECT_EQ(actions, (Texts{"entity.delete", "limits.delete", "entity.put", "limits.set", "limits.set"}));
  const AuditEvent& first = events->items[4];
  EXPECT_EQ(first.at, began);
  EXPECT_EQ(first.resource, "gpt-4");
  EXPECT_EQ(first.before, "");
  EXPECT_EQ(
      first.after,
      R"({"limits":{"rpm":{"capacity":1,"burst":1,"refill_amount":1,"refill_period_ms":60000}},"owner":"operator"})");
  EXPECT_EQ(events->items[3].before, first.after);
  EXPECT_EQ(events->items[2].after,
            R"({"parent":"project","cascade":true,"name":"A \"key\"","metadata":{}})");
  EXPECT_EQ(events->items[0].after, "");
  EXPECT_EQ(other->audit("$SYSTEM")->items.size(), 1U);
  EXPECT_EQ(other->audit("$RESOURCE:gpt-4")->items.size(), 1U);
  EXPECT_EQ(other->audit()->items.size(), 7U);
}

TEST_P(Catalog, TheAuditComesInPagesNewestFirst) {
  for (int i = 0; i < 5; ++i) set(Level::system(), {{"rpm", "1/min"}});
  auto page = limiter.audit({}, {.limit = 3});
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 3U);
  auto rest = limiter.audit({}, {.cursor = page->next, .limit = 3});
  ASSERT_TRUE(rest);
  ASSERT_EQ(rest->items.size(), 2U);
  EXPECT_TRUE(rest->next.empty());
  EXPECT_GT(page->items[0].id, page->items[2].id);
  EXPECT_GT(page->items[2].id, rest->items[0].id);
}

TEST_P(Catalog, TheAuditLosesNothingWhenTheClockGoesBack) {
  set(Level::system(), {{"rpm", "1/min"}});
  advance(-1h);
  set(Level::system(), {{"rpm", "2/min"}});
  set(Level::system(), {{"rpm", "3/min"}});
  auto page = limiter.audit({}, {.limit = 2});
  ASSERT_TRUE(page);
  auto rest = limiter.audit({}, {.cursor = page->next, .limit = 2});
  ASSERT_TRUE(rest);
  EXPECT_EQ(page->items.size() + rest->items.size(), 3U);
}

TEST_P(Catalog, MovingAwayAndBackInOneStepMovesNothing) {
  set_system({{"rpm", "10/min"}});
  put("key", "project");
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  EXPECT_TRUE(limiter.change({PutEntity{{.id = "key", .parent = "other", .cascade = true}},
                              PutEntity{{.id = "key", .parent = "project", .cascade = true}}}));
  EXPECT_EQ(limiter.children("project")->items, Texts{"key"});
  EXPECT_TRUE(limiter.children("other")->items.empty());
}

TEST_P(Catalog, ARefusedChangeIsNotInTheAudit) {
  EXPECT_FALSE(limiter.delete_limits(Level::system()));
  EXPECT_FALSE(limiter.put_entity({.id = "a", .parent = "a", .cascade = true}));
  EXPECT_TRUE(limiter.audit()->items.empty());
}

TEST_P(Catalog, EntitiesAreListedByIdInPages) {
  put("b", "a");
  put("c", "a");
  ASSERT_TRUE(limiter.put_entity({.id = "a", .name = "A"}));
  const auto first = limiter.entities({.limit = 2});
  ASSERT_EQ(first->items.size(), 2U);
  EXPECT_EQ(first->items[0].id, "a");
  EXPECT_EQ(first->items[0].name, "A");
  EXPECT_EQ(first->items[1].parent, "a");
  const auto rest = limiter.entities({.cursor = first->next, .limit = 2});
  ASSERT_EQ(rest->items.size(), 1U);
  EXPECT_EQ(rest->items[0].id, "c");
  EXPECT_EQ(rest->next, "");
}

TEST_P(Catalog, TheBucketsOfAnEntityAreListedByResource) {
  set_system({{"rpm", "10/min:20"}, {"tpm", "100/day"}});
  for (const char* const one : {"b", "a", "c"}) {
    resource = one;
    ASSERT_TRUE(admits("key", {{"rpm", 2}, {"tpm", 30}}));
  }
  advance(100ms);
  set_system({{"tpm", "100/day"}});
  resource = "a";
  ASSERT_TRUE(admits("key", {{"tpm", 5}}));
  store_->between();
  const auto first = limiter.buckets("key", {.limit = 2});
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(first->items.size(), 2U);
  const Bucket& bucket = first->items[0];
  EXPECT_EQ(bucket.entity, "key");
  EXPECT_EQ(bucket.resource, "a");
  EXPECT_EQ(bucket.refilled_at, now());
  EXPECT_TRUE(bucket.expires_at);
  ASSERT_EQ(bucket.limits.size(), 2U);
  EXPECT_EQ(bucket.limits[0].name, "rpm");
  EXPECT_FALSE(bucket.limits[0].in_force) << "it left the set before it was full again";
  EXPECT_EQ(bucket.limits[0].limit.burst(), Amount(20));
  EXPECT_EQ(bucket.limits[1].tokens, Amount(65));
  EXPECT_EQ(bucket.limits[1].consumed, Amount(35));
  EXPECT_TRUE(bucket.limits[1].in_force);
  const auto rest = limiter.buckets("key", {.cursor = first->next, .limit = 2});
  ASSERT_EQ(rest->items.size(), 1U);
  EXPECT_EQ(rest->items[0].resource, "c");
  EXPECT_EQ(rest->next, "");
  EXPECT_TRUE(limiter.buckets("stranger")->items.empty());
}

TEST_P(Catalog, ABucketThatHasExpiredIsNotListed) {
  set_system({{"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  EXPECT_EQ(limiter.buckets("key")->items.size(), 1U);
  advance(8min);
  EXPECT_TRUE(limiter.buckets("key")->items.empty());
}

TEST_P(Catalog, TheSystemSaysWhatToDoWhileTheStoreIsAway) {
  set_system({{"rpm", "10/min"}}, {.on_unavailable = OnUnavailable::allow});
  EXPECT_EQ(limiter.limits(Level::system())->on_unavailable, OnUnavailable::allow);
  set_system({{"rpm", "20/min"}});
  EXPECT_EQ(limiter.limits(Level::system())->on_unavailable, OnUnavailable::allow)
      << "not mentioned, so kept";
  EXPECT_ERROR(
      "invalid-argument", "on_unavailable",
      limiter.set_limits(Level::resource("r"), {{"rpm", "1"}}, {.on_unavailable = OnUnavailable::deny}));
}

TEST_P(Catalog, WhatALimitsFileMadeIsMarked) {
  set(Level::resource("gpt-4"), {{"rpm", "10/min"}}, {.from_file = true});
  EXPECT_TRUE(limiter.limits(Level::resource("gpt-4"))->from_file);
  set(Level::resource("gpt-4"), {{"rpm", "20/min"}});
  EXPECT_FALSE(limiter.limits(Level::resource("gpt-4"))->from_file) << "somebody has taken it over by hand";
  ASSERT_TRUE(limiter.put_entity({.id = "key", .from_file = true}));
  EXPECT_TRUE(limiter.entity("key")->from_file);
}

TEST_P(Catalog, TheAuditIsKeptAsLongAsWasAskedFor) {
  auto keeper = store_->open({.keep_audit_for = 1h});
  ASSERT_TRUE(keeper) << keeper.error().message;
  ASSERT_TRUE(keeper->set_limits(Level::system(), {{"rpm", "10/min"}}));
  advance(30min);
  ASSERT_TRUE(keeper->set_limits(Level::system(), {{"rpm", "20/min"}}));
  EXPECT_EQ(keeper->audit()->items.size(), 2U);
  advance(30min);
  EXPECT_EQ(keeper->audit()->items.size(), 1U);
  EXPECT_ERROR("invalid-argument", "keep_audit_for", store_->open({.keep_audit_for = 0ms}));
}

TEST_P(Catalog, ChangesTellHowFarTheyAre) {
  std::vector<CatalogChange> changes;
  for (int i = 0; i < 2500; ++i)
    changes.emplace_back(SetLimits{Level::resource("r" + std::to_string(i)), {{"rpm", *Limit::parse("10")}}});
  std::size_t last = 0;
  std::size_t told = 0;
  const auto changed = limiter.change(changes, {.progress = [&](std::size_t done, std::size_t of) {
                                        EXPECT_GE(done, last);
                                        EXPECT_EQ(of, 5000U);
                                        last = done;
                                        ++told;
                                      }});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(last, 5000U);
  EXPECT_GT(told, 2U);
}

}  // namespace
}  // namespace weir::contract
