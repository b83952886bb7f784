// entity and audit.
#include <gtest/gtest.h>

#include "cli/shell.h"

namespace weir::cli {
namespace {

TEST(EntityCommands, StoreShowAndDeleteEntities) {
  Shell shell;
  EXPECT_EQ(
      shell.run("entity create key-1 --parent org --cascade --name 'Search team' --meta a=1 --meta b=x=y"),
      0);
  const std::string shown =
      "entity    key-1\n"
      "name      Search team\n"
      "parent    org, charges cascade to it\n"
      "created   now, 2023-11-14 22:13:20 UTC\n"
      "metadata  a=1, b=x=y\n";
  EXPECT_EQ(shell.out, shown);
  EXPECT_EQ(shell.run("entity get key-1"), 0);
  EXPECT_EQ(shell.out, shown);
  EXPECT_EQ(shell.run("entity get key-1 -o json"), 0);
  EXPECT_EQ(
      shell.out,
      R"({"entity":"key-1","parent":"org","cascade":true,"name":"Search team","metadata":{"a":"1","b":"x=y"},)"
      R"("created_at_ms":1700000000000})"
      "\n");
  ASSERT_EQ(shell.run("entity create key-2 --parent org"), 0);
  EXPECT_EQ(shell.run("entity children org"), 0);
  EXPECT_EQ(shell.out, "key-1\nkey-2\n");
  EXPECT_EQ(shell.run("entity children org -o json"), 0);
  EXPECT_EQ(shell.out, "{\"children\":[\"key-1\",\"key-2\"]}\n");
  EXPECT_EQ(shell.run("entity delete key-1"), 0);
  EXPECT_EQ(shell.out, "deleted entity key-1, its limits and its buckets\n");
  EXPECT_EQ(shell.run("entity get key-1"), 1);
  EXPECT_EQ(shell.err, "weir: entity \"key-1\" does not exist\n");
}

TEST(EntityCommands, RefuseWhatContradictsWhatIsStored) {
  Shell shell;
  ASSERT_EQ(shell.run("entity create org"), 0);
  ASSERT_EQ(shell.run("entity create key-1 --parent org"), 0);
  EXPECT_EQ(shell.run("entity delete org"), 1);
  EXPECT_NE(shell.err.find("has children, such as \"key-1\""), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("entity create org --parent key-1"), 1) << "a cycle";
  EXPECT_EQ(shell.run("entity create key-2 --cascade"), 2);
  EXPECT_EQ(shell.err, "weir: --cascade needs --parent\nTry: weir entity create --help\n");
  EXPECT_EQ(shell.run("entity create key-2 --meta team"), 2);
  EXPECT_EQ(shell.run("entity create key-2 --meta a=1 --meta a=2"), 2);
  EXPECT_EQ(shell.err, "weir: --meta \"a\" is given twice\nTry: weir entity create --help\n");
}

TEST(EntityCommands, ShowNoEscapeSequencesOfOthers) {
  Shell shell;
  ASSERT_EQ(shell.run("entity create key-1 --name '\x1b[2Jgone'"), 0);
  EXPECT_EQ(shell.out.find('\x1b'), std::string::npos);
  ASSERT_EQ(shell.run("audit"), 0);
  EXPECT_EQ(shell.out.find('\x1b'), std::string::npos);
}

TEST(Audit, ShowsWhoChangedWhatNewestFirst) {
  Shell shell;
  ASSERT_EQ(shell.run("limits set --system -l rpm:1"), 0);
  shell.clock.advance(std::chrono::minutes(3));
  ASSERT_EQ(shell.run("limits set --resource gpt-4 -l rpm:2"), 0);
  ASSERT_EQ(shell.run("limits set --entity key-1 --resource gpt-4 -l rpm:3"), 0);
  ASSERT_EQ(shell.run("limits delete --entity key-1 --resource gpt-4"), 0);
  EXPECT_EQ(shell.run("audit"), 0);
  EXPECT_TRUE(shell.out.starts_with(
      "now (2023-11-14 22:16:20 UTC)  tester deleted the limits of entity key-1 on gpt-4 "
      "(rpm 3/min)\n"))
      << shell.out;
  EXPECT_NE(
      shell.out.find("now (2023-11-14 22:16:20 UTC)  tester set the limits of resource gpt-4: rpm 2/min\n"),
      std::string::npos)
      << shell.out;
  EXPECT_NE(shell.out.find("3 min ago (2023-11-14 22:13:20 UTC)  tester set the limits of the system: "),
            std::string::npos)
      << shell.out;
}

TEST(Audit, SaysWhatAChangeChanged) {
  Shell shell;
  const auto said = [&](const std::string& line) {
    EXPECT_EQ(shell.run(line), 0) << shell.err;
    EXPECT_EQ(shell.run("audit --limit 1"), 0) << shell.err;
    return shell.out.substr(shell.out.find("tester"));
  };
  EXPECT_EQ(said("limits set --system -l rpm:100/min -l tpm:5000/min"),
            "tester set the limits of the system: rpm 100/min, tpm 5000/min\n");
  EXPECT_EQ(
      said("limits set --system -l rpm:50/min --on-unavailable allow"),
      "tester changed the limits of the system: on unavailable allow, rpm from 100/min to 50/min, no tpm any "
      "more (was 5000/min)\n");
  EXPECT_EQ(said("plan set pro -l rpm:5/min -l gpt-4=rpm:10/min"),
            "tester created plan pro: rpm 5/min, rpm on gpt-4 10/min\n");
  EXPECT_EQ(said("entity create key-1 --parent org --cascade --plan pro --meta team=blue"),
            "tester created entity key-1: cascade yes, metadata team blue, parent org, plan pro\n");
  EXPECT_EQ(
      said("entity create key-1 --parent org --cascade --name 'A key'"),
      "tester changed entity key-1: name A key, no metadata team any more (was blue), no plan any more (was "
      "pro)\n");
  EXPECT_EQ(said("entity create key-1 --parent org --cascade --name 'A key'"),
            "tester changed entity key-1, which stayed the same\n");
  EXPECT_EQ(said("entity delete key-1"),
            "tester deleted entity key-1 (cascade yes, name A key, parent org)\n");
}

TEST(Audit, IsNarrowedByTimePersonAndKind) {
  Shell shell;
  ASSERT_EQ(shell.run("limits set --system -l rpm:1"), 0);
  shell.clock.advance(std::chrono::hours(48));
  ASSERT_EQ(shell.run("entity create key-1"), 0);
  const auto events = [&](const std::string& line) {
    EXPECT_EQ(shell.run(line), 0) << shell.err;
    return std::count(shell.out.begin(), shell.out.end(), '\n');
  };
  EXPECT_EQ(events("audit --since 1d"), 1);
  EXPECT_EQ(events("audit --from 3d --to 1d"), 1);
  EXPECT_EQ(events("audit --kind entity"), 1);
  EXPECT_EQ(events("audit --kind limits.set"), 1);
  EXPECT_EQ(events("audit --by tester"), 2);
  EXPECT_EQ(events("audit --by nobody"), 0);
  EXPECT_NE(shell.err.find("no change fits"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("audit --since 1d --from 2d"), 2);
  EXPECT_EQ(shell.run("audit --since 1d --to 2d"), 2);
  EXPECT_EQ(shell.run("audit --since lately"), 2);
  EXPECT_EQ(shell.run("audit --kind Limits"), 2);
}

TEST(EntityCommands, ListEveryStoredEntity) {
  Shell shell;
  EXPECT_EQ(shell.run("entity list"), 0);
  EXPECT_EQ(shell.out, "");
  ASSERT_EQ(shell.run("entity create key-1 --parent org --cascade"), 0);
  ASSERT_EQ(shell.run("entity create org --name 'Search team'"), 0);
  EXPECT_EQ(shell.run("entity list"), 0);
  EXPECT_EQ(shell.out,
            "ENTITY  PARENT  CASCADE  PLAN  NAME         CREATED\n"
            "key-1   org     yes                         now\n"
            "org                            Search team  now\n");
  EXPECT_EQ(shell.run("entity list -o json"), 0);
  EXPECT_TRUE(shell.out.starts_with(R"({"items":[{"entity":"key-1","parent":"org","cascade":true)"))
      << shell.out;
}

TEST(Audit, CanBeNarrowedAndCutShort) {
  Shell shell;
  for (const char* line : {"limits set --system -l rpm:1", "limits set --resource gpt-4 -l rpm:2",
                           "limits set --entity key-1 -l rpm:3", "entity create key-2"}) {
    ASSERT_EQ(shell.run(line), 0);
  }
  const auto events = [&](const std::string& line) {
    EXPECT_EQ(shell.run(line), 0) << shell.err;
    return std::count(shell.out.begin(), shell.out.end(), '\n');
  };
  EXPECT_EQ(events("audit"), 4);
  EXPECT_EQ(events("audit --system"), 1);
  EXPECT_EQ(events("audit --resource gpt-4"), 1);
  EXPECT_EQ(events("audit key-1"), 1);
  EXPECT_EQ(events("audit --entity key-1"), 1);
  EXPECT_EQ(events("audit --limit 2"), 2);
  EXPECT_EQ(events("audit nobody"), 0);
  EXPECT_EQ(shell.run("audit --limit 0"), 2);
  EXPECT_EQ(shell.run("audit --limit 1 -o json"), 0);
  EXPECT_TRUE(shell.out.starts_with(R"({"events":[{"id":")")) << shell.out;
  EXPECT_NE(shell.out.find(R"("action":"entity.put","subject":"key-2","before":null,"after":{)"),
            std::string::npos);
}

}  // namespace
}  // namespace weir::cli
