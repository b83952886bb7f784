// The tree of commands as plain data: what help and shell completion are made from.
#pragma once

#include <string>
#include <vector>

namespace weir::cli {

struct OptionShape {
  std::vector<std::string> names;  ///< "-c", "--consume"; of an argument its one name: "ENTITY"
  std::string about;
  /// What follows it: "NAME=AMOUNT", a choice such as "table|json", "FILE"; empty: nothing does.
  std::string value;
  bool required = false;
  bool repeatable = false;
  bool common = false;  ///< can be said with every command
};

struct CommandShape {
  std::string name;
  std::string path;  ///< "weir limits set"
  std::string about;
  std::string usage;     ///< what follows the path; made from the rest where it is empty
  std::string examples;  ///< a line each
  std::vector<OptionShape> arguments;
  std::vector<OptionShape> options;
  std::vector<CommandShape> commands;
};

/// The choices of a value: "table|json" has two, "FILE" has none.
std::vector<std::string> choices_of(const std::string& value);

/// The text of `weir COMMAND --help`.
std::string help_text(const CommandShape& command);

}  // namespace weir::cli
