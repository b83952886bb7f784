// What the shells are told. Whether they understand it is seen in completion.sh.
#include "cli/completion.h"

#include <gtest/gtest.h>

#include <functional>

#include "cli/command_line.h"

namespace weir::cli {
namespace {

TEST(Completion, EveryCommandAndEveryOptionIsInEveryScript) {
  const CommandLine line;
  const std::string bash = bash_completion(line.shape());
  const std::string zsh = zsh_completion(line.shape());
  const std::string fish = fish_completion(line.shape());
  const std::function<void(const CommandShape&)> look = [&](const CommandShape& command) {
    EXPECT_NE(bash.find("    '" + command.path + "')\n"), std::string::npos) << command.path;
    EXPECT_NE(fish.find("'" + command.path + "'"), std::string::npos) << command.path;
    for (const OptionShape& option : command.options) {
      const std::string name = option.names.back();
      EXPECT_NE(bash.find(name), std::string::npos) << name;
      EXPECT_NE(zsh.find(name), std::string::npos) << name;
      EXPECT_NE(fish.find("'__weir_at " + command.path + "'"), std::string::npos) << name;
      EXPECT_NE(fish.find("-l " + name.substr(2)), std::string::npos) << name;
    }
    for (const CommandShape& inner : command.commands) look(inner);
  };
  look(line.shape());
}

TEST(Completion, AValueOfAFewWordsHasThemAsChoices) {
  EXPECT_EQ(choices_of("table|json"), (std::vector<std::string>{"table", "json"}));
  EXPECT_TRUE(choices_of("FILE").empty());
  EXPECT_TRUE(choices_of("").empty());
}

}  // namespace
}  // namespace weir::cli
