// store copy.
#include <gtest/gtest.h>

#include "cli/shell.h"
#include "support/folder.h"

namespace weir::cli {
namespace {

class StoreCopyCommand : public testing::Test {
 protected:
  StoreCopyCommand() {
    auto limiter = Limiter::open(from_);
    EXPECT_TRUE(limiter->set_limits(Level::system(), {{"rpm", "10/h"}}));
    EXPECT_TRUE(limiter->acquire("key", "gpt-4", {{"rpm", 1}}));
  }
  int copy(const std::string& more = "") {
    return shell_.run("store copy --from " + from_ + " --to " + to_ + more);
  }

  tests::Folder folder_;
  const std::string from_ = "sqlite:" + folder_.file("from.db");
  const std::string to_ = "sqlite:" + folder_.file("to.db");
  Shell shell_;
};

TEST_F(StoreCopyCommand, SaysWhatItHasCopied) {
  EXPECT_EQ(copy(), 0) << shell_.err;
  EXPECT_EQ(shell_.out,
            "KIND          RECORDS\n"
            "limits              1\n"
            "plans               0\n"
            "entities            0\n"
            "buckets             1\n"
            "leases              0\n"
            "usage               1\n"
            "audit events        1\n"
            "same: source and target have the same content\n");
  EXPECT_EQ(shell_.err, "");
  EXPECT_EQ(copy(), 1);
  EXPECT_NE(shell_.err.find("the target is not empty"), std::string::npos) << shell_.err;
}

TEST_F(StoreCopyCommand, PrintsJson) {
  EXPECT_EQ(copy(" -o json"), 0) << shell_.err;
  EXPECT_EQ(
      shell_.out,
      R"({"resumed":false,"copied":{"limits":1,"plans":0,"entities":0,"buckets":1,"leases":0,"usage":1,)"
      R"("audit_events":1},"left_out":{"limits":0,"plans":0,"entities":0,"buckets":0,"leases":0,)"
      R"("usage":0,"audit_events":0},"same":true,"differences":[]})"
      "\n");
}

TEST_F(StoreCopyCommand, ShowsHowFarItIsOnATerminal) {
  shell_.terminal = true;
  EXPECT_EQ(copy(" --color never"), 0);
  EXPECT_NE(shell_.err.find("copying, records: 4"), std::string::npos) << shell_.err;
  EXPECT_NE(shell_.err.find("comparing, records: 4"), std::string::npos) << shell_.err;
}

TEST_F(StoreCopyCommand, CopiesANamespaceAlone) { EXPECT_EQ(copy(" --namespace default"), 0) << shell_.err; }

TEST_F(StoreCopyCommand, ThatFindsNothingSaysSo) {
  EXPECT_EQ(copy(" --namespace other"), 1);
  EXPECT_NE(shell_.err.find("nothing to copy"), std::string::npos) << shell_.err;
}

TEST_F(StoreCopyCommand, MistakesAreMisuse) {
  EXPECT_EQ(shell_.run("store copy --from " + from_), 2);
  EXPECT_EQ(shell_.run("store copy --from memory: --to " + to_), 2);
  EXPECT_NE(shell_.err.find("a store in memory ends with its process"), std::string::npos) << shell_.err;
  EXPECT_EQ(shell_.run("store copy --from " + from_ + " --to " + from_), 2);
  EXPECT_EQ(copy(" --store sqlite:x.db"), 2);
  EXPECT_NE(shell_.err.find("--from URL and --to URL in place of --store"), std::string::npos) << shell_.err;
}

}  // namespace
}  // namespace weir::cli
