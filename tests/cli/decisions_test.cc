// explain and what-if.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/served.h"
#include "cli/shell.h"
#include "decision_log/decision_log.h"
#include "support/folder.h"

namespace weir::cli {
namespace {

using decision_log::DecisionLog;
using decision_log::Keeps;

constexpr Time ten_oclock = 1'700'042'400'000;  // 2023-11-15T10:00:00Z

class DecisionCommands : public testing::Test {
 protected:
  DecisionCommands() { keep(Keeps::all); }
  ~DecisionCommands() override { served.reset(); }

  void keep(Keeps keeps) {
    served.reset();
    log.reset();
    path = folder.file("decisions-" + std::to_string(++logs) + ".db");
    shell.clock.set(ten_oclock);
    auto opened =
        DecisionLog::open({.keeps = keeps, .path = path, .has_thread = false}, shell.clock, entropy);
    ASSERT_TRUE(opened) << opened.error().message;
    log = *std::move(opened);
    served.emplace("memory:", shell.clock, service::ServiceOptions{.decisions = log.get()});
    run("entity create key-1 --parent project --cascade");
    run("entity create key-7 --parent project --cascade");
    run("limits set --system -l rpm:100/min -l tpm:2000/min");
    run("limits set --entity project --resource gpt-4 -l tpm:2500/min");
  }
  /// Runs a command on the service.
  int run(const std::string& line) { return shell.run(line + " --server " + served->url()); }
  /// Runs a command on the log's file.
  int read(const std::string& line) {
    log->flush();
    return shell.run(line + " --log " + path);
  }
  bool says(const std::string& part) const { return shell.out.find(part) != std::string::npos; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.file(name)) << text;
  }

