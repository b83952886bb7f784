// sync: its file, one cycle, the status, and the simulation.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "cli/shell.h"
#include "store/sqlite/database.h"
#include "support/folder.h"

namespace weir::cli {
namespace {

class SyncCommand : public testing::Test {
 protected:
  SyncCommand() {
    std::filesystem::create_directory(folder.path() + "/exchange");
    shell.opener = [this](const Options&) {
      std::shared_ptr<Limiter>& one = limiters[shell.url];
      if (!one)
        one =
            std::make_shared<Limiter>(*Limiter::open("memory:", {.clock = &shell.clock, .principal = "ann"}));
      return Result(one);
    };
  }
  std::string config(const std::string& region, const std::string& entities = "acme") {
    const std::string file = folder.path() + "/" + region + ".yaml";
    std::ofstream(file) << "region: " << region << "\nregions: [eu, us]\nexchange: " << folder.path()
                        << "/exchange\nfloor: share\nstore: \"sqlite:" << folder.path() << "/" << region
                        << ".db\"\nshared: [{resource: gpt-4, entities: [" << entities << "]}]\n";
    return file;
  }
  std::string store(const std::string& region) const {
    return " --store sqlite:" + folder.path() + "/" + region + ".db";
  }
  bool shows(const std::string& text) const { return shell.out.find(text) != std::string::npos; }
  bool complains(const std::string& text) const { return shell.err.find(text) != std::string::npos; }

