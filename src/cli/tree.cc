#include "cli/tree.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace weir::cli {
namespace {

using base::join;

constexpr const char* common_group = "Common options";
constexpr const char* hidden_group = "";  // CLI11 hides options of the empty group

OptionShape shape_of(const CLI::Option& option) {
  OptionShape shape;
  if (option.get_positional()) {
    shape.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) shape.names.push_back(join("-", name));
    for (const std::string& name : option.get_lnames()) shape.names.push_back(join("--", name));
  }
  shape.about = option.get_description();
  if (option.get_items_expected_max() > 0) shape.value = option.get_type_name();
  shape.required = option.get_required();
  shape.repeatable = option.get_expected_max() > 1;
  shape.common = option.get_group() == common_group;
  return shape;
}

}  // namespace

Tree::Tree() : root("Exact rate limits and quotas for APIs and LLM gateways.", "weir") {
  root.set_help_flag("-h,--help", "Show help")->group(common_group);
  root.set_version_flag("--version", "", "Show the version");
  root.require_subcommand(1);
  add_common(root, before, Reach::anywhere);
  notes[&root] = {.usage = "COMMAND [OPTION...]",
                  .examples =
                      "weir limits set --system -l rpm:100/min -l tpm:50000/min\n"
                      "weir acquire key-1 gpt-4 -c rpm=1 -c tpm=500\n"
                      "weir help limits set"};
  add_serve_command(*this);
  add_gateway_command(*this);
  add_sync_command(*this);
  add_deciding_commands(*this);
  add_lease_commands(*this);
  add_limits_commands(*this);
  add_limits_listings(*this);
  add_limits_file_commands(*this);
  add_plan_commands(*this);
  add_entity_commands(*this);
  add_access_commands(*this);
  add_usage_command(*this);
  add_audit_command(*this);
  add_decision_commands(*this);
  add_top_command(*this);
  add_store_commands(*this);
  add_namespace_commands(*this);
  add_loadtest_command(*this);
  add_other_commands(*this);
}

CLI::App& Tree::command(CLI::App& parent, const std::string& name, const std::string& about, Command run,
                        CommandNotes command_notes) {
  CLI::App& app = *parent.add_subcommand(name, about);
  app.callback([this, run, reach_in = command_notes.reach, csv_in = command_notes.csv] {
    chosen = run;
    reach = reach_in;
    csv = csv_in;
  });
  add_common(app, arguments.common, command_notes.reach, command_notes.csv);
  notes[&app] = std::move(command_notes);
  return app;
}

CLI::App& Tree::group(const std::string& name, const std::string& about, const std::string& examples) {
  CLI::App& app = *root.add_subcommand(name, about);
  app.require_subcommand(1);
  notes[&app] = {.usage = {}, .examples = examples};
  return app;
}

CLI::Option* add_value(CLI::App& app, const std::string& names, std::optional<std::string>& target,
                       const std::string& value, const std::string& about) {
  // Not bound to the optional itself: CLI11 would treat an empty value as none.
  return app
      .add_option_function<std::string>(
          names, [&target](const std::string& text) { target = text; }, about)
      ->type_name(value);
}

CLI::Option* add_values(CLI::App& app, const std::string& names, std::vector<std::string>& target,
                        const std::string& value, const std::string& about) {
  return app.add_option(names, target, about)->type_name(value)->allow_extra_args(false);
}

CLI::Option* add_argument(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                          const std::string& about, const std::string& value) {
  return add_value(app, name, target, value.empty() ? name.substr(0, name.find(',')) : value, about);
}

void add_common(CLI::App& app, Common& target, Reach reach, bool csv) {
  const auto add = [&](const char* names, std::optional<std::string>& where, const char* value,
                       const char* about, const char* group = common_group) {
    add_value(app, names, where, value, about)
        ->group(group)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };
  const char* const shown = reach == Reach::anywhere ? common_group : hidden_group;
  add("--store", target.store, "URL",
      "Where everything is kept: sqlite:PATH, redis://HOST:PORT, dynamodb://TABLE or memory: (default: "
      "sqlite:weir.db; environment WEIR_STORE)");
  add("--server", target.server, "URL",
      "Ask the service there instead of opening a store: http://HOST:PORT or https:// (environment "
      "WEIR_SERVER)",
      shown);
  add("--token-file", target.token_file, "FILE",
      "With --server: a file with the token that it asks for (else environment WEIR_TOKEN)", shown);
  add("--ca-file", target.ca_file, "FILE",
      "With --server https://: the certificates (PEM) to trust (default: those that the machine trusts)",
      shown);
  add("--timeout", target.timeout, "DURATION", "With --server: how long to wait for it (default 30s)", shown);
  add("--namespace", target.name_space, "NAME",
      "An isolated tenant inside the store (default: default; environment WEIR_NAMESPACE)");
  add("-o,--output", target.output, csv ? "table|json|csv" : "table|json", "How to print (default table)");
  add("--color", target.color, "auto|always|never", "When to use colours (default auto: on a terminal)");
  add("--as", target.principal, "NAME", "The author of a change in the audit (default: your login name)");
}

CommandShape shape_of(const Tree& tree, const CLI::App& app, const std::string& parent_path) {
  CommandShape shape;
  shape.name = app.get_name();
  shape.path = parent_path.empty() ? shape.name : join(parent_path, " ", shape.name);
  shape.about = app.get_description();
  if (const auto notes = tree.notes.find(&app); notes != tree.notes.end()) {
    shape.usage = notes->second.usage;
    shape.examples = notes->second.examples;
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() == hidden_group) continue;
    (option->get_positional() ? shape.arguments : shape.options).push_back(shape_of(*option));
  }
  // CLI11 adds --help first; it is shown last.
  const auto help = std::find_if(shape.options.begin(), shape.options.end(),
                                 [](const OptionShape& option) { return option.names.back() == "--help"; });
  if (help != shape.options.end()) std::rotate(help, help + 1, shape.options.end());
  for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; }))
    shape.commands.push_back(shape_of(tree, *inner, shape.path));
  return shape;
}

}  // namespace weir::cli
