// The tree of commands as plain data, for help and shell completion.
#pragma once

#include <string>
#include <vector>

namespace weir::cli {

struct OptionShape {
  std::vector<std::string> names;  ///< "-c", "--consume"; of an argument its one name: "ENTITY"
  std::string about;
  /// Its value: "NAME=AMOUNT", a choice such as "table|json", "FILE"; empty: it has none.
  std::string value;
  bool required = false;
  bool repeatable = false;
  bool common = false;  ///< an option of every command
};

struct CommandShape {
  std::string name;
  std::string path;  ///< "weir limits set"
  std::string about;
  std::string usage;     ///< the text after the path; generated if empty
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
