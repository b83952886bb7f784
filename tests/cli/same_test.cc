// Every command, on a store and through a service: it prints the same and ends the same.
#include <gtest/gtest.h>

#include <regex>

#include "cli/served.h"
#include "cli/shell.h"
#include "support/folder.h"

namespace weir::cli {
namespace {

/// The same line in two shells. `LEASE` in a line is the last lease of each.
class Same : public testing::TestWithParam<const char*> {
 protected:
  Same() {
    const bool sqlite = std::string(GetParam()) == "sqlite";
    const auto url = [&](const char* name) { return sqlite ? "sqlite:" + folder.file(name) : "memory:"; };
    here.opener = [this, at = url("here.db")](const Options& options) { return limiter_of(at, options); };
    here.findings = {{app::Severity::ok, "file", "sound"}, {app::Severity::warning, "disk", "make room"}};
    service::ServiceOptions options;
    options.check_store = [this](const std::string&) { return Result(here.findings); };
    served.emplace(url("there.db"), there.clock, std::move(options));
    there.environment["WEIR_SERVER"] = served->url();
    // Nothing may come from the store of this shell.
    there.unavailable = "a command that was to ask the service opened a store";
  }

  /// Of a namespace. In memory each has a store of its own.
  Result<std::shared_ptr<Limiter>> limiter_of(const std::string& url, const Options& options) {
    auto& known = limiters[options.name_space];
    if (known != nullptr) return known;
    auto opened = Limiter::open(
        url, {.name_space = options.name_space, .clock = &here.clock, .principal = options.principal});
    if (!opened) return opened.error();
    return known = std::make_shared<Limiter>(*std::move(opened));
  }

