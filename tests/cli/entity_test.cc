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
  EXPECT_TRUE(
      shell.out.starts_with("limits.delete entity key-1 on gpt-4 by tester, now (2023-11-14 22:16:20 UTC)\n"
                            "  - {\"limits\":{\"rpm\":"))
      << shell.out;
  EXPECT_NE(shell.out.find("limits.set resource gpt-4 by tester, now"), std::string::npos) << shell.out;
  EXPECT_NE(shell.out.find("limits.set the system by tester, 3 min ago (2023-11-14 22:13:20 UTC)\n  + {"),
            std::string::npos)
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
    return std::count(shell.out.begin(), shell.out.end(), '\n') / 2;  // each has a head and an after
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
