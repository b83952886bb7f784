// limits set, get, delete, effective and list.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/shell.h"
#include "support/folder.h"

namespace weir::cli {
namespace {

class Limits : public testing::Test {
 protected:
  Shell shell;
  void expect_complaint(const std::string& line, const std::string& message) {
    EXPECT_EQ(shell.run(line), 2) << line;
    EXPECT_EQ(shell.err.substr(0, shell.err.find('\n')), message);
  }
};

TEST_F(Limits, AreSetShownAndDeletedAtEachLevel) {
  for (const char* level :
       {"--system", "--resource gpt-4", "--entity key-1", "--entity key-1 --resource gpt-4"}) {
    const std::string where = level;
    EXPECT_EQ(shell.run("limits get " + where), 1);
    EXPECT_EQ(shell.run("limits set " + where + " -l rpm:100/min:150 -l tpm:50000"), 0) << shell.err;
    EXPECT_EQ(shell.err, "");
    const std::string shown = shell.out;
    EXPECT_EQ(shell.run("limits get " + where), 0);
    EXPECT_EQ(shell.out, shown);
    EXPECT_EQ(shell.run("limits delete " + where), 0);
    EXPECT_TRUE(shell.out.starts_with("deleted the limits of ")) << shell.out;
    EXPECT_EQ(shell.run("limits delete " + where), 1);
    EXPECT_NE(shell.err.find("no limits are set for"), std::string::npos) << shell.err;
  }
}

TEST_F(Limits, AreReadable) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:100/min:150 -l tpm:50000 --on-unavailable allow "
                      "--bucket-ttl-multiplier 3"),
            0);
  EXPECT_EQ(shell.out,
            "limits of       the system\n"
            "owner           operator\n"
            "on unavailable  allow\n"
            "bucket ttl      3 times the time to fill\n"
            "LIMIT  CAPACITY   BURST        REFILL\n"
            "rpm         100     150     100 / min\n"
            "tpm      50,000  50,000  50,000 / min\n");
  ASSERT_EQ(shell.run("limits get --system -o json"), 0);
  EXPECT_EQ(shell.out,
            R"({"limits":{"rpm":{"capacity":100,"burst":150,"refill_amount":100,"refill_period_ms":60000},)"
            R"("tpm":{"capacity":50000,"burst":50000,"refill_amount":50000,"refill_period_ms":60000}},)"
            R"("owner":"operator","bucket_ttl_refill_multiplier":3,"on_unavailable":"allow"})"
            "\n");
}

