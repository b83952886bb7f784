// plan set, get, delete, list and members; entities and limits files that name a plan.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/shell.h"
#include "support/folder.h"

namespace weir::cli {
namespace {

class PlanCommands : public testing::Test {
 protected:
  Shell shell;
  tests::Folder folder;
  std::string file(const std::string& text) {
    const std::string path = folder.file("limits.yaml");
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(PlanCommands, SetShowAndDelete) {
  ASSERT_EQ(shell.run("plan set pro -l rpm:100/min -l gpt-4=rpm:20/min --inherit-on gpt-4"), 0) << shell.err;
  const std::string shown = shell.out;
  EXPECT_EQ(shown,
            "plan  pro\n"
            "RESOURCE     LIMITS\n"
            "every other  rpm:100/min\n"
            "gpt-4        rpm:20/min (inherits)\n");
  EXPECT_EQ(shell.run("plan get pro"), 0);
  EXPECT_EQ(shell.out, shown);
  EXPECT_EQ(shell.run("plan list"), 0);
  EXPECT_NE(shell.out.find("pro   gpt-4"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("entity create key-1 --plan pro"), 0) << shell.err;
  EXPECT_NE(shell.out.find("plan     pro"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("limits effective key-1 gpt-4"), 0);
  EXPECT_NE(shell.out.find("source     plan"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("plan members pro"), 0);
  EXPECT_EQ(shell.out, "key-1\n");
  EXPECT_EQ(shell.run("plan delete pro"), 1);
  EXPECT_NE(shell.err.find("has 1 member"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("entity create key-1"), 0);
  EXPECT_EQ(shell.run("plan delete pro"), 0) << shell.err;
  EXPECT_EQ(shell.run("plan get pro"), 1);
  EXPECT_EQ(shell.run("audit --plan pro"), 0);
  EXPECT_NE(shell.out.find("tester deleted plan pro ("), std::string::npos) << shell.out;
}

TEST_F(PlanCommands, ThatAreWrongSayWhatToWrite) {
  EXPECT_EQ(shell.run("plan set pro -l rpm"), 2);
  EXPECT_EQ(shell.run("plan set pro -l rpm:1 --inherit-on gpt-4"), 2);
  EXPECT_NE(shell.err.find("-l gpt-4=rpm:10/min"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("plan set _default_ -l rpm:1"), 2);
  EXPECT_EQ(shell.run("plan set pro -l _default_=rpm:1"), 2);
  EXPECT_EQ(shell.run("entity create key-1 --plan gold"), 2);
  EXPECT_NE(shell.err.find("does not exist"), std::string::npos) << shell.err;
}

TEST_F(PlanCommands, OfALimitsFileAreAppliedAndRemoved) {
  const std::string first = file(
      "plans: {free: {limits: {rpm: 10/min}}, pro: {limits: {rpm: 100/min}, "
      "resources: {gpt-4: {limits: {rpm: 20/min}}}}}\n"
      "entities: {key-1: {plan: pro}}\n");
  EXPECT_EQ(shell.run("limits plan " + first), 4) << shell.err;
  EXPECT_EQ(shell.out,
            "+ plan free          rpm 10/min\n"
            "+ plan pro           rpm 100/min\n"
            "+ plan pro on gpt-4  rpm 20/min\n"
            "+ entity key-1       plan pro\n"
            "4 to add, 0 to change, 0 to remove, 0 unchanged\n");
  ASSERT_EQ(shell.run("limits apply " + first), 0) << shell.err;
  EXPECT_EQ(shell.run("limits plan " + first), 0) << shell.out;
  ASSERT_EQ(shell.run("entity create by-hand --plan free"), 0);
  const std::string second = file("plans: {pro: {limits: {rpm: 50/min}}}\nentities: {key-1: {plan: pro}}\n");
  EXPECT_EQ(shell.run("limits diff " + second), 4);
  EXPECT_NE(shell.out.find("@@ plan pro @@\n-rpm 100/min\n+rpm 50/min\n"), std::string::npos) << shell.out;
  ASSERT_EQ(shell.run("limits apply " + second), 0) << shell.err;
  EXPECT_NE(shell.err.find("plan free stays"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("plan get pro"), 0);
  EXPECT_EQ(shell.out.find("gpt-4"), std::string::npos) << shell.out;
  ASSERT_EQ(shell.run("entity create by-hand"), 0);
  ASSERT_EQ(shell.run("limits apply " + file("plans: {}\nentities: {}\n")), 0) << shell.err;
  EXPECT_EQ(shell.run("plan list -o json"), 0);
  EXPECT_EQ(shell.out, "{\"items\":[]}\n");
}

TEST_F(PlanCommands, OfALimitsFileMustExist) {
  EXPECT_EQ(shell.run("limits apply " + file("entities: {key-1: {plan: gold}}\n")), 1);
  EXPECT_NE(shell.err.find("names plan \"gold\""), std::string::npos) << shell.err;
}

}  // namespace
}  // namespace weir::cli
