#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Entities);

TEST_P(Entities, AnEntityIsReadBackAsItWasPut) {
  const Entity entity{
      .id = "key", .parent = "project", .cascade = true, .name = "A key", .metadata = {{"team", "blue"}}};
  ASSERT_TRUE(limiter.put_entity(entity));
  auto read = limiter.entity("key");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->parent, "project");
  EXPECT_TRUE(read->cascade);
  EXPECT_EQ(read->name, "A key");
  EXPECT_EQ(read->metadata.at("team"), "blue");
  EXPECT_EQ(read->created_at, now());
  EXPECT_ERROR("not-found", "nobody", limiter.entity("nobody"));
}

TEST_P(Entities, AnAliasIsAnotherEntity) {
  Entity key{.id = "h:1", .metadata = {{"alias", "acme-prod"}}};
  ASSERT_TRUE(limiter.put_entity(key));
  const std::string long_name(257, 'a');
  for (const auto& [alias, culprit] : {std::pair<std::string, std::string>{"", "is empty"},
                                       {"acme prod", "\"acme prod\""},
                                       {long_name, "longer than"},
                                       {"h:1", "is the entity itself"}}) {
    key.metadata["alias"] = alias;
    EXPECT_ERROR("invalid-argument", culprit, limiter.put_entity(key));
    EXPECT_ERROR("invalid-argument", "alias of entity \"h:1\"", limiter.put_entity(key));
    EXPECT_EQ(limiter.entity("h:1")->metadata.at("alias"), "acme-prod") << "nothing is changed";
  }
  key.metadata["alias"] = "acme/test";
  ASSERT_TRUE(limiter.put_entity(key));
  EXPECT_EQ(limiter.entity("h:1")->metadata.at("alias"), "acme/test");
  key.metadata.clear();
  ASSERT_TRUE(limiter.put_entity(key));
  EXPECT_TRUE(limiter.entity("h:1")->metadata.empty());
}

TEST_P(Entities, ChildrenAreListed) {
  put("b", "project");
  put("a", "project", false);
  put("c", "other");
  EXPECT_EQ(limiter.children("project")->items, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(limiter.children("nobody")->items.empty());
  put("a", "other", false);
  EXPECT_EQ(limiter.children("project")->items, std::vector<std::string>{"b"});
}

TEST_P(Entities, ACycleOfParentsIsRefused) {
  put("a", "b");
  put("b", "c");
  EXPECT_ERROR("conflict", "\"c\"", limiter.put_entity({.id = "c", .parent = "a", .cascade = true}));
  EXPECT_ERROR("conflict", "\"d\"", limiter.put_entity({.id = "d", .parent = "d", .cascade = true}));
  EXPECT_ERROR("not-found", "\"c\"", limiter.entity("c"));
}

TEST_P(Entities, ANinthLevelIsRefused) {
  for (int i = 1; i < 8; ++i) put("level-" + std::to_string(i), "level-" + std::to_string(i + 1));
  EXPECT_ERROR("conflict", "level-8",
               limiter.put_entity({.id = "level-8", .parent = "level-9", .cascade = true}));
  EXPECT_ERROR("conflict", "below",
               limiter.put_entity({.id = "below", .parent = "level-1", .cascade = true}));
  EXPECT_TRUE(limiter.put_entity({.id = "beside", .parent = "level-2", .cascade = true}));
}

TEST_P(Entities, ParentAndCascadeCannotChangeWhileThereIsABucket) {
  set_system({{"rpm", "10/min"}});
  ASSERT_TRUE(admits("key", {{"rpm", 1}}));
  EXPECT_ERROR("conflict", "\"key\"",
               limiter.put_entity({.id = "key", .parent = "project", .cascade = true}));
  EXPECT_TRUE(limiter.put_entity({.id = "key", .name = "only a name"}));
  put("other", "project");
  ASSERT_TRUE(admits("other", {{"rpm", 1}}));
  EXPECT_ERROR("conflict", "\"other\"",
               limiter.put_entity({.id = "other", .parent = "project", .cascade = false}));
  EXPECT_TRUE(
      limiter.put_entity({.id = "other", .parent = "project", .cascade = true, .name = "same place"}));
  advance(24h);
  EXPECT_TRUE(limiter.put_entity({.id = "other", .parent = "project", .cascade = false}))
      << "its bucket has expired";
}

TEST_P(Entities, DeletingAnEntityTakesItsLimitsAndBucketsAlong) {
  set_system({{"rpm", "10/min"}});
  put("key", "project");
  set(Level::entity("key", "gpt-4"), {{"rpm", "2/min"}});
  set(Level::entity_default("key"), {{"rpm", "3/min"}});
  EXPECT_EQ(admitted_of(5, "key"), 2);
  ASSERT_TRUE(limiter.delete_entity("key"));
  EXPECT_ERROR("not-found", "key", limiter.entity("key"));
  EXPECT_ERROR("not-found", "key", limiter.limits(Level::entity("key", "gpt-4")));
  EXPECT_ERROR("not-found", "key", limiter.limits(Level::entity_default("key")));
  EXPECT_EQ(remaining("key", "rpm"), "10");
  EXPECT_EQ(remaining("project", "rpm"), "8") << "the parent's bucket stays";
  EXPECT_TRUE(limiter.children("project")->items.empty());
  EXPECT_EQ(acquire("key", {{"rpm", 1}}).limits().size(), 1U) << "the new one has no parent";
}

TEST_P(Entities, AnEntityWithChildrenCannotBeDeleted) {
  put("key", "project");
  ASSERT_TRUE(limiter.put_entity({.id = "project"}));
  EXPECT_ERROR("conflict", "\"project\"", limiter.delete_entity("project"));
  ASSERT_TRUE(limiter.delete_entity("key"));
  EXPECT_TRUE(limiter.delete_entity("project"));
  EXPECT_ERROR("not-found", "project", limiter.delete_entity("project"));
}

}  // namespace
}  // namespace weir::contract
