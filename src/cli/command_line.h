// Parses the words of the command line into a command and its arguments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/shape.h"

namespace weir::cli {

struct Tree;

/// The result of parsing.
struct Wish {
  enum class Kind { run, help, version, misuse };
  Kind kind = Kind::misuse;
  Command command = nullptr;  ///< of run
  Reach reach = Reach::anywhere;
  bool csv = false;            ///< the command can print CSV
  Arguments arguments = {};    ///< of run
  std::string topic = "weir";  ///< the path of the named command: "weir limits set"
  std::string problem = {};    ///< of misuse: the mistake
};

/// All commands. Parses one command line.
class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  const CommandShape& shape() const { return shape_; }
  /// `words` without the name of the program.
  Wish read(const std::vector<std::string>& words);

 private:
  std::unique_ptr<Tree> tree_;
  CommandShape shape_;
};

/// The command with this path, such as "weir limits set"; null if there is none.
const CommandShape* find_command(const CommandShape& root, const std::string& path);

}  // namespace weir::cli