  tests::Folder folder;
  Shell shell;
  std::map<std::string, std::shared_ptr<Limiter>> limiters;  ///< by URL
};

TEST_F(SyncCommand, MovesTheLimitToTheRegionThatUsesIt) {
  for (const char* const region : {"eu", "us"})
    ASSERT_EQ(shell.run("limits set --resource gpt-4 -l rpm:300/min" + store(region)), 0) << shell.err;
  const std::string eu = "--config " + config("eu");
  const std::string us = "--config " + config("us");
  for (int window = 0; window < 5; ++window) {
    ASSERT_EQ(shell.run("acquire acme gpt-4 -c rpm=40" + store("eu")), 0) << shell.err;
    shell.clock.advance(std::chrono::seconds(9));
    ASSERT_EQ(shell.run("sync --once " + us), 0) << shell.err;
    shell.clock.advance(std::chrono::seconds(1));
    ASSERT_EQ(shell.run("sync --once " + eu), 0) << shell.err;
  }
  ASSERT_EQ(shell.run("sync status " + eu), 0) << shell.err;
  EXPECT_TRUE(shows("585 (98 %)")) << shell.out;
  EXPECT_TRUE(shows("sync")) << shell.out;
  ASSERT_EQ(shell.run("sync status -o json " + us), 0) << shell.err;
  EXPECT_TRUE(shows(R"("owner":"sync","share":15,)")) << shell.out;
  ASSERT_EQ(shell.run("limits set --entity acme --resource gpt-4 -l rpm:7/min" + store("eu")), 0);
  EXPECT_TRUE(complains("sync")) << shell.err;
  ASSERT_EQ(shell.run("sync status " + eu), 0) << shell.err;
  EXPECT_TRUE(shows("operator") && shows("by ann")) << shell.out;
  ASSERT_EQ(shell.run("sync --dry-run " + eu), 0) << shell.err;
  EXPECT_EQ(shell.out, "nothing to write\n");
}

TEST_F(SyncCommand, SaysWhichEntityCannotBeReadAndGoesOn) {
  shell.opener = [this](const Options&) -> Result<std::shared_ptr<Limiter>> {
    auto opened = Limiter::open(shell.url, {.clock = &shell.clock});
    if (!opened) return opened.error();
    return std::make_shared<Limiter>(*std::move(opened));
  };
  ASSERT_EQ(shell.run("limits set --resource gpt-4 -l rpm:300/min" + store("eu")), 0) << shell.err;
  ASSERT_EQ(shell.run("limits set --entity acme --resource gpt-4 -l rpm:7/min" + store("eu")), 0);
  {
    auto database = sqlite::Database::open(folder.path() + "/eu.db", sqlite::Access::write);
    ASSERT_TRUE(database) << database.error().message;
    ASSERT_TRUE((*database)->execute("UPDATE limits SET limits = '[]' WHERE entity = 'acme'"));
  }
  const std::string eu = "--config " + config("eu", "acme, globex");
  const std::string metrics = folder.path() + "/metrics";
  ASSERT_EQ(shell.run("sync --once " + eu + " --metrics " + metrics), 0) << shell.err;
  EXPECT_TRUE(complains(R"(\"acme\" on \"gpt-4\" cannot be read, and is left out)")) << shell.err;
  const auto text = base::read_file(metrics, 10'000);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("weir_sync_writes_total{result=\"unreadable\"} 1\n"), std::string::npos) << *text;
  ASSERT_EQ(shell.run("sync status " + eu), 0) << shell.err;
  EXPECT_TRUE(complains("cannot be read, and is left out")) << shell.err;
  EXPECT_TRUE(shows("cannot be read: ") && shows("globex")) << shell.out;
  ASSERT_EQ(shell.run("sync status -o json " + eu), 0) << shell.err;
  EXPECT_TRUE(shows(R"({"entity":"acme","resource":"gpt-4","problem":")")) << shell.out;
}

TEST_F(SyncCommand, SaysWhatIsWrongWithItsFile) {
  const auto error_of = [&](const std::string& text) {
    std::ofstream(folder.path() + "/bad.yaml") << text;
    EXPECT_NE(shell.run("sync --once --config " + folder.path() + "/bad.yaml"), 0) << text;
    return shell.err;
  };
  EXPECT_NE(shell.run("sync"), 0);
  EXPECT_TRUE(complains("--config is missing")) << shell.err;
  EXPECT_NE(shell.run("sync --config " + folder.path() + "/none.yaml"), 0);
  EXPECT_TRUE(complains("no such file")) << shell.err;
  EXPECT_NE(shell.run("sync stats --config x"), 0);
  EXPECT_TRUE(complains("use status or simulate")) << shell.err;
  EXPECT_NE(error_of("").find("it is empty"), std::string::npos) << shell.err;
  for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"region: ap\nregions: [eu, us]\n", "is not among the regions"},
           {"region: eu\nregions: [eu]\n", "2 to 64 names"},
           {"region: eu\nregions: [eu, eu]\n", "named twice"},
           {"region: e/u\nregions: [e/u, us]\n", "names of folders"},
           {"window: 2s\n", "use 7s to 1h"},
           {"window: soon\n", "write a length of time"},
           {"floor: half\n", "use whole or share"},
           {"least: {tpm: -1}\n", "an amount above 0"},
           {"shared: [{entities: [a]}]\n", "has no resource"},
           {"shared: [{resource: r}]\n", "names no entities"},
           {"shared: {resource: r}\n", "must be a list"},
           {"flor: share\n", "did you mean \"floor\""}})
    EXPECT_NE(error_of(text).find(why), std::string::npos) << text << shell.err;
  const std::string gone = config("eu");
  std::filesystem::remove(folder.path() + "/exchange");
  EXPECT_NE(shell.run("sync --once --config " + gone), 0);
  EXPECT_TRUE(complains("is no folder; create it")) << shell.err;
}

TEST_F(SyncCommand, SimulatesDemandFromAFile) {
  const std::string demand = folder.path() + "/demand.csv";
  std::ofstream(demand) << "# eu, us\n100,0\n100,0\n100,0\n100,0\n100,0\n";
  ASSERT_EQ(shell.run("sync simulate --regions 2 -l rpm:600/min --demand " + demand), 0) << shell.err;
  EXPECT_TRUE(shows("the shares of 2 regions")) << shell.out;
  EXPECT_TRUE(shows("   5 |" + std::string(58, 'a') + "bb| admitted 100")) << shell.out;
  ASSERT_EQ(shell.run("sync simulate --regions 2 -o json --demand " + demand), 0) << shell.err;
  EXPECT_TRUE(shows(R"({"window":5,"shares":[585,15],"admitted":100})")) << shell.out;
  EXPECT_NE(shell.run("sync simulate --regions 3 --demand " + demand), 0);
  EXPECT_TRUE(complains("has 2 amounts, and there are 3 regions")) << shell.err;
  EXPECT_NE(shell.run("sync simulate --regions 9"), 0);
  EXPECT_NE(shell.run("sync simulate -l calls:5:concurrent"), 0);
  EXPECT_TRUE(complains("one limit with a rate")) << shell.err;
}

}  // namespace
}  // namespace weir::cli