TEST_F(Limits, SayWhetherUsageIsCounted) {
  ASSERT_EQ(shell.run("limits set --resource gpt-4 -l rpm:100/min --usage off"), 0) << shell.err;
  EXPECT_EQ(shell.out,
            "limits of  resource gpt-4\n"
            "owner      operator\n"
            "usage      off\n"
            "LIMIT  CAPACITY  BURST     REFILL\n"
            "rpm         100    100  100 / min\n");
  ASSERT_EQ(shell.run("limits set --resource gpt-4 -l rpm:1/min -o json"), 0);
  EXPECT_NE(shell.out.find(R"("owner":"operator","usage":"off"})"), std::string::npos) << shell.out;
  ASSERT_EQ(shell.run("limits set --resource gpt-4 -l rpm:1/min --usage on -o json"), 0);
  EXPECT_NE(shell.out.find(R"("usage":"on")"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("limits set --resource gpt-4 -l rpm:1/min --usage no"), 2);
  EXPECT_NE(shell.err.find("--usage"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("limits set --entity key-1 -l rpm:1/min --usage off"), 2);
  EXPECT_NE(shell.err.find("usage belongs to the limits of a resource or of the system"), std::string::npos)
      << shell.err;
}

TEST_F(Limits, OfSyncExpireAndGiveWayToAnOperator) {
  ASSERT_EQ(shell.run("limits set --entity key-1 -l rpm:5 --owner sync --expires 30s"), 0) << shell.err;
  EXPECT_TRUE(
      shell.out.starts_with("limits of  key-1 on every resource\nowner      sync\nexpires    in 30 s\n"))
      << shell.out;
  ASSERT_EQ(shell.run("limits set --entity key-1 -l rpm:50"), 0);
  EXPECT_EQ(
      shell.err,
      "weir: warning: these limits were sync's and are the operator's now; give them back with: weir limits "
      "delete --entity key-1\n");
  EXPECT_EQ(shell.run("limits set --entity key-1 -l rpm:5 --owner sync --expires 30s"), 1);
  EXPECT_NE(shell.err.find("an operator owns the limits"), std::string::npos) << shell.err;
}

TEST_F(Limits, EffectiveSaysWhereTheyComeFrom) {
  ASSERT_EQ(shell.run("limits set --resource gpt-4 -l rpm:10"), 0);
  const std::string expected =
      "limits of  key-1 on gpt-4\n"
      "source     resource\n"
      "owner      operator\n"
      "LIMIT  CAPACITY  BURST    REFILL  SOURCE\n"
      "rpm          10     10  10 / min  resource\n";
  EXPECT_EQ(shell.run("limits effective key-1 gpt-4"), 0);
  EXPECT_EQ(shell.out, expected);
  EXPECT_EQ(shell.run("limits effective --entity key-1 --resource gpt-4"), 0) << shell.err;
  EXPECT_EQ(shell.out, expected);
  EXPECT_EQ(shell.run("limits effective key-1 other"), 1);
}

TEST_F(Limits, ThatAreInheritedAreShownWithTheirLevel) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:100 -l tpm:5000"), 0);
  ASSERT_EQ(shell.run("limits set --entity key-1 -l rpm:10 --inherit"), 0);
  EXPECT_NE(shell.out.find("inherits   the limits that it does not name\n"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("limits effective key-1 gpt-4"), 0);
  EXPECT_EQ(shell.out,
            "limits of  key-1 on gpt-4\n"
            "source     entity_default\n"
            "owner      operator\n"
            "LIMIT  CAPACITY  BURST       REFILL  SOURCE\n"
            "rpm          10     10     10 / min  entity_default\n"
            "tpm       5,000  5,000  5,000 / min  system\n");
  EXPECT_EQ(shell.run("limits effective key-1 gpt-4 -o json"), 0);
  EXPECT_NE(shell.out.find(R"("sources":{"rpm":"entity_default","tpm":"system"})"), std::string::npos)
      << shell.out;
  EXPECT_EQ(shell.run("limits list"), 0);
  EXPECT_NE(shell.out.find("rpm:10/min (inherits)\n"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("limits get --entity key-1 -o json"), 0);
  EXPECT_NE(shell.out.find(R"("inherit":true)"), std::string::npos) << shell.out;
}

TEST_F(Limits, OfAGatewaysFileAreTheLowestLevel) {
  const tests::Folder folder;
  const std::string config = folder.file("gateway.yaml");
  std::ofstream(config)
      << "routes: [{path: /api, upstream: \"http://127.0.0.1:9000\", limits: {rps: 5/s, rpm: 7/min}}]\n";
  EXPECT_EQ(shell.run("limits effective key-1 /api --config " + config), 0) << shell.err;
  EXPECT_EQ(shell.out, "limits of  key-1 on /api\nsource     " + config + "\nowner      operator\n" +
                           "LIMIT  CAPACITY  BURST   REFILL  SOURCE\n"
                           "rpm           7      7  7 / min  " +
                           config + "\n" + "rps           5      5    5 / s  " + config + "\n");
  ASSERT_EQ(shell.run("limits set --entity key-1 -l rpm:10 --inherit"), 0);
  EXPECT_EQ(shell.run("limits effective key-1 /api --config " + config), 0) << shell.err;
  EXPECT_NE(shell.out.find("10 / min  entity_default\n"), std::string::npos) << shell.out;
  EXPECT_NE(shell.out.find("5 / s  " + config + "\n"), std::string::npos) << shell.out;
  ASSERT_EQ(shell.run("limits set --entity key-1 -l rpm:10"), 0);
  EXPECT_EQ(shell.run("limits effective key-1 /api --config " + config), 0) << shell.err;
  EXPECT_EQ(shell.out.find("rps"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("limits effective key-1 /other --config " + config), 2);
  EXPECT_NE(shell.err.find("it has: /api"), std::string::npos) << shell.err;
}

TEST_F(Limits, HaveModes) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:2 -l tpm:50:shadow -l ipm:9:off"), 0);
  EXPECT_EQ(shell.run("limits list"), 0);
  EXPECT_NE(shell.out.find("ipm:9/min:off rpm:2/min tpm:50/min:shadow"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("acquire key-1 gpt-4 -c rpm=1 -c tpm=51 -c ipm=1"), 0);
  EXPECT_NE(shell.out.find("system (shadow) would refuse\n"), std::string::npos) << shell.out;
  EXPECT_NE(shell.out.find("system (off)\n"), std::string::npos) << shell.out;
  ASSERT_EQ(shell.run("limits set --resource gpt-4 -l rpm:2 -l tpm:50:off --mode shadow"), 0);
  EXPECT_EQ(shell.run("limits get --resource gpt-4 -o json"), 0);
  EXPECT_NE(shell.out.find(R"("refill_period_ms":60000,"mode":"shadow")"), std::string::npos) << shell.out;
  EXPECT_NE(shell.out.find(R"("refill_period_ms":60000,"mode":"off")"), std::string::npos) << shell.out;
  EXPECT_EQ(shell.run("limits set --resource gpt-4 -l rpm:2 --mode watch"), 2);
  EXPECT_NE(shell.err.find("use enforce, shadow or off"), std::string::npos) << shell.err;
}

TEST_F(Limits, AreListedWithOwnerAndExpiry) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:100 -l tpm:5/10s"), 0);
  ASSERT_EQ(shell.run("limits set --entity key-1 --resource gpt-4 -l rpm:5 --owner sync --expires 5min"), 0);
  ASSERT_TRUE(shell.limiter->set_limits(Level::resource("gpt-4"), {{"rpm", "7"}}, {.from_file = true}));
  EXPECT_EQ(shell.run("limits list"), 0);
  EXPECT_EQ(shell.out,
            "LEVEL     ENTITY  RESOURCE  OWNER     EXPIRES   FROM FILE  LIMITS\n"
            "entity    key-1   gpt-4     sync      in 5 min  no         rpm:5/min\n"
            "resource  -       gpt-4     operator  never     yes        rpm:7/min\n"
            "system    -       -         operator  never     no         rpm:100/min tpm:5/10s\n");
  EXPECT_EQ(shell.run("limits list --owner sync -o json"), 0);
  EXPECT_EQ(
      shell.out,
      R"({"items":[{"level":"entity","entity":"key-1","resource":"gpt-4","limits":{"rpm":{"capacity":5,"burst":5,)"
      R"("refill_amount":5,"refill_period_ms":60000}},"owner":"sync","expires_at_ms":1700000300000}]})"
      "\n");
  EXPECT_EQ(shell.run("limits list --level system"), 0);
  EXPECT_EQ(std::count(shell.out.begin(), shell.out.end(), '\n'), 2);
  EXPECT_EQ(shell.run("limits list --level entity_default -o json"), 0);
  EXPECT_EQ(shell.out, "{\"items\":[]}\n");
  expect_complaint("limits list --level entty",
                   R"(weir: --level: "entty" is not known; did you mean "entity"?)");
}

TEST_F(Limits, AreListedToTheLastPage) {
  std::vector<CatalogChange> changes;
  for (int i = 0; i < 2500; ++i) {
    changes.emplace_back(
        SetLimits{Level::entity_default("e-" + std::to_string(i)), *parse_limits({{"rpm", "1"}})});
  }
  ASSERT_TRUE(shell.limiter->change(std::span<const CatalogChange>(changes)));
  EXPECT_EQ(shell.run("limits list"), 0);
  EXPECT_EQ(std::count(shell.out.begin(), shell.out.end(), '\n'), 2501);
  EXPECT_EQ(shell.run("limits list -o json"), 0);
  EXPECT_EQ(std::count(shell.out.begin(), shell.out.end(), '\n'), 1) << "one document";
}

TEST_F(Limits, WhatContradictsItselfIsRefused) {
  expect_complaint("limits get",
                   "weir: say which limits: --system, --resource R, --entity E, or --entity E --resource R");
  expect_complaint("limits get --system --entity a",
                   "weir: --system stands alone; leave out --entity and --resource, or --system");
  expect_complaint("limits set --entity a -l rpm:1 --owner sync",
                   "weir: --owner sync needs an expiry, such as --expires 30s");
  expect_complaint("limits set --entity a -l rpm:1 --expires 30s",
                   "weir: --expires needs --owner sync: an operator's limits do not expire");
  expect_complaint(
      "limits set --entity a -l rpm:1 --owner sync --expires soon",
      R"(weir: --expires: "soon" is not a length of time from 1 ms to 100 years; write one such as 30s, 5min, 12h or 90d)");
  expect_complaint(
      "limits set --entity a -l rpm:1 --owner sync --expires 0s",
      R"(weir: --expires: "0s" is not a length of time from 1 ms to 100 years; write one such as 30s, 5min, 12h or 90d)");
  expect_complaint("limits set --system -l rpm:1 --bucket-ttl-multiplier 0",
                   R"(weir: --bucket-ttl-multiplier: "0" is not a whole number from 1 to 1000000)");
  expect_complaint("limits set --resource r -l rpm:1 --on-unavailable allow",
                   "weir: on_unavailable belongs to the system's limits");
  expect_complaint("limits set --system -l rpm:1 --on-unavailable perhaps",
                   R"(weir: --on-unavailable: "perhaps" is not known; use allow or deny)");
  expect_complaint("limits set --system -l rpm:1 -l rpm:2",
                   R"(weir: limit "rpm" is given twice; keep one of them)");
}

}  // namespace
}  // namespace weir::cli
