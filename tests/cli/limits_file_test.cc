// limits plan, apply and diff.
#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/shell.h"
#include "tests_folder.h"

namespace weir::cli {
namespace {

constexpr const char* file = R"(
system: {limits: {rpm: 100/min}}
resources: {gpt-4: {limits: {rpm: 10/min, tpm: 40000/min}}}
entities:
  key-1: {parent: org, cascade: true, limits: {rpm: 5/min}}
)";

class LimitsFile : public testing::Test {
 protected:
  Shell shell;
  LimitsFile() { shell.in = file; }
};

TEST_F(LimitsFile, IsPlannedThenAppliedThenChangesNothing) {
  EXPECT_EQ(shell.run("limits plan -"), 4) << shell.err;
  EXPECT_EQ(shell.out,
            "+ system                     rpm 100/min\n"
            "+ resource gpt-4             rpm 10/min, tpm 40000/min\n"
            "+ entity key-1               parent org, cascade on\n"
            "+ entity key-1 on _default_  rpm 5/min\n"
            "4 to add, 0 to change, 0 to remove, 0 unchanged\n");
  EXPECT_EQ(shell.run("limits apply - --dry-run"), 4);
  EXPECT_EQ(shell.run("limits list -o json"), 0);
  EXPECT_EQ(shell.out, "{\"items\":[]}\n") << "a plan changes nothing";

  EXPECT_EQ(shell.run("limits apply -"), 0) << shell.err;
  EXPECT_EQ(shell.out, "applied: 4 added, 0 changed, 0 removed, 0 unchanged\n");
  EXPECT_EQ(shell.err,
            "weir: the limits of key-1 on every resource hide tpm of resource gpt-4, since a level without "
            "\"inherit: true\" replaces the whole set\n")
      << "no progress where there is no terminal";
  EXPECT_EQ(shell.run("limits apply -"), 0);
  EXPECT_EQ(shell.out, "nothing to do: 0 added, 0 changed, 0 removed, 4 unchanged\n");
  EXPECT_EQ(shell.run("limits plan -"), 0);
  EXPECT_EQ(shell.run("limits diff -"), 0);
  EXPECT_EQ(shell.out, "");
}

TEST_F(LimitsFile, TheExampleIsAppliedWithEveryKindOfLimits) {
  shell.in = *base::read_file(WEIR_TESTS_FOLDER "/../examples/limits.yaml");
  ASSERT_EQ(shell.run("limits apply -"), 0) << shell.err;
  EXPECT_EQ(shell.run("limits plan -"), 0) << shell.out;
  const auto shows = [&](const char* command, const char* text) {
    EXPECT_EQ(shell.run(command), 0) << shell.err;
    EXPECT_NE(shell.out.find(text), std::string::npos) << command << ": " << shell.out;
  };
  shows("limits effective customer-1 gpt-4 -o json", R"("sources":{"rpm":"plan","tpm":"resource"})");
  shows("limits effective customer-1 images -o json", R"("sources":{"calls":"entity","rpm":"plan"})");
  shows("limits effective customer-1 images -o json", R"("calls":{"capacity":16,"kind":"concurrent"})");
  shows("limits effective anybody embeddings -o json", R"("mode":"shadow")");
  shows("acquire customer-1 health -c rpm=1 -o json", R"("allowed":true)");
  shows("usage customer-1 -o json", R"({"usage":[]})");
  shows("acquire customer-1 gpt-4 -c rpm=1 -o json", R"("allowed":true)");
  shows("usage customer-1 -o json", R"("limits":{"rpm":1},"events":1)");
}

TEST_F(LimitsFile, DiffShowsLinesBeforeAndAfter) {
  ASSERT_EQ(shell.run("limits apply -"), 0);
  shell.in =
      "resources: {gpt-4: {limits: {rpm: 20/min, tpm: 40000/min}}}\nsystem: {limits: {rpm: 100/min}}\n";
  EXPECT_EQ(shell.run("limits diff -"), 4);
  EXPECT_EQ(shell.out,
            "--- sqlite:weir.db (namespace default)\n"
            "+++ -\n"
            "@@ resource gpt-4 @@\n"
            "-rpm 10/min\n"
            " tpm 40000/min\n"
            "+rpm 20/min\n"
            "@@ entity key-1 @@\n"
            "-parent org\n"
            "-cascade on\n"
            "@@ entity key-1 on _default_ @@\n"
            "-rpm 5/min\n");
  EXPECT_EQ(shell.run("limits plan -"), 4);
  EXPECT_NE(
      shell.out.find("~ resource gpt-4             rpm 10/min, tpm 40000/min -> rpm 20/min, tpm 40000/min\n"),
      std::string::npos)
      << shell.out;
  EXPECT_NE(shell.out.find("\n- entity key-1 "), std::string::npos) << shell.out;
}

TEST_F(LimitsFile, PlansAreJson) {
  shell.in = "system: {limits: {rpm: 100/min}}\n";
  EXPECT_EQ(shell.run("limits plan - -o json"), 4);
  EXPECT_EQ(
      shell.out,
      R"({"changes":[{"kind":"add","subject":"system","after":"rpm 100/min"}],"kept":[],"added":1,"changed":0,)"
      R"("removed":0,"unchanged":0,"applied":false})"
      "\n");
  EXPECT_EQ(shell.run("limits apply - -o json"), 0);
  EXPECT_NE(shell.out.find("\"applied\":true"), std::string::npos);
  EXPECT_EQ(shell.run("limits diff - -o json"), 0);
  EXPECT_NE(shell.out.find("\"changes\":[]"), std::string::npos);
}

TEST_F(LimitsFile, MistakesAreFailuresWithLineAndColumnAndNothingIsApplied) {
  shell.in =
      "system: {limits: {rpm: 100/min}}\nresorces: {}\nresources: {gpt-4: {limits: {rpm: 5/fortnight}}}\n";
  for (const char* line : {"limits plan -", "limits apply -", "limits diff -"}) {
    EXPECT_EQ(shell.run(line), 1) << line;
    EXPECT_EQ(shell.out, "");
    EXPECT_NE(shell.err.find("weir: stdin:2:1: "), std::string::npos) << shell.err;
    EXPECT_NE(shell.err.find("\nweir: stdin:3:"), std::string::npos)
        << "every mistake has its line: " << shell.err;
  }
  EXPECT_EQ(shell.run("limits plan /nowhere/limits.yaml"), 1);
  EXPECT_EQ(shell.err, "weir: /nowhere/limits.yaml cannot be read: no such file\n");
  EXPECT_EQ(shell.run("limits plan /"), 1) << "a folder";
  EXPECT_EQ(shell.run("limits list -o json"), 0);
  EXPECT_EQ(shell.out, "{\"items\":[]}\n");
}

TEST_F(LimitsFile, IsAppliedToItsOwnNamespaceOnly) {
  shell.in = "namespace: prod\nsystem: {limits: {rpm: 1}}\n";
  EXPECT_EQ(shell.run("limits plan -"), 4) << shell.err;
  EXPECT_EQ(shell.options.name_space, "prod");
  EXPECT_EQ(shell.run("limits plan - --namespace prod"), 4);
  EXPECT_EQ(shell.run("limits plan - --namespace staging"), 1);
  EXPECT_NE(shell.err.find("the file is for namespace prod, not for staging"), std::string::npos)
      << shell.err;
  shell.environment["WEIR_NAMESPACE"] = "staging";
  EXPECT_EQ(shell.run("limits apply -"), 1) << "a forgotten variable must not redirect a file";
}

TEST_F(LimitsFile, ProgressIsForTerminals) {
  shell.terminal = true;
  ASSERT_EQ(shell.run("limits apply - --color never"), 0);
  EXPECT_NE(shell.err.find("applying 100 %"), std::string::npos) << shell.err;
  EXPECT_TRUE(shell.err.ends_with("\r\x1b[K")) << "and it is gone at the end";
  EXPECT_EQ(shell.out, "applied: 4 added, 0 changed, 0 removed, 0 unchanged\n");
}

}  // namespace
}  // namespace weir::cli
