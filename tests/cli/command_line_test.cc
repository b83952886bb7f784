// What the words of the command line are taken for, and what is said of those that cannot be.
#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <functional>

#include "cli/shell.h"

namespace weir::cli {
namespace {

class CommandLineTest : public testing::Test {
 protected:
  Shell shell;
  /// What a misuse is told, without where to look for help.
  std::string complaint(const std::string& line) {
    EXPECT_EQ(shell.run(line), 2) << line << "\n" << shell.out << shell.err;
    EXPECT_EQ(shell.out, "") << line;
    EXPECT_NE(shell.err.find("\nTry: weir"), std::string::npos) << shell.err;
    return shell.err.substr(0, shell.err.find('\n'));
  }
};

TEST_F(CommandLineTest, WeirAloneShowsTheHelp) {
  EXPECT_EQ(shell.run(""), 0);
  EXPECT_NE(shell.out.find("Usage: weir COMMAND"), std::string::npos);
  EXPECT_EQ(shell.run("--version"), 0);
  EXPECT_EQ(shell.out, "weir 0.1.0\n");
}

TEST_F(CommandLineTest, EveryCommandHasHelpWithExamplesAndTheCommonOptions) {
  const CommandLine line;
  const std::function<void(const CommandShape&)> look = [&](const CommandShape& command) {
    const std::string words = command.path.substr(4);
    for (const std::string& ask : {words + " --help", words + " -h", "help" + words}) {
      EXPECT_EQ(shell.run(ask), 0) << ask << shell.err;
      EXPECT_EQ(shell.err, "");
      EXPECT_TRUE(shell.out.starts_with("Usage: " + command.path)) << shell.out;
      EXPECT_NE(shell.out.find("\nExamples:\n  "), std::string::npos) << ask;
      EXPECT_EQ(shell.out.find(" \n"), std::string::npos) << "ends a line in a space: " << ask;
      EXPECT_EQ(shell.out.find("--store URL") != std::string::npos, command.commands.empty() || words.empty())
          << ask;
    }
    for (const OptionShape& option : command.options) EXPECT_NE(option.about, "") << command.path;
    for (const CommandShape& inner : command.commands) look(inner);
  };
  look(line.shape());
}

TEST_F(CommandLineTest, ThereAreNoCommandsOfLaterWork) {
  for (const char* later : {"gateway", "bench", "usage", "acquire e r -c a=1 --server x"}) {
    EXPECT_EQ(shell.run(later), 2) << later;
  }
}

TEST_F(CommandLineTest, MistypedCommandsAndOptionsAreGuessed) {
  EXPECT_EQ(complaint("aquire e r -c rpm=1"),
            R"(weir: there is no command "aquire"; did you mean "acquire"?)");
  EXPECT_EQ(complaint("limits sett --system"),
            R"(weir: there is no command "limits sett"; did you mean "set"?)");
  EXPECT_EQ(complaint("frobnicate"), R"(weir: there is no command "frobnicate")");
  EXPECT_EQ(complaint("limits list --ower sync"),
            R"(weir: limits list does not know --ower; did you mean "--owner"?)");
  EXPECT_EQ(complaint("--stor=x audit"), R"(weir: weir does not know --stor; did you mean "--store"?)");
  EXPECT_EQ(complaint("help limits efective"),
            R"(weir: there is no command "limits efective"; did you mean "effective"?)");
  EXPECT_EQ(complaint("audit -o jsn"), R"(weir: -o: "jsn" is not known; did you mean "json"?)");
  EXPECT_EQ(complaint("audit -o yaml"), R"(weir: -o: "yaml" is not known; use table or json)");
  EXPECT_EQ(complaint("audit --color maybe"),
            R"(weir: --color: "maybe" is not known; use auto, always or never)");
  EXPECT_EQ(complaint("completion tcsh"), R"(weir: SHELL: "tcsh" is not known; use bash, zsh or fish)");
}

TEST_F(CommandLineTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(complaint("limits"),
            "weir: limits needs a command: set, get, delete, effective, list, plan, apply, diff");
  EXPECT_EQ(complaint("acquire"), "weir: acquire needs ENTITY");
  EXPECT_EQ(complaint("acquire e"), "weir: acquire needs RESOURCE");
  EXPECT_EQ(complaint("acquire e r"), "weir: acquire needs -c NAME=AMOUNT");
  EXPECT_EQ(complaint("lease adjust X -c a=1"), "weir: lease adjust needs --key KEY");
  EXPECT_EQ(complaint("acquire e r -c"), "weir: --consume needs a value: NAME=AMOUNT");
  EXPECT_EQ(complaint("limits set --system"), "weir: limits set needs -l NAME:LIMIT");
  EXPECT_EQ(complaint("limits effective e"),
            "weir: say for whom and for what: weir limits effective ENTITY RESOURCE");
}

TEST_F(CommandLineTest, WhatIsTooMuchIsRefused) {
  EXPECT_EQ(complaint("acquire e r x -c rpm=1"),
            R"(weir: acquire does not expect "x"; quote what has spaces in it)");
  EXPECT_EQ(complaint("limits get --entity a --entity b"), "weir: --entity is given more than once");
  EXPECT_EQ(complaint("audit e --system"),
            "weir: say one of ENTITY, --plan P, --resource R and --system, or none of them");
  EXPECT_EQ(complaint("acquire -- -e r -c rpm=1"),
            "weir: everything after -- is an argument; put -c before it");
}

TEST_F(CommandLineTest, NamesOfCommandsAndLeadingDashesCanBeArguments) {
  EXPECT_EQ(shell.run("acquire limits audit -c rpm=1 -l rpm:5"), 0) << shell.err;
  EXPECT_EQ(shell.run("acquire -c rpm=1 -l rpm:5 limits set"), 0) << shell.err;
  EXPECT_EQ(shell.run("acquire -c rpm=1 -l rpm:5 -- -entity r"), 0) << shell.err;
  EXPECT_NE(shell.out.find("-entity"), std::string::npos);
}

TEST_F(CommandLineTest, CommonOptionsCanStandBeforeAndAfterTheCommand) {
  EXPECT_EQ(shell.run("--store memory: --namespace before limits list --namespace after --as me"), 0)
      << shell.err;
  EXPECT_EQ(shell.url, "memory:");
  EXPECT_EQ(shell.options.name_space, "after");
  EXPECT_EQ(shell.options.principal, "me");
  EXPECT_EQ(shell.options.wait_for_file, std::chrono::seconds(2));
}

TEST_F(CommandLineTest, TheEnvironmentComesBeforeDefaultsAndAfterOptions) {
  EXPECT_EQ(shell.run("limits list"), 0);
  EXPECT_EQ(shell.url, "sqlite:weir.db");
  EXPECT_EQ(shell.options.name_space, "default");
  EXPECT_EQ(shell.options.principal, "tester");
  shell.environment = {{"WEIR_STORE", "sqlite:other.db"}, {"WEIR_NAMESPACE", "prod"}};
  EXPECT_EQ(shell.run("limits list"), 0);
  EXPECT_EQ(shell.url, "sqlite:other.db");
  EXPECT_EQ(shell.options.name_space, "prod");
  EXPECT_EQ(shell.run("limits list --store sqlite:third.db"), 0);
  EXPECT_EQ(shell.url, "sqlite:third.db");
  EXPECT_EQ(shell.run("limits list --store="), 0);
  EXPECT_EQ(shell.url, "") << "an empty value is not the same as none";
}

TEST_F(CommandLineTest, AStoreThatIsAwayIsAFailure) {
  shell.unavailable = "the file is in use";
  EXPECT_EQ(shell.run("limits list -o json"), 1);
  EXPECT_EQ(shell.err, "weir: the file is in use\n");
  EXPECT_EQ(shell.out, "");
}

}  // namespace
}  // namespace weir::cli
