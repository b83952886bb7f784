// The commands that block entities, exempt them from limits or fill their buckets.
#include "cli/tree.h"

namespace weir::cli {

void add_access_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  const auto add_options = [&](CLI::App& app) {
    add_argument(app, "ENTITY", arguments.entity, "The entity")->required();
    add_value(app, "--resource", arguments.resource, "RESOURCE",
              "Only on this resource (default: on every one)");
    add_value(app, "--until", arguments.until, "TIME",
              "When it ends: a length such as 2h, or a moment such as 2026-11-17T05:00:00Z (default: when it "
              "is removed)");
    add_value(app, "--reason", arguments.reason, "TEXT", "Why, in one line; required");
    app.add_flag("--remove", arguments.remove, "End it");
  };
  add_options(tree.command(
      tree.root, "block",
      "Refuse every request of an entity and of its descendants, whatever its limits are, at once.", block,
      {.usage = "ENTITY --reason TEXT [OPTION...]",
       .examples = "weir block key-9 --reason 'abuse, ticket 4711'\n"
                   "weir block key-9 --resource gpt-4 --until 2h --reason 'runaway job'\n"
                   "weir block key-9 --remove"}));
  add_options(tree.command(
      tree.root, "exempt",
      "Let an entity through: no limit refuses it. It is still charged as far as its balances suffice.",
      exempt,
      {.usage = "ENTITY --reason TEXT [OPTION...]",
       .examples = "weir exempt key-3 --until 1h --reason 'launch day'\n"
                   "weir exempt key-3 --remove"}));
  CLI::App& fill = tree.command(
      tree.root, "reset",
      "Fill the buckets of an entity to capacity, at once. Never lowers a balance; the audit has it.", reset,
      {.usage = "ENTITY [RESOURCE] [OPTION...]", .examples = "weir reset key-7 gpt-4\nweir reset key-7"});
  add_argument(fill, "ENTITY", arguments.entity, "The entity")->required();
  add_argument(fill, "RESOURCE", arguments.resource, "Only on this resource (default: on every one)");
  CLI::App& more = tree.command(
      tree.root, "grant",
      "Give an entity more on a resource, once, beside its limits: it does not refill, and requests take it "
      "first. The audit has it.",
      grant,
      {.usage = "ENTITY RESOURCE -c NAME=AMOUNT [OPTION...]",
       .examples = "weir grant key-7 gpt-4 -c tpm=10000\n"
                   "weir grant key-7 gpt-4 -c tpm=10000 --expires 24h --key ticket-4711"});
  add_argument(more, "ENTITY", arguments.entity, "The entity")->required();
  add_argument(more, "RESOURCE", arguments.resource, "The resource")->required();
  add_values(more, "-c,--consume", arguments.consume, "NAME=AMOUNT",
             "How much more of a limit, such as tpm=10000; once for each")
      ->required();
  add_value(more, "--expires", arguments.expires, "DURATION",
            "When the rest is lost, such as 24h (default: never)");
  add_value(more, "--key", arguments.key, "KEY",
            "Names this grant: sending it again with the same key within a day grants nothing more");
}

}  // namespace weir::cli
