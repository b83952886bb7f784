// block, exempt and reset.
#include <gtest/gtest.h>

#include "cli/shell.h"

namespace weir::cli {
namespace {

class AccessCommands : public testing::Test {
 protected:
  Shell shell;
  bool says(const std::string& text) const {
    return shell.out.find(text) != std::string::npos || shell.err.find(text) != std::string::npos;
  }
};

TEST_F(AccessCommands, BlockAndUnblock) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:100/min"), 0) << shell.err;
  EXPECT_EQ(shell.run("block key-9 --reason abuse"), 0) << shell.err;
  EXPECT_TRUE(says("key-9   blocked  every     you remove it  abuse")) << shell.out;
  EXPECT_EQ(shell.run("acquire key-9 gpt-4 -c rpm=1"), 3);
  EXPECT_TRUE(says("key-9 is blocked: abuse")) << shell.out << shell.err;
  EXPECT_EQ(shell.run("entity get key-9"), 0);
  EXPECT_TRUE(says("blocked (abuse)")) << shell.out;
  EXPECT_EQ(shell.run("audit key-9"), 0);
  EXPECT_TRUE(says("tester blocked entity key-9: reason abuse")) << shell.out;
  EXPECT_EQ(shell.run("block key-9 --remove"), 0) << shell.err;
  EXPECT_EQ(shell.out, "key-9 is no longer blocked\n");
  EXPECT_EQ(shell.run("acquire key-9 gpt-4 -c rpm=1"), 0) << shell.err;
  EXPECT_EQ(shell.run("block key-9 --remove"), 1);
  EXPECT_TRUE(says("\"key-9\" is not blocked")) << shell.err;
}

TEST_F(AccessCommands, ExemptUntilAMoment) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:1/day"), 0) << shell.err;
  EXPECT_EQ(shell.run("exempt key-3 --resource gpt-4 --until 2h --reason launch"), 0) << shell.err;
  EXPECT_EQ(shell.run("acquire key-3 gpt-4 -c rpm=7"), 0) << shell.err;
  EXPECT_EQ(shell.run("acquire key-3 other -c rpm=7"), 3);
}

TEST_F(AccessCommands, ResetFillsABucket) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:5/day"), 0) << shell.err;
  ASSERT_EQ(shell.run("acquire key-7 gpt-4 -c rpm=5"), 0) << shell.err;
  ASSERT_EQ(shell.run("acquire key-7 gpt-4 -c rpm=1"), 3);
  EXPECT_EQ(shell.run("reset key-7 gpt-4"), 0) << shell.err;
  EXPECT_TRUE(says("bucket of")) << shell.out;
  EXPECT_EQ(shell.run("acquire key-7 gpt-4 -c rpm=5"), 0) << shell.err;
  EXPECT_EQ(shell.run("reset nobody"), 0) << shell.err;
  EXPECT_TRUE(says("has no bucket to fill")) << shell.out;
}

TEST_F(AccessCommands, GrantGivesMoreOnce) {
  ASSERT_EQ(shell.run("limits set --system -l tpm:5/day"), 0) << shell.err;
  ASSERT_EQ(shell.run("acquire key-7 gpt-4 -c tpm=5"), 0) << shell.err;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(shell.run("grant key-7 gpt-4 -c tpm=10000 --key ticket-4711"), 0) << shell.err;
    EXPECT_TRUE(says("granted 10,000 more of tpm, until it is used")) << shell.out;
  }
  EXPECT_EQ(shell.run("grant key-7 gpt-4 -c tpm=1.5 --expires 2h -o json"), 0) << shell.err;
  EXPECT_TRUE(says("\"amount\":1.5")) << shell.out;
  EXPECT_EQ(shell.run("acquire key-7 gpt-4 -c tpm=10001"), 0) << shell.err;
  EXPECT_EQ(shell.run("acquire key-7 gpt-4 -c tpm=1"), 3);
  EXPECT_EQ(shell.run("audit key-7"), 0);
  EXPECT_TRUE(says("tester granted more to entity key-7 on gpt-4")) << shell.out;
  EXPECT_EQ(shell.run("grant key-7 gpt-4"), 2);
  EXPECT_EQ(shell.run("grant key-7 gpt-4 -c tpm=0"), 2);
  EXPECT_TRUE(says("more than 0")) << shell.err;
  EXPECT_EQ(shell.run("grant key-7 gpt-4 -c tpm=1 --expires soon"), 2);
}

