// store init, check and show.
#include <gtest/gtest.h>

#include "cli/shell.h"

namespace weir::cli {
namespace {

TEST(StoreInit, OpensTheStoreAndSetsHowLongTheAuditIsKept) {
  Shell shell;
  EXPECT_EQ(shell.run("store init"), 0);
  EXPECT_EQ(shell.out, "ready: sqlite:weir.db\n");
  EXPECT_EQ(shell.options.keep_audit_for, std::nullopt);
  EXPECT_EQ(shell.run("store init --keep-audit 90d --store sqlite:x.db"), 0);
  EXPECT_EQ(shell.out, "ready: sqlite:x.db; the audit is kept for 90 d\n");
  EXPECT_EQ(shell.options.keep_audit_for, std::chrono::hours(90 * 24));
  EXPECT_EQ(shell.run("store init -o json"), 0);
  EXPECT_EQ(shell.out, "{\"store\":\"sqlite:weir.db\"}\n");
  EXPECT_EQ(shell.run("store init --keep-audit forever"), 2);
}

TEST(StoreCheck, FailsOnlyOnFailures) {
  Shell shell;
  shell.findings = {{app::Severity::ok, "the file is sound", ""},
                    {app::Severity::warning, "it is large", "do this"}};
  EXPECT_EQ(shell.run("store check"), 0);
  EXPECT_EQ(shell.out,
            "RESULT   CHECK              DETAIL\n"
            "ok       the file is sound\n"
            "warning  it is large        do this\n");
  shell.findings.push_back({app::Severity::failure, "a page is torn", "restore a copy"});
  EXPECT_EQ(shell.run("store check -o json"), 1);
  EXPECT_EQ(shell.out, R"({"findings":[{"severity":"ok","what":"the file is sound","detail":""},)"
                       R"({"severity":"warning","what":"it is large","detail":"do this"},)"
                       R"({"severity":"failure","what":"a page is torn","detail":"restore a copy"}]})"
                       "\n");
}

TEST(StoreShow, TellsABucketInWords) {
  Shell shell;
  ASSERT_EQ(shell.run("limits set --system -l rpm:60/min:90 -l tpm:50000"), 0);
  ASSERT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=40 -c tpm=30000"), 0);
  shell.clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(shell.run("store show key-1 gpt-4"), 0);
  EXPECT_EQ(shell.out,
            "bucket of  key-1 on gpt-4\n"
            "written    5 s ago, 2023-11-14 22:13:20 UTC\n"
            "expires    in 6 min 55 s\n"
            "LIMIT         NOW  WHEN WRITTEN  CAPACITY   BURST        REFILL  CONSUMED  FULL\n"
            "rpm            25            20        60      90      60 / min        40  in 1 min 5 s\n"
            "tpm    24,166.667        20,000    50,000  50,000  50,000 / min    30,000  in 31 s\n");
  EXPECT_EQ(shell.run("store show key-1 gpt-4 -o json"), 0);
  EXPECT_TRUE(shell.out.starts_with(
      R"({"buckets":[{"entity":"key-1","resource":"gpt-4","refilled_at_ms":1700000000000,)"))
      << shell.out;
}

TEST(StoreShow, ShowsAllBucketsOfAnEntityAndFailsWhereThereIsNone) {
  Shell shell;
  ASSERT_EQ(shell.run("limits set --system -l rpm:60"), 0);
  ASSERT_EQ(shell.run("acquire key-1 a -c rpm=1"), 0);
  ASSERT_EQ(shell.run("acquire key-1 b -c rpm=1"), 0);
  EXPECT_EQ(shell.run("store show key-1"), 0);
  EXPECT_NE(shell.out.find("key-1 on a\n"), std::string::npos);
  EXPECT_NE(shell.out.find("\n\nbucket of  key-1 on b\n"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("store show key-1 c"), 1);
  EXPECT_EQ(shell.err.substr(0, 46), R"(weir: entity "key-1" has no bucket on "c"; one)");
  EXPECT_EQ(shell.run("store show nobody"), 1);
}

TEST(StoreShow, SaysWhichLimitsAreNoLongerInForce) {
  Shell shell;
  ASSERT_EQ(shell.run("limits set --system -l rpm:60 -l tpm:10"), 0);
  ASSERT_EQ(shell.run("acquire key-1 a -c rpm=1 -c tpm=10"), 0);
  ASSERT_EQ(shell.run("limits set --system -l rpm:60"), 0);
  ASSERT_EQ(shell.run("acquire key-1 a -c rpm=1"), 0);
  EXPECT_EQ(shell.run("store show key-1"), 0);
  EXPECT_NE(shell.out.find("  no longer in force\n"), std::string::npos) << shell.out;
}

}  // namespace
}  // namespace weir::cli