  /// At 10:03:12 key-7 is refused, since key-1 has used what project may use.
  std::string refuse_key_7() {
    shell.clock.set(ten_oclock + 3 * 60'000);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(run("acquire key-1 gpt-4 -c tpm=600 -c rpm=1"), 0) << shell.err;
    shell.clock.set(ten_oclock + 3 * 60'000 + 12'000);
    EXPECT_EQ(run("acquire key-7 gpt-4 -c tpm=1900 -c rpm=1 -o json"), 3) << shell.err;
    const std::size_t at = shell.out.find("\"decision\":\"") + 12;
    return shell.out.substr(at, shell.out.find('"', at) - at);
  }

  /// The decision on so many tokens, by a limiter of its own.
  Decision decide_in_memory(Amount tokens) {
    auto limiter = *Limiter::open("memory:", {.clock = &shell.clock});
    EXPECT_TRUE(limiter.set_limits(Level::system(), {{"tpm", "2000/min"}}));
    auto decision = limiter.available("key-7", "gpt-4", {{"tpm", tokens}});
    EXPECT_TRUE(decision) << decision.error().message;
    return *std::move(decision);
  }

  tests::Folder folder;
  base::SystemEntropy entropy;
  Shell shell;
  int logs = 0;
  std::string path;
  std::unique_ptr<DecisionLog> log;
  std::optional<Served> served;
};

TEST_F(DecisionCommands, ExplainSaysWhyInWords) {
  const std::string id = refuse_key_7();
  ASSERT_EQ(run("explain " + id), 0) << shell.err;
  EXPECT_EQ(shell.out,
            "key-7 was refused on gpt-4 at 2023-11-15 10:03:12 UTC\n"
            "decision " +
                id +
                ", request weir-12\n"
                "\n"
                "It asked for 1,900 tpm and 1 rpm.\n"
                "\n"
                "ENTITY   LIMIT  ASKED   HELD  CAPACITY  SET FOR\n"
                "key-7    rpm        1    100       100  the system\n"
                "key-7    tpm    1,900  2,000     2,000  the system\n"
                "project  tpm    1,900  1,200     2,500  project on gpt-4  refused\n"
                "\n"
                "The limit tpm of project refused: it held 1,200, and 1,900 were asked for. It is set for "
                "project on gpt-4, and was last changed at 2023-11-15 10:00:00 UTC.\n"
                "It would have passed 17 s later, at 2023-11-15 10:03:29 UTC, if nobody else had used it.\n"
                "\n"
                "In the 5 minutes before, tpm of project was used by:\n"
                "  key-1  1,800 (3 decisions)\n"
                "\n"
                "To change it:\n"
                "  weir limits get --entity project --resource gpt-4    shows the limits of this level\n"
                "  weir limits set --entity project --resource gpt-4 -l tpm:AMOUNT    with the others of the "
                "level, which it replaces\n");
  const std::string by_server = shell.out;
  ASSERT_EQ(read("explain " + id), 0) << shell.err;
  EXPECT_EQ(shell.out, by_server);
}

TEST_F(DecisionCommands, ExplainFindsARefusalByItsTime) {
  const std::string id = refuse_key_7();
  shell.clock.set(ten_oclock + 60 * 60'000);
  for (const char* const at : {"10:03", "10:03:12", "2023-11-15T10:03:00Z", "57min"}) {
    ASSERT_EQ(run(std::string("explain --entity key-7 --at ") + at), 0) << at << shell.err;
    EXPECT_TRUE(says("decision " + id)) << shell.out;
    ASSERT_EQ(read(std::string("explain --entity key-7 --resource gpt-4 --at ") + at), 0) << at << shell.err;
    EXPECT_TRUE(says("decision " + id)) << shell.out;
  }
  ASSERT_EQ(run("explain --entity key-7"), 0) << "the last refusal";
  EXPECT_TRUE(says("decision " + id)) << shell.out;
  ASSERT_EQ(run("explain --entity project --at 10:03"), 0) << "whose limit refused" << shell.err;
  EXPECT_TRUE(says("decision " + id)) << shell.out;
  EXPECT_EQ(run("explain --entity key-7 --at 10:05"), 1);
  EXPECT_NE(shell.err.find("the nearest is " + id), std::string::npos) << shell.err;
  EXPECT_EQ(run("explain --entity key-1 --at 10:03"), 1);
  shell.clock.set(ten_oclock + 24 * 60 * 60'000);
  EXPECT_EQ(run("explain --entity key-7 --at 10:03"), 0)
      << "a time to come is one of yesterday: " << shell.err;
}

TEST_F(DecisionCommands, ExplainTellsOfOtherRefusalsInThatTime) {
  refuse_key_7();
  run("acquire key-7 gpt-4 -c tpm=1900");
  run("acquire key-7 gpt-4 -c tpm=1900");
  ASSERT_EQ(run("explain --entity key-7 --at 10:03"), 0);
  EXPECT_TRUE(says("2 more refused in that time:\n")) << shell.out;
}

TEST_F(DecisionCommands, AcquireTellsPeopleHowToAsk) {
  const std::string id = refuse_key_7();
  EXPECT_EQ(run("acquire key-7 gpt-4 -c tpm=1900"), 3);
  EXPECT_EQ(shell.err, "");
  shell.terminal = true;
  EXPECT_EQ(run("acquire key-7 gpt-4 -c tpm=1900"), 3);
  EXPECT_NE(shell.err.find("weir explain " + id.substr(0, 8)), std::string::npos) << shell.err;
}

TEST_F(DecisionCommands, ExplainSaysHowAWaitEnded) {
  // Rows as the service writes them for requests that were to wait.
  const auto keep_refusal = [&](std::string_view more, bool fits) {
    const auto decided = decide_in_memory(fits ? 1 : 3000);
    const std::uint64_t number = log->next_number();
    log->add(number, {.at = ten_oclock,
                      .outcome = decision_log::EntryOutcome::refused,
                      .name_space = "default",
                      .entity = "key-7",
                      .resource = "gpt-4",
                      .report = &decided.limits(),
                      .wait = 2000,
                      .more = more});
    EXPECT_EQ(run("explain " + log->id_of(number)), 0) << shell.err;
  };
  keep_refusal(R"({"waited_ms":0,"gave_up":"no-room"})", true);
  EXPECT_TRUE(says("It could not wait: too many requests were waiting already (at most 4,096 for one entity"))
      << shell.out;
  EXPECT_TRUE(says("Every limit held enough, but requests that came before it were waiting for more.\n"))
      << shell.out;
  keep_refusal(R"({"waited_ms":1500,"gave_up":"deadline"})", true);
  EXPECT_TRUE(says("It waited for 1.5 s, as long as it was told to, and had no turn in that time. Every"))
      << shell.out;
  keep_refusal(R"({"waited_ms":1500,"gave_up":"hurried"})", false);
  EXPECT_TRUE(says("It waited for 1.5 s, until its caller left or the process was shut down.\n"))
      << shell.out;
  EXPECT_FALSE(says("Every limit held enough")) << shell.out;
  keep_refusal({}, true);
  EXPECT_TRUE(says("\nEvery limit held enough,")) << "also in logs of earlier versions: " << shell.out;
}

TEST_F(DecisionCommands, ExplainSaysWhyAnAdjustWasRefused) {
  ASSERT_EQ(run("acquire key-7 gpt-4 -c tpm=1900 -o json"), 0) << shell.err;
  const std::size_t at = shell.out.find(R"("lease":")") + 9;
  const std::string lease = shell.out.substr(at, shell.out.find('"', at) - at);
  ASSERT_EQ(run("lease adjust " + lease + " --key a --enforce -c tpm=200"), 3) << shell.err;
  ASSERT_EQ(run("explain --entity key-7"), 0) << shell.err;
  EXPECT_TRUE(says("key-7 was refused the change adjust of a lease on gpt-4 at 2023-11-15 10:00:00 UTC\n"))
      << shell.out;
  EXPECT_TRUE(says("It asked for 200 tpm.\n")) << shell.out;
  EXPECT_TRUE(says("\"tpm\" lacks 100 of what the adjust asks for; nothing was changed.\n")) << shell.out;
}

TEST_F(DecisionCommands, ExplainIsJsonToo) {
  const std::string id = refuse_key_7();
  ASSERT_EQ(run("explain " + id + " -o json"), 0);
  EXPECT_EQ(shell.out.rfind(R"({"decision":{"id":")" + id, 0), 0U) << shell.out;
  EXPECT_TRUE(says(
      R"("used_before":[{"entity":"project","limit":"tpm","by":[{"entity":"key-1","amount":1800,"decisions":3}]}])"))
      << shell.out;
  EXPECT_TRUE(says(R"("commands":["weir limits get --entity project --resource gpt-4","weir limits set)"))
      << shell.out;
  const std::string by_server = shell.out;
  ASSERT_EQ(read("explain " + id + " -o json"), 0);
  EXPECT_EQ(shell.out.substr(shell.out.find("\"used_before\"")),
            by_server.substr(by_server.find("\"used_before\"")));
}

TEST_F(DecisionCommands, ExplainSaysWhereEachLevelIsChanged) {
  run("limits set --resource gpt-5 -l rpm:1/min");
  run("limits set --entity key-9 -l rpm:1/min");
  run("plan set pro -l rpm:1/min");
  run("entity create key-10 --plan pro");
  const auto refuse = [&](const std::string& entity, const std::string& resource,
                          const std::string& more = "") {
    run("acquire " + entity + " " + resource + " -c rpm=1" + more);
    EXPECT_EQ(run("acquire " + entity + " " + resource + " -c rpm=1" + more), 3) << shell.err;
    EXPECT_EQ(run("explain --entity " + entity + " --resource " + resource), 0) << shell.err;
  };
  refuse("key-8", "gpt-5");
  EXPECT_TRUE(says("weir limits set --resource gpt-5 -l rpm:AMOUNT")) << shell.out;
  EXPECT_TRUE(
      says("weir limits set --entity key-8 --resource gpt-5 --inherit -l rpm:AMOUNT    for key-8 alone"));
  refuse("key-9", "gpt-5");
  EXPECT_TRUE(says("weir limits set --entity key-9 -l rpm:AMOUNT")) << shell.out;
  refuse("key-10", "gpt-6");
  EXPECT_TRUE(says("set for the plan of key-10")) << shell.out;
  EXPECT_TRUE(says("weir entity get key-10    names its plan")) << shell.out;
  run("limits delete --system");
  refuse("key-11", "gpt-7", " -l rpm:1/min");
  EXPECT_TRUE(says("set for the request itself")) << shell.out;
  EXPECT_TRUE(says("the limits came with the request")) << shell.out;
  run("limits set --resource gpt-8 -l rpm:0");
  refuse("key-12", "gpt-8");
  EXPECT_TRUE(says("A limit of 0 admits nothing.")) << shell.out;
  EXPECT_TRUE(says("No wait would have helped.")) << shell.out;
}

TEST_F(DecisionCommands, ALogOfRefusalsSaysThatItDoesNotKnowWhoUsedIt) {
  keep(Keeps::refusals);
  const std::string id = refuse_key_7();
  ASSERT_EQ(run("explain " + id), 0);
  EXPECT_NE(shell.err.find("--decision-log-mode all"), std::string::npos) << shell.err;
  EXPECT_FALSE(says("In the 5 minutes before"));
  write("file.yaml", "system: {limits: {rpm: 1}}");
  EXPECT_EQ(read("what-if " + folder.file("file.yaml")), 1);
  EXPECT_NE(shell.err.find("keeps refusals only"), std::string::npos) << shell.err;
}

TEST_F(DecisionCommands, ThatAreWrongSayWhatToDo) {
  EXPECT_EQ(run("explain"), 2);
  EXPECT_EQ(run("explain 00000000-1 --entity key-7"), 2);
  EXPECT_EQ(run("explain key-7"), 2);
  EXPECT_EQ(run("explain --entity key-7 --at 25:00"), 2);
  EXPECT_EQ(run("explain --entity key-7 --at 1:00"), 2);
  EXPECT_NE(shell.err.find("write 10:03 or 10:03:12"), std::string::npos) << shell.err;
  EXPECT_EQ(run("explain 00000000-1"), 1);
  EXPECT_NE(shell.err.find("decision_log=00000000"), std::string::npos) << shell.err;
  EXPECT_EQ(run("explain 00000000-1 --log " + path), 2);
  EXPECT_EQ(shell.run("explain 00000000-1 --store memory:"), 1);
  EXPECT_NE(shell.err.find("--server URL"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("explain 00000000-1 --log " + folder.file("missing")), 2);
  EXPECT_EQ(shell.run("what-if " + folder.file("missing") + " --log " + path), 1);
  EXPECT_EQ(run("explain --entity key-7"), 1);
  EXPECT_NE(shell.err.find("the log has no refusal of key-7"), std::string::npos) << shell.err;
}

/// The same limits as the service has.
constexpr const char* as_it_is =
    "system: {limits: {rpm: 100/min, tpm: 2000/min}}\n"
    "entities: {project: {resources: {gpt-4: {limits: {tpm: 2500/min}}}}}\n";

TEST_F(DecisionCommands, WhatIfUnderTheSameLimitsRefusesWhatWasRefused) {
  // Random requests, settles and rollbacks of two keys, some of them refused.
  std::uint64_t random = 88172645463325252;
  const auto below = [&](std::uint64_t bound) {
    random ^= random << 13U;
    random ^= random >> 7U;
    random ^= random << 17U;
    return random % bound;
  };
  for (int i = 0; i < 400; ++i) {
    shell.clock.advance(std::chrono::milliseconds(below(8000)));
    const std::string key = below(2) == 0 ? "key-1" : "key-7";
    const int ended =
        run("acquire " + key + " gpt-4 -c rpm=1 -c tpm=" + std::to_string(below(900)) + " -o json");
    if (ended != 0) continue;
    const std::size_t at = shell.out.find(R"("lease":")") + 9;
    const std::string lease = shell.out.substr(at, shell.out.find('"', at) - at);
    shell.clock.advance(std::chrono::milliseconds(below(2000)));
    const std::uint64_t what = below(4);
    if (what == 0) {
      ASSERT_EQ(run("lease settle " + lease + " -c tpm=" + std::to_string(below(1200))), 0) << shell.err;
    }
    if (what == 1) {
      ASSERT_EQ(run("lease rollback " + lease), 0) << shell.err;
    }
    if (what == 2) {
      ASSERT_EQ(run("lease adjust " + lease + " --key a -c tpm=" + std::to_string(below(200))), 0);
    }
  }
  write("same.yaml", as_it_is);
  ASSERT_EQ(read("what-if " + folder.file("same.yaml") + " -o json"), 0) << shell.err;
  EXPECT_TRUE(says(R"("newly_refused":0,"newly_admitted":0},"lease_changes")")) << shell.out;
  EXPECT_FALSE(says(R"("refused":0,"would_refuse":0,"newly_refused":0,"newly_admitted":0},"lease_changes")"))
      << "something was refused: " << shell.out;
  EXPECT_TRUE(says(R"("undecided":0)")) << shell.out;
  write("tight.yaml", "system: {limits: {rpm: 1/h, tpm: 2000/min}}");
  ASSERT_EQ(read("what-if " + folder.file("tight.yaml") + " -o json"), 0) << shell.err;
  EXPECT_TRUE(says(R"("total":{"decisions":400)")) << shell.out;
  EXPECT_FALSE(says(R"("newly_refused":0)")) << shell.out;
}

TEST_F(DecisionCommands, WhatIfPrintsWhoWouldBeRefusedMore) {
  refuse_key_7();
  write("halved.yaml",
        "system: {limits: {rpm: 50/min, tpm: 1000/min}}\n"
        "entities: {project: {resources: {gpt-4: {limits: {tpm: 1250/min}}}}}\n");
  ASSERT_EQ(read("what-if " + folder.file("halved.yaml")), 0) << shell.err;
  EXPECT_EQ(shell.out, "replayed 4 decisions from 2023-11-15 10:03:00 UTC to 2023-11-15 10:03:12 UTC under " +
                           folder.file("halved.yaml") +
                           "\n\n"
                           "ENTITY  RESOURCE  DECISIONS  REFUSED  WOULD BE  CHANGE\n"
                           "key-1   gpt-4             3        0         2      +2\n"
                           "key-7   gpt-4             1        1         1       0\n"
                           "all                       4        1         3      +2\n");
  write("doubled.yaml",
        "system: {limits: {rpm: 200/min, tpm: 4000/min}}\n"
        "entities: {project: {resources: {gpt-4: {limits: {tpm: 5000/min}}}}}\n");
  ASSERT_EQ(read("what-if " + folder.file("doubled.yaml")), 0) << shell.err;
  EXPECT_TRUE(says("all                       4        1         0      -1\n")) << shell.out;
}

TEST_F(DecisionCommands, WhatIfKnowsWhoWasExemptAndWhoWasBlocked) {
  ASSERT_EQ(run("exempt key-1 --reason launch"), 0) << shell.err;
  ASSERT_EQ(run("acquire key-1 gpt-4 -c tpm=1900 -c unknown=1"), 0) << shell.err;
  ASSERT_EQ(run("acquire key-1 gpt-4 -c tpm=1900"), 0) << shell.err;
  ASSERT_EQ(run("exempt key-1 --remove"), 0) << shell.err;
  ASSERT_EQ(run("acquire key-1 gpt-4 -c tpm=1900"), 3);
  ASSERT_EQ(run("block key-7 --reason abuse"), 0) << shell.err;
  ASSERT_EQ(run("acquire key-7 gpt-4 -c tpm=1"), 3);
  ASSERT_EQ(run("block key-7 --remove"), 0) << shell.err;
  for (const char* const limits : {as_it_is, "system: {limits: {rpm: 1/h, tpm: 1/h}}"}) {
    write("same.yaml", limits);
    ASSERT_EQ(read("what-if " + folder.file("same.yaml")), 0) << shell.err;
    EXPECT_TRUE(says("key-1   gpt-4             3        1         1       0\n")) << shell.out;
    EXPECT_TRUE(says("key-7   gpt-4             1        1         1       0\n")) << shell.out;
    EXPECT_EQ(shell.err, "");
  }
}

TEST_F(DecisionCommands, WhatIfTakesOtherLimitsFromTheService) {
  refuse_key_7();
  write("partly.yaml", "resources: {gpt-5: {limits: {rpm: 1}}}");
  ASSERT_EQ(read("what-if " + folder.file("partly.yaml")), 0);
  EXPECT_NE(shell.err.find("4 decisions are not counted"), std::string::npos) << shell.err;
  log->flush();
  ASSERT_EQ(run("what-if " + folder.file("partly.yaml") + " --log " + path), 0) << shell.err;
  EXPECT_TRUE(says("all                       4        1         1       0\n")) << shell.out;
  EXPECT_EQ(shell.err, "");
}

}  // namespace
}  // namespace weir::cli
