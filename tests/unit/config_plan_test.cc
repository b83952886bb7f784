#include <gtest/gtest.h>

#include "config/plan.h"

namespace weir::config {
namespace {

Desired file(std::string_view text) {
  auto desired = read_limits_file(text);
  EXPECT_TRUE(desired) << desired.error().message;
  return desired ? *desired : Desired{};
}

StoredLimits stored(const Level& level, const char* rpm, bool from_file) {
  return {.level = level, .limits = *parse_limits({{"rpm", rpm}}), .from_file = from_file};
}

/// "add entity a on r: rpm 1/min", "change ...: before -> after (note)", a line each.
std::string shown(const Result<Plan>& plan) {
  if (!plan) return plan.error().message;
  std::string text;
  for (const Change& change : plan->changes) {
    text += std::string(name_of(change.kind)) + " " + change.subject + ": " + change.before;
    if (change.kind == ChangeKind::change) text += " -> ";
    text += change.after + (change.note.empty() ? "" : " (" + change.note + ")") + "\n";
  }
  for (const std::string& kept : plan->kept) text += kept + "\n";
  return text;
}

/// The kinds and subjects of the steps: "put a under b, set a".
std::string steps(const Plan& plan) {
  std::string text;
  for (const CatalogChange& step : plan.steps) {
    text += text.empty() ? "" : ", ";
    if (const auto* set = std::get_if<SetLimits>(&step))
      text += "set " + set->level.entity() + set->level.resource();
    if (const auto* gone = std::get_if<DeleteLimits>(&step))
      text += "delete limits " + gone->level.entity() + gone->level.resource();
    if (const auto* put = std::get_if<PutEntity>(&step))
      text += "put " + put->entity.id + (put->entity.parent.empty() ? "" : " under " + put->entity.parent);
    if (const auto* gone = std::get_if<DeleteEntity>(&step)) text += "delete " + gone->id;
  }
  return text;
}

TEST(Plan, WhatIsMissingIsAdded) {
  const auto plan = make_plan(
      file("system: {limits: {rpm: 1}, on_unavailable: allow}\n"
           "resources: {gpt-4: {limits: {tpm: 5/s, rpm: 2}}}\n"
           "entities:\n"
           "  key: {parent: org, cascade: true, limits: {rpm: 3}, resources: {gpt-4: {limits: {rpm: 4}}}}\n"
           "  org: {name: Org, metadata: {team: a}, limits: {rpm: 5}}\n"
           "  other: {limits: {rpm: 6}}\n"),
      {});
  EXPECT_EQ(shown(plan),
            "add system: rpm 1/min, on_unavailable allow\n"
            "add resource gpt-4: rpm 2/min, tpm 5/s\n"
            "add entity key: parent org, cascade on\n"
            "add entity key on _default_: rpm 3/min\n"
            "add entity key on gpt-4: rpm 4/min\n"
            "add entity org: name \"Org\", metadata {\"team\": \"a\"}\n"
            "add entity org on _default_: rpm 5/min\n"
            "add entity other on _default_: rpm 6/min\n");
  EXPECT_EQ(steps(*plan),
            "put org, put key under org, set , set gpt-4, set key, set keygpt-4, set org, set other")
      << "parents first";
  EXPECT_EQ(summary(*plan), "8 to add, 0 to change, 0 to remove, 0 unchanged");
  const auto& put = std::get<PutEntity>(plan->steps[plan->changes[2].step]);
  EXPECT_EQ(put.entity.id, "key") << "a change knows its step";
  EXPECT_TRUE(put.entity.from_file);
  EXPECT_TRUE(std::get<SetLimits>(plan->steps[2]).options.from_file);
}

TEST(Plan, WhatIsAsTheFileSaysIsLeftAloneWhoeverMadeIt) {
  const Current current{{stored(Level::system(), "1", false), stored(Level::entity_default("a"), "2", true)},
                        {{.id = "a", .parent = "b", .name = "Name"}, {.id = "c", .metadata = {{"x", "y"}}}}};
  const auto plan =
      make_plan(file("system: {limits: {rpm: 1}}\nentities: {a: {parent: b, limits: {rpm: 2}}}"), current);
  EXPECT_EQ(shown(plan), "");
  EXPECT_TRUE(plan->steps.empty());
  EXPECT_EQ(summary(*plan), "0 to add, 0 to change, 0 to remove, 3 unchanged");
}

TEST(Plan, WhatDiffersIsChangedAndKeepsWhatTheFileDoesNotMention) {
  const Current current{
      {stored(Level::resource("r"), "1", true), stored(Level::resource("s"), "1", false)},
      {{.id = "a", .parent = "b", .cascade = true, .name = "Name", .metadata = {{"x", "y"}}}}};
  const auto plan = make_plan(
      file("resources: {r: {limits: {rpm: 1:2}}, s: {limits: {rpm: 2}}}\nentities: {a: {parent: c}}"),
      current);
  EXPECT_EQ(shown(plan),
            "change resource r: rpm 1/min -> rpm 1/min:2\n"
            "change resource s: rpm 1/min -> rpm 2/min (was set by hand; the file owns it from now on)\n"
            "change entity a: parent b, cascade on -> parent c, cascade off (was set by hand; the file owns "
            "it from "
            "now on)\n");
  const Entity& put = std::get<PutEntity>(plan->steps[0]).entity;
  EXPECT_EQ(put.name, "Name");
  EXPECT_EQ(put.metadata, current.entities[0].metadata);
}

TEST(Plan, OnlyWhatTheFileMadeIsRemoved) {
  const Current current{
      {stored(Level::system(), "1", true), stored(Level::resource("hand"), "1", false),
       stored(Level::resource("file"), "1", true), stored(Level::entity("a", "r"), "1", true),
       stored(Level::entity("free", "r"), "1", true)},
      {{.id = "a", .parent = "b", .from_file = true}, {.id = "b", .from_file = true}, {.id = "hand"}}};
  const auto plan = make_plan(file("resources: {}"), current);
  EXPECT_EQ(shown(plan),
            "remove system: rpm 1/min\n"
            "remove resource file: rpm 1/min\n"
            "remove entity a: parent b (with its buckets)\n"
            "remove entity a on r: rpm 1/min (goes with its entity)\n"
            "remove entity b: no parent (with its buckets)\n"
            "remove entity free on r: rpm 1/min\n");
  EXPECT_EQ(steps(*plan), "delete a, delete b, delete limits , delete limits file, delete limits freer")
      << "children first, and an entity takes its limits along";
  EXPECT_EQ(plan->changes[3].step, plan->changes[2].step);
  EXPECT_EQ(summary(*plan), "0 to add, 0 to change, 6 to remove, 0 unchanged");
}

TEST(Plan, AnEntityStaysWhileOthersNeedIt) {
  StoredLimits of_sync = stored(Level::entity("s", "r"), "1", false);
  of_sync.owner = Owner::sync;
  const Current current{
      {of_sync, stored(Level::entity_default("h"), "1", false), stored(Level::entity("h", "r"), "1", true)},
      {{.id = "p", .from_file = true},
       {.id = "child", .parent = "p"},
       {.id = "s", .from_file = true},
       {.id = "h", .from_file = true}}};
  const auto plan = make_plan(file("resources: {}"), current);
  EXPECT_EQ(shown(plan),
            "remove entity h on r: rpm 1/min\n"
            "entity h stays, although the file no longer names it: its limits (entity h on _default_) were "
            "set by hand "
            "and would go with it\n"
            "entity p stays, although the file no longer names it: it still has children, such as child\n"
            "entity s stays, although the file no longer names it: its limits (entity s on r) were set by "
            "sync and would "
            "go with it\n");
}

TEST(Plan, LimitsThatSyncOwnsAreTakenAndSaidSoButNeverRemoved) {
  StoredLimits of_sync = stored(Level::entity("a", "r"), "1", false);
  of_sync.owner = Owner::sync;
  StoredLimits marked = stored(Level::entity("b", "r"), "1", true);
  marked.owner = Owner::sync;
  const auto plan =
      make_plan(file("entities: {a: {resources: {r: {limits: {rpm: 1}}}}}"), {{of_sync, marked}, {}});
  EXPECT_EQ(shown(plan),
            "change entity a on r: rpm 1/min -> rpm 1/min (takes the limits from sync; deleting them gives "
            "the entity "
            "back)\n");
}

TEST(Plan, FieldsOfTheSystemCountOnlyWhenTheFileMentionsThem) {
  StoredLimits system = stored(Level::system(), "1", true);
  system.on_unavailable = OnUnavailable::allow;
  system.bucket_ttl_refill_multiplier = 3;
  EXPECT_EQ(shown(make_plan(file("system: {limits: {rpm: 1}}"), {{system}, {}})), "");
  EXPECT_EQ(shown(make_plan(file("system: {limits: {rpm: 1}, on_unavailable: allow}"), {{system}, {}})), "");
  EXPECT_EQ(
      shown(make_plan(file("system: {limits: {rpm: 1}, bucket_ttl_refill_multiplier: 4}"), {{system}, {}})),
      "change system: rpm 1/min, bucket_ttl_refill_multiplier 3 -> rpm 1/min, bucket_ttl_refill_multiplier "
      "4\n");
}

TEST(Plan, UsageOfALevelCountsOnlyWhenTheFileMentionsIt) {
  StoredLimits resource = stored(Level::resource("r"), "1", true);
  resource.usage = false;
  const auto plan_of = [&](const char* usage) {
    return shown(
        make_plan(file(std::string("resources: {r: {limits: {rpm: 1}") + usage + "}}"), {{resource}, {}}));
  };
  EXPECT_EQ(plan_of(""), "");
  EXPECT_EQ(plan_of(", usage: off"), "");
  EXPECT_EQ(plan_of(", usage: on"), "change resource r: rpm 1/min, usage off -> rpm 1/min, usage on\n");
  EXPECT_EQ(shown(make_plan(file("resources: {}"), {{resource}, {}})),
            "remove resource r: rpm 1/min, usage off\n");
  resource.usage.reset();
  EXPECT_EQ(plan_of(", usage: off"), "change resource r: rpm 1/min -> rpm 1/min, usage off\n");
}

TEST(Plan, AnEntityThatTheFileOnlyHasLimitsForLosesTheParentThatTheFileGaveIt) {
  const Desired only_limits = file("entities: {a: {limits: {rpm: 1}}}");
  const StoredLimits limits = stored(Level::entity_default("a"), "1", true);
  EXPECT_EQ(shown(make_plan(only_limits, {{limits}, {{.id = "a", .parent = "b", .from_file = true}}})),
            "change entity a: parent b -> no parent\n");
  EXPECT_EQ(shown(make_plan(only_limits, {{limits}, {{.id = "a", .parent = "b"}}})), "") << "given by hand";
}

TEST(Plan, AChainCanBeTurnedUpsideDown) {
  const auto plan = make_plan(file("entities: {a: {name: A}, b: {parent: a}, c: {parent: b}}"),
                              {{}, {{.id = "a", .parent = "b"}, {.id = "b", .parent = "c"}, {.id = "c"}}});
  EXPECT_EQ(steps(*plan), "put b, put a, put b under a, put c under b")
      << "b leaves c first, since c moves too";
}

TEST(Plan, WhatTheFileAndTheStoreTogetherWouldBreakIsAConflict) {
  const auto circle = make_plan(file("entities: {a: {parent: b}}"), {{}, {{.id = "b", .parent = "a"}}});
  ASSERT_FALSE(circle);
  EXPECT_EQ(circle.error().code, ErrorCode::conflict);
  EXPECT_EQ(circle.error().message,
            "with what is stored, entity \"a\" would be its own ancestor (a, b, a); change one of these "
            "parents in the "
            "file, or what is stored");
  Current chain;
  for (const char* link : {"1", "2", "3", "4", "5", "6", "7"})
    chain.entities.push_back({.id = link, .parent = std::to_string(std::stoi(link) + 1)});
  const auto ninth = make_plan(file("entities: {a: {parent: '1'}}"), chain);
  ASSERT_FALSE(ninth);
  EXPECT_EQ(ninth.error().message,
            "with what is stored, entity \"a\" under \"1\" would be number 9 of its chain of parents; the "
            "most is 8, so "
            "choose a parent nearer to the top");
}

}  // namespace
}  // namespace weir::config