TEST_F(AccessCommands, FillARaisedLimitAtOnce) {
  ASSERT_EQ(shell.run("limits set --system -l tpm:5/day"), 0) << shell.err;
  ASSERT_EQ(shell.run("acquire key-7 gpt-4 -c tpm=5"), 0) << shell.err;
  EXPECT_EQ(shell.run("limits set --entity key-7 --resource gpt-4 -l tpm:50/day --fill"), 0) << shell.err;
  EXPECT_EQ(shell.run("acquire key-7 gpt-4 -c tpm=50"), 0) << shell.err;
  EXPECT_EQ(shell.run("limits set --system -l tpm:50/day --fill"), 2);
  EXPECT_TRUE(says("--fill needs --entity")) << shell.err;
}

TEST_F(AccessCommands, ThatAreWrongSayWhatToWrite) {
  EXPECT_EQ(shell.run("block key-9"), 2);
  EXPECT_TRUE(says("--reason")) << shell.err;
  EXPECT_EQ(shell.run("block key-9 --reason x --until yesterday"), 2);
  EXPECT_TRUE(says("such as 2h")) << shell.err;
  EXPECT_EQ(shell.run("block key-9 --reason x --until 2001-01-01T00:00:00Z"), 2);
  EXPECT_TRUE(says("has passed")) << shell.err;
  EXPECT_EQ(shell.run("block key-9 --remove --reason x"), 2);
  EXPECT_EQ(shell.run("block"), 2);
}

TEST_F(AccessCommands, PurgeANamespaceAndRestoreIt) {
  // The shell of these tests has one namespace.
  ASSERT_EQ(shell.run("namespace create default"), 0) << shell.err;
  ASSERT_EQ(shell.run("limits set --system -l rpm:5/day"), 0) << shell.err;
  EXPECT_EQ(shell.run("namespace purge defaul"), 1);
  EXPECT_TRUE(says("\"defaul\" holds nothing; did you mean \"default\"?")) << shell.err;
  EXPECT_EQ(shell.run("namespace purge default --keep 30d"), 0) << shell.err;
  EXPECT_TRUE(says("weir namespace restore default")) << shell.out;
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1"), 3);
  EXPECT_TRUE(says("namespace default was purged")) << shell.out << shell.err;
  EXPECT_EQ(shell.run("namespace list"), 0) << shell.err;
  EXPECT_TRUE(says("purged; can be restored until")) << shell.out;
  EXPECT_EQ(shell.run("namespace purge --due"), 0) << shell.err;
  EXPECT_TRUE(says("no purged namespace is due")) << shell.err;
  EXPECT_EQ(shell.run("namespace restore default"), 0) << shell.err;
  EXPECT_EQ(shell.out, "namespace default is in use again\n");
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1"), 0) << shell.err;
  EXPECT_EQ(shell.run("audit --system --kind namespace"), 0) << shell.err;
  EXPECT_TRUE(says("tester purged the namespace")) << shell.out;
  EXPECT_EQ(shell.run("namespace purge default --now"), 0) << shell.err;
  EXPECT_EQ(shell.out, "namespace default was deleted with everything in it\n");
  EXPECT_EQ(shell.run("audit --kind namespace"), 0) << shell.err;
  EXPECT_TRUE(says("tester deleted the namespace: namespace default")) << shell.out;
  for (const char* const wrong : {"", "a --due", "a --now --keep 1d", "a --keep 2"})
    EXPECT_EQ(shell.run(std::string("namespace purge ") + wrong), 2) << wrong;
}

}  // namespace
}  // namespace weir::cli
