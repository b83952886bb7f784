// Mistakes of people who are new to weir, and the messages that help them.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/served.h"
#include "cli/shell.h"
#include "support/folder.h"

namespace weir::cli {
namespace {

class Mistake : public testing::Test {
 protected:
  void warns(const std::string& line, const std::string& warning) {
    EXPECT_EQ(shell.run(line), 0) << line << shell.err;
    EXPECT_EQ(shell.err, warning.empty() ? "" : "weir: warning: " + warning + "\n") << line;
  }
  void complains(const std::string& line, int code, const std::string& message) {
    EXPECT_EQ(shell.run(line), code) << line << shell.err;
    EXPECT_EQ(shell.err.substr(0, shell.err.find('\n')), "weir: " + message) << line;
  }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder.file(name)) << text;
    return folder.file(name);
  }

  tests::Folder folder;
  Shell shell;
};

TEST_F(Mistake, LimitsThatHideThoseOfALowerLevelAreWarnedOf) {
  warns("limits set --system -l rpm:100 -l tpm:50000", "");
  warns("limits set --entity key-1 -l rpm:10",
        "these limits hide tpm of the system, since a level replaces the whole set; to keep it, use "
        "--inherit, or add "
        "-l tpm:50000/min");
  warns("limits set --resource gpt-4 -l tpm:5/10s -l rpm:10", "");
  warns("limits set --resource gpt-4 -l ipm:5/10s",
        "these limits hide rpm and tpm of the system, since a level replaces the whole set; to keep them, "
        "use --inherit, or add "
        "-l rpm:100/min -l tpm:50000/min");
  warns("limits set --entity key-1 --resource gpt-4 -l ipm:5",
        "these limits hide rpm of key-1 on every resource, since a level replaces the whole set; to keep it, "
        "use --inherit, or "
        "add "
        "-l rpm:10/min");
  warns("limits set --entity key-2 --resource gpt-4 -l rpm:5",
        "these limits hide ipm of resource gpt-4, since a level replaces the whole set; to keep it, use "
        "--inherit, or add "
        "-l ipm:5/10s");
  warns("limits set --entity key-3 --resource other -l rpm:5 -l tpm:5", "");
}

TEST_F(Mistake, LimitsThatHideThoseOfAPlanAreWarnedOf) {
  warns("limits set --system -l rpm:100 -l ipm:50000", "");
  warns("plan set pro -l rpm:5 -l tpm:9", "");
  warns("entity create key-1 --plan pro", "");
  warns("limits set --entity key-1 --resource gpt-4 -l rpm:1",
        "these limits hide tpm of plan pro, since a level replaces the whole set; to keep it, use "
        "--inherit, or add -l tpm:9/min");
  warns("limits set --entity key-1 -l rpm:1",
        "these limits hide tpm of plan pro, since a level replaces the whole set; to keep it, use "
        "--inherit, or add -l tpm:9/min");
}

