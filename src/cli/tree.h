// The tree of commands for CLI11. Its headers are slow to compile: only tree*.cc and command_line.cc include
// this.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/shape.h"

namespace weir::cli {

/// Data of a command that CLI11 does not hold.
struct CommandNotes {
  std::string usage = {};  ///< the text after the path, if the generated one is not good enough
  std::string examples = {};
  Reach reach = Reach::anywhere;
  bool csv = false;  ///< can print CSV
};

/// The CLI11 tree and the values that it fills.
struct Tree {
  Tree();

  CLI::App root;
  Common before;  ///< options before the command
  Arguments arguments;
  Command chosen = nullptr;
  Reach reach = Reach::anywhere;  ///< of the chosen command
  bool csv = false;               ///< of the chosen command
  std::map<const CLI::App*, CommandNotes> notes;

  /// A command that can be run: it has the common options.
  CLI::App& command(CLI::App& parent, const std::string& name, const std::string& about, Command run,
                    CommandNotes notes);
  /// A group of commands.
  CLI::App& group(const std::string& name, const std::string& about, const std::string& examples);
};

/// An option with one value.
CLI::Option* add_value(CLI::App& app, const std::string& names, std::optional<std::string>& target,
                       const std::string& value, const std::string& about);
/// An option that can be given several times, with one value each.
CLI::Option* add_values(CLI::App& app, const std::string& names, std::vector<std::string>& target,
                        const std::string& value, const std::string& about);
/// An argument, by its position, or by an option that means the same ("ENTITY,--entity"). `value` as in
/// OptionShape, if it is more than a name.
CLI::Option* add_argument(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                          const std::string& about, const std::string& value = {});
/// Options of a service are accepted by every command, and shown in the help of those that support them.
void add_common(CLI::App& app, Common& target, Reach reach, bool csv = false);

// In the order of the help.
void add_deciding_commands(Tree& tree);
void add_lease_commands(Tree& tree);
void add_limits_commands(Tree& tree);
void add_serve_command(Tree& tree);
void add_gateway_command(Tree& tree);
void add_sync_command(Tree& tree);
void add_limits_listings(Tree& tree);
void add_limits_file_commands(Tree& tree);
void add_plan_commands(Tree& tree);
void add_entity_commands(Tree& tree);
void add_access_commands(Tree& tree);
void add_usage_command(Tree& tree);
void add_audit_command(Tree& tree);
void add_decision_commands(Tree& tree);
void add_store_commands(Tree& tree);
void add_top_command(Tree& tree);
void add_loadtest_command(Tree& tree);
void add_namespace_commands(Tree& tree);
/// `store`: the group that they belong to.
void add_store_list(Tree& tree, CLI::App& store);
void add_store_copy(Tree& tree, CLI::App& store);
void add_other_commands(Tree& tree);

/// The same tree as plain data.
CommandShape shape_of(const Tree& tree, const CLI::App& app, const std::string& parent_path);

}  // namespace weir::cli