  static std::string with_lease(std::string line, const std::string& lease) {
    return std::regex_replace(std::move(line), std::regex("LEASE"), lease);
  }
  /// What differs from run to run: leases, ids of events.
  static std::string normal(const std::string& text) {
    const std::string leases = std::regex_replace(text, std::regex("w1[A-Za-z0-9_-]{40,}"), "LEASE");
    return std::regex_replace(leases, std::regex(R"("id":"[^"]*")"), R"("id":ID)");
  }
  static void note_lease(Shell& shell, std::string& lease) {
    std::smatch found;
    if (std::regex_search(shell.out, found, std::regex("w1[A-Za-z0-9_-]{40,}"))) lease = found[0];
  }

  void run(const std::string& line, int wanted) {
    const int here_ended = here.run(with_lease(line, here_lease));
    const int there_ended = there.run(with_lease(line, there_lease));
    EXPECT_EQ(here_ended, wanted) << line << "\n" << here.out << here.err;
    EXPECT_EQ(there_ended, here_ended) << line << "\n" << there.out << there.err;
    EXPECT_EQ(normal(there.out), normal(here.out)) << line;
    EXPECT_EQ(normal(there.err), normal(here.err)) << line;
    note_lease(here, here_lease);
    note_lease(there, there_lease);
  }
  /// As a table, and as JSON, which changes nothing more.
  void look(const std::string& line, int wanted = 0) {
    run(line, wanted);
    run(line + " -o json", wanted);
  }
  void advance(std::chrono::milliseconds by) {
    here.clock.advance(by);
    there.clock.advance(by);
  }
  void type(const std::string& text) { here.in = there.in = text; }

  tests::Folder folder;
  Shell here, there;
  std::optional<Served> served;
  std::map<std::string, std::shared_ptr<Limiter>> limiters;
  std::string here_lease = "none", there_lease = "none";
};
INSTANTIATE_TEST_SUITE_P(Stores, Same, testing::Values("memory", "sqlite"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(Same, Decisions) {
  run("acquire key-1 gpt-4 -c rpm=1", 1);  // no limits
  run("acquire key-1 gpt-4 -c rpm=1 -l rpm:5/min:7", 0);
  look("available key-1 gpt-4 -c rpm=3 -l rpm:5/min:7");
  look("available key-9 gpt-4 -l 'rpm:{\"capacity\":5,\"refill_amount\":1,\"refill_period_ms\":7000}'");
  run("limits set --system -l rpm:100/min -l tpm:50000/30d:60000", 0);
  run("acquire key-2 gpt-4 -c rpm=1.125 -c tpm=500 -o json", 0);
  run("acquire key-2 gpt-4 -c rpm=1 --lease", 0);
  advance(std::chrono::milliseconds(1234));
  look("available key-2 gpt-4");
  look("available key-2 gpt-4 -c rpm=90 -c tpm=0");
  look("available key-2 gpt-4 -c rpm=99.95", 3);
  look("available key-2 gpt-4 -c rpm=101", 3);
  run("acquire key-2 gpt-4 -c rpm=98", 0);
  look("acquire key-2 gpt-4 -c rpm=50 -c tpm=1", 3);
  look("acquire key-2 gpt-4 -c rpm=500", 3);
  look("acquire key-2 gpt-4 -c nonsense=1", 1);
  look("acquire key-2 gpt-4 -c rpm=1 -c rpm=2", 2);
  look("acquire 'a b' gpt-4 -c rpm=1", 2);
  look("acquire key-2 _default_ -c rpm=1", 2);
  look("acquire key-2 gpt-4 -c rpm=-1", 2);
  look("available '' gpt-4", 2);
}

TEST_P(Same, ChainsAndWhoseLimitsTheyAre) {
  run("limits set --system -l rpm:10/min -l tpm:1000/min", 0);
  run("limits set --entity key-1 -l rpm:5/min --owner sync --expires 5min", 0);
  run("entity create key-1 --parent team --cascade", 0);
  run("entity create team --parent org/main --cascade", 0);
  run("acquire key-1 models/* -c rpm=2", 0);
  run("acquire key-1 models/* -c rpm=2 -o json", 0);
  look("acquire key-1 models/* -c rpm=2", 3);
  look("available key-1 models/* -c rpm=1");
  run("lease settle LEASE -c rpm=7", 0);
  look("available key-1 models/* -c rpm=1", 3);
  look("store show key-1");
  look("store show org/main");
}

TEST_P(Same, Leases) {
  run("limits set --system -l rpm:100/day -l tpm:50000/30d", 0);
  run("acquire key-1 gpt-4 -c tpm=500 -o json", 0);
  run("lease adjust LEASE -c tpm=200.5 --key part-1", 0);
  run("lease adjust LEASE -c tpm=200.5 --key part-1 -o json", 0);
  run("lease adjust LEASE -c tpm=-5000 --key part-2", 2);
  run("lease adjust LEASE -c tpm=1 --key ''", 2);
  run("lease settle LEASE -c tpm=380 -c rpm=2", 0);
  run("lease settle LEASE -c tpm=380 -c rpm=2 -o json", 0);
  run("lease settle LEASE -c tpm=381", 1);
  run("lease rollback LEASE", 1);
  run("acquire key-1 gpt-4 -c tpm=500 -o json", 0);
  run("lease rollback LEASE", 0);
  run("lease rollback LEASE -o json", 0);
  run("acquire key-1 gpt-4 -c tpm=500 -o json", 0);
  run("lease settle LEASE", 0);
  run("acquire key-1 gpt-4 -c tpm=500 -o json", 0);
  advance(std::chrono::minutes(11));
  run("lease settle LEASE", 1);
  run("lease settle not-a-lease", 1);
  run("lease settle 'a/b ?#%'", 1);
}

TEST_P(Same, ConcurrentLimits) {
  run("limits set --system -l calls:2:concurrent -l rpm:100/min", 0);
  run("limits set --system -l calls:2/min:concurrent", 2);
  run("limits set --system -l a:1:concurrent -l b:1:concurrent -l c:1:concurrent", 2);
  look("limits get --system");
  look("limits list");
  run("acquire key-1 gpt-4 -c calls=1 -c rpm=1 --lease-for 40s -o json", 0);
  look("acquire key-1 gpt-4 -c calls=2", 3);
  look("acquire key-1 gpt-4 -c calls=2 --wait 1s", 3);
  run("acquire key-1 gpt-4 -c calls=2 --wait 2min", 2);
  run("lease extend LEASE --for 80s", 0);
  run("lease extend LEASE --for 80s -o json", 0);
  run("lease extend LEASE --for tomorrow", 2);
  look("store show key-1");
  advance(std::chrono::seconds(60));
  look("available key-1 gpt-4 -c calls=2", 3);
  run("lease settle LEASE", 0);
  look("available key-1 gpt-4 -c calls=2");
  run("lease extend LEASE --for 80s", 1);
}

TEST_P(Same, LimitsOfLevels) {
  run("limits set --system -l rpm:100/min:150 --bucket-ttl-multiplier 9 --on-unavailable allow", 0);
  run("limits set --resource gpt-4 -l rpm:5/10s -o json", 0);
  run("limits set --entity a/b@c+d=e -l rpm:7 -l tpm:1000/h", 0);
  run("limits set --entity .. --resource . -l rpm:7", 0);
  run("limits set --entity key-1 --resource gpt-4 -l rpm:1 --owner sync --expires 5min", 0);
  run("limits set --entity key-1 --resource gpt-4 -l rpm:2", 0);  // warns: it was sync's
  run("limits set --entity key-1 --resource gpt-4 -l rpm:1 --owner sync --expires 5min", 1);
  run("limits set --system -l rpm:1 --owner sync --expires 5min", 2);
  run("limits set --system -l rpm:1 -l rpm:2", 2);
  run("limits set --resource gpt-4 -l rpm:1 --on-unavailable deny", 2);
  run("limits set --entity key-1 --resource _default_ -l rpm:1", 2);
  for (const char* const level :
       {"--system", "--resource gpt-4", "--entity a/b@c+d=e", "--entity .. --resource ."})
    look(std::string("limits get ") + level);
  look("limits get --entity nobody", 1);
  look("limits get --resource _default_", 2);
  look("limits effective key-1 gpt-4");
  look("limits effective a/b@c+d=e other");
  look("limits list");
  look("limits list --owner sync");
  look("limits list --level entity_default");
  run("limits delete --entity key-1 --resource gpt-4", 0);
  run("limits delete --entity key-1 --resource gpt-4", 1);
  look("limits list --namespace empty");
  look("limits list --namespace Wrong", 2);
}

TEST_P(Same, Entities) {
  run("entity create org --name 'Zoë \"Z\"' --meta cost-center=42 --meta 'a b=c=d'", 0);
  run("entity create key-1 --parent org --cascade -o json", 0);
  run("entity create key-2 --parent key-2", 1);
  run("entity create 'a b'", 2);
  run("entity create org --name '\xff'", 2);
  run("entity create org --meta 'a=\xc3'", 2);
  advance(std::chrono::minutes(3));
  look("entity get org");
  look("entity get nobody", 1);
  look("entity children org");
  look("entity children nobody");
  run("entity delete org", 1);
  run("entity delete key-1", 0);
  run("entity delete key-1", 1);
  look("audit");
  look("audit org");
  look("audit --limit 1");
  look("audit --resource gpt-4");
  look("audit --system");
  look("audit --since 1h --kind entity");
  look("audit --by nobody");
  run("audit --kind Limits", 2);
  look("entity list");
}

TEST_P(Same, WhatIsLeftForEverybody) {
  run("limits set --system -l rpm:10/min -l tpm:1000/min", 0);
  look("store list");
  for (const char* const line : {"acquire key-1 gpt-4 -c rpm=9 -c tpm=10",
                                 "acquire key-2 gpt-4 -c rpm=1 -c tpm=500", "acquire key-1 embed -c rpm=2"})
    run(line, 0);
  look("store list");
  look("store list --resource gpt-4 --sort remaining");
  look("store list --resource gpt-4 --sort consumed --by tpm --limit 1");
  look("store list --resource gpt-4 --below 10.5%");
  look("store list --resource nothing");
  look("namespace list");
  look("top --once");
  look("top --once --resource gpt-4 --sort consumed --rows 1");
  run("store list --resource 'a b'", 2);
  run("store list --below 0%", 2);
  run("store list --sort size", 2);
}

TEST_P(Same, ListingsOfSeveralPages) {
  std::string limits = "entities:\n";
  for (int i = 0; i < 1100; ++i)
    limits +=
        "  e-" + std::to_string(10000 + i) + ": {parent: top, limits: {rpm: " + std::to_string(i) + "}}\n";
  type(limits);
  run("limits apply -", 0);
  run("limits plan -", 0);
  look("limits list");
  look("entity children top");
  run("audit --limit 1500 -o json", 0);
}

TEST_P(Same, LimitsFiles) {
  type(
      "system: {on_unavailable: deny, limits: {rpm: 5/min}}\n"
      "resources: {gpt-4: {limits: {tpm: {capacity: 10, refill_amount: 1, refill_period_ms: 7000}}}}\n"
      "entities: {key-7: {parent: org, cascade: true, limits: {rpm: 3/min}, resources: {gpt-4: {limits: "
      "{rpm: 1}}}}}\n");
  look("limits plan -", 4);
  run("limits diff - -o json", 4);
  run("limits apply - --dry-run", 4);
  run("limits apply -", 0);
  run("limits apply - -o json", 0);
  look("limits list");
  look("entity get key-7");
  run("limits set --system -l rpm:9", 0);
  type("system: {limits: {rpm: 6/min}}\n");
  look("limits plan -", 4);
  run("limits apply -", 0);
  look("limits list");
  type("namespace: other\nsystem: {limits: {rpm: 6/min}}\n");
  run("limits apply -", 0);
  run("limits apply - --namespace third", 1);
  look("limits list --namespace other");
  type("system: {limits: {rpm: 6/fortnight}}\n");
  run("limits apply -", 1);
  // All or nothing, and why: the entity has a bucket and so keeps its parent.
  run("limits set --system -l rpm:9", 0);
  run("acquire key-1 gpt-4 -c rpm=1", 0);
  type("resources: {r: {limits: {rpm: 1}}}\nentities: {key-1: {parent: org, cascade: true}}\n");
  run("limits apply -", 1);
  look("limits get --resource r", 1);
}

TEST_P(Same, StoresAreLookedInto) {
  look("store check");
  here.findings.push_back({app::Severity::failure, "page", "torn \"here\""});
  look("store check", 1);
  run("limits set --system -l rpm:60/min:90 -l tpm:50000", 0);
  run("acquire key-1 gpt-4 -c rpm=40.001 -c tpm=30000", 0);
  run("acquire key-1 gpt-5 -c rpm=60", 0);
  advance(std::chrono::seconds(5));
  look("store show key-1");
  look("store show key-1 gpt-4");
  look("store show nobody", 1);
  run("limits set --system -l tpm:50000", 0);
  look("store show key-1 gpt-4");
}

TEST_P(Same, UsageIsShown) {
  run("limits set --system -l rpm:1000/s -l tpm:100000/s", 0);
  run("entity create key-1 --parent team --cascade", 0);
  for (int i = 0; i < 5; ++i) {
    run("acquire key-1 gpt-4 -c rpm=1.125 -c tpm=500 -o json", 0);
    run("lease settle LEASE -c tpm=20", 0);
    run("acquire key-2 models/* -c rpm=3", 0);
    advance(std::chrono::hours(7));
  }
  for (const char* const whose :
       {"key-1", "--resource gpt-4", "--children-of team", "team --resource gpt-4"}) {
    for (const char* const how : {"", " --window day", " --top 2", " --top 2 --by tpm --window day"})
      look(std::string("usage ") + whose + " --from 3d" + how);
    run(std::string("usage ") + whose + " --from 3d -o csv", 0);
    run(std::string("usage ") + whose + " --from 3d --plot --by tpm", 0);
  }
  look("usage --resource models/* --from 2023-11-14T00:00:00+01:00 --to now");
  look("usage nobody");
  look("usage key-1 --top 1 --by nothing --from 3d");
  look("usage 'a b'", 2);
  look("usage --resource _default_", 2);
  look("usage key-1 --by 'a b' --top 1", 2);
  run("usage key-1 --follow --from 3d", 0);
}

TEST_P(Same, DiffSaysWhere) {
  type("system: {limits: {rpm: 5/min}}\n");
  EXPECT_EQ(there.run("limits diff -"), 4);
  EXPECT_TRUE(there.out.starts_with("--- " + served->url() + "\n+++ -\n@@ system @@\n")) << there.out;
  EXPECT_EQ(there.run("limits diff - --namespace team-1"), 4);
  EXPECT_TRUE(there.out.starts_with("--- " + served->url() + " (namespace team-1)\n")) << there.out;
}

}  // namespace
}  // namespace weir::cli