TEST_F(Mistake, LimitsThatInheritHideNothing) {
  warns("limits set --system -l rpm:100 -l tpm:50000", "");
  warns("limits set --entity key-1 -l rpm:10 --inherit", "");
  warns("limits set --entity key-1 --resource gpt-4 -l ipm:5 --inherit", "");
  EXPECT_EQ(shell.run("limits set --system -l rpm:10 --inherit"), 2);
  EXPECT_NE(shell.err.find("the system's limits cannot inherit"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("limits get --system"), 0);
  EXPECT_NE(shell.out.find("tpm"), std::string::npos) << "nothing was changed";
}

TEST_F(Mistake, LimitsOnEveryResourceHideThoseOfResources) {
  for (const char* name : {"a", "b", "c", "d"})
    warns(std::string("limits set --resource ") + name + " -l tpm:7", "");
  EXPECT_EQ(shell.run("limits set --entity key-1 -l rpm:10"), 0);
  EXPECT_NE(shell.err.find("hide tpm of resource c,"), std::string::npos) << shell.err;
  EXPECT_NE(shell.err.find("warning: limits of 1 more levels are hidden too\n"), std::string::npos)
      << shell.err;
}

TEST_F(Mistake, LimitsThatHideOthersAreWarnedOfThroughAService) {
  Served served{"memory:", shell.clock};
  shell.environment["WEIR_SERVER"] = served.url();
  warns("limits set --system -l rpm:100 -l tpm:50000", "");
  warns("limits set --entity key-1 -l rpm:10",
        "these limits hide tpm of the system, since a level replaces the whole set; to keep it, use "
        "--inherit, or add "
        "-l tpm:50000/min");
}

TEST_F(Mistake, AFileWhoseLimitsHideOthersGetsANote) {
  shell.in = "system: {limits: {rpm: 100, tpm: 50000}}\nentities: {key-1: {limits: {rpm: 10}}}\n";
  const std::string note =
      "weir: the limits of key-1 on every resource hide tpm of the system, since a level without "
      "\"inherit: true\" replaces the whole set\n";
  EXPECT_EQ(shell.run("limits plan -"), 4);
  EXPECT_EQ(shell.err, note);
  EXPECT_EQ(shell.run("limits apply -"), 0);
  EXPECT_EQ(shell.err, note);
  EXPECT_EQ(shell.run("limits apply -"), 0);
  EXPECT_EQ(shell.err, "") << "nothing was changed";
}

TEST_F(Mistake, AStoreInMemoryIsForgottenAtTheEndOfTheCommand) {
  const std::string forgotten =
      "the store memory: is empty when a command begins and is forgotten when it ends; keep it in a file "
      "with "
      "--store sqlite:weir.db, or in a service with weir serve --store memory: and --server URL";
  warns("limits set --system -l rpm:5 --store memory:", forgotten);
  warns("entity create e --store memory", forgotten);
  warns("acquire e r -c rpm=1 --store memory:", forgotten);
  warns("store init --store memory:", forgotten);
  warns("limits list --store memory:", "");
  shell.in = "system: {limits: {rpm: 100}}\n";
  warns("limits apply - --store memory:", forgotten);
}

TEST_F(Mistake, AMisspeltNamespaceIsNamedWithThoseThatExist) {
  const std::string url = "sqlite:" + folder.file("weir.db");
  shell.opener = [&](const Options& options) -> Result<std::shared_ptr<Limiter>> {
    auto opened = Limiter::open(url, options);
    if (!opened) return opened.error();
    return std::make_shared<Limiter>(*std::move(opened));
  };
  const std::string store = " --store " + url;
  EXPECT_EQ(shell.run("limits list --namespace prod" + store), 1) << "there is no file yet";
  ASSERT_EQ(shell.run("limits set --system -l rpm:5 --namespace prod" + store), 0) << shell.err;
  ASSERT_EQ(shell.run("entity create e --namespace team-1" + store), 0) << shell.err;
  const std::string note =
      "weir: namespace prdo is empty; the store has prod, team-1; did you mean \"prod\"?\n";
  for (const char* line : {"limits list", "audit"}) {
    EXPECT_EQ(shell.run(line + std::string(" --namespace prdo") + store), 0);
    EXPECT_EQ(shell.err, note) << line;
  }
  for (const char* line :
       {"limits get --system", "entity get e", "limits effective e r", "acquire e r -c rpm=1"}) {
    EXPECT_EQ(shell.run(line + std::string(" --namespace prdo") + store), 1);
    EXPECT_NE(shell.err.find(note), std::string::npos) << line << shell.err;
  }
  EXPECT_EQ(shell.run("limits list" + store), 0);
  EXPECT_EQ(shell.err, "weir: namespace default is empty; the store has prod, team-1\n");
  EXPECT_EQ(shell.run("limits list --namespace team-1" + store), 0);
  EXPECT_EQ(shell.err, "") << "it has an entity";
}

TEST_F(Mistake, AMisspeltNamespaceOfAServiceIsNamed) {
  Served served{"memory:", shell.clock};
  shell.environment["WEIR_SERVER"] = served.url();
  EXPECT_EQ(shell.run("limits list --namespace prdo"), 0);
  EXPECT_EQ(shell.err,
            "weir: nothing is found in namespace prdo; check its name if you expected something\n");
  EXPECT_EQ(shell.run("limits list"), 0);
  EXPECT_EQ(shell.err, "");
}

TEST_F(Mistake, ALimitOfZeroDoesNotAskForLess) {
  ASSERT_EQ(shell.run("limits set --system -l rpm:0"), 0);
  EXPECT_EQ(shell.run("acquire e r -c rpm=1"), 3);
  EXPECT_TRUE(shell.out.starts_with("refused: a limit of 0 admits nothing; raise it, or delete its level\n"))
      << shell.out;
  EXPECT_EQ(shell.run("acquire e r -c rpm=1 -o json"), 3);
  EXPECT_NE(shell.out.find(R"("detail":"over the limit rpm of e; a limit of 0 admits nothing")"),
            std::string::npos)
      << shell.out;
}

TEST_F(Mistake, ALimitInWordsIsToldItsSpelling) {
  complains(
      "limits set --system -l 'rpm:10 per minute'", 2,
      R"(-l rpm: limit "10 per minute": amount "10 per minute" is not a number in range; write 10/min)");
  complains(
      "acquire e r -c rpm=1 -l rpm:100/month", 2,
      R"(-l rpm: limit "100/month": period "month" is not known; write 100/30d; weir has no calendar months, )"
      "a period is a fixed length of time");
}

TEST_F(Mistake, AFileThatCannotBeReadSaysWhy) {
  complains("limits plan " + folder.path(), 1, folder.path() + " cannot be read: it is a directory");
  complains("limits plan " + folder.file("none"), 1, folder.file("none") + " cannot be read: no such file");
  const std::string server = "limits list --server http://127.0.0.1:1 --token-file ";
  complains(server + folder.file("none"), 2,
            "--token-file: " + folder.file("none") + " cannot be read: no such file");
  complains(server + folder.path(), 2,
            "--token-file: " + folder.path() + " cannot be read: it is a directory");
  complains(server + file("empty", "\n"), 2, folder.file("empty") + " has no token in it: it is empty");
  complains(server + file("long", std::string(9000, 'x')), 2,
            "--token-file: " + folder.file("long") + " cannot be read: it has more than 8192 bytes");
  const std::string tls = "limits list --server https://127.0.0.1:1 --ca-file ";
  complains(tls + folder.file("none"), 1,
            "no secure connection to https://127.0.0.1:1: cannot use the certificates in \"" +
                folder.file("none") + "\": no such file; give a file of certificates (PEM) as --ca-file");
}

TEST_F(Mistake, AWordWithoutItsOptionIsToldTheOption) {
  complains("limits set --system rpm:100", 2,
            R"(limits set does not expect "rpm:100"; did you mean -l "rpm:100"?)");
  complains("acquire e r rpm=1", 2, R"(acquire does not expect "rpm=1"; did you mean -c "rpm=1"?)");
  complains("gateway gw.yaml", 2, R"(gateway does not expect "gw.yaml"; did you mean --config "gw.yaml"?)");
  complains("serve --port 8080", 2, "serve does not know --port; write --listen HOST:PORT");
  complains("version", 2, R"(there is no command "version"; write weir --version)");
  complains("limits set --entity e --resource _default_ -l rpm:1", 2,
            "--resource _default_: leave out --resource, and the limits hold on every resource");
}

}  // namespace
}  // namespace weir::cli
