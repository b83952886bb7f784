// The command for usage, its options and examples.
#include "cli/tree.h"

namespace weir::cli {

void add_usage_command(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& app = tree.command(
      tree.root, "usage", "Show what was used, by hours or days of UTC, and who used the most.", usage,
      {.usage = "[ENTITY | --children-of P] [--resource R] [OPTION...]",
       .examples = "weir usage key-1\n"
                   "weir usage --resource gpt-4 --top 1 --from yesterday --to today\n"
                   "weir usage --children-of project --window day --from 30d --by tpm\n"
                   "weir usage key-1 --from 2026-11-01 --to 2026-12-01 -o csv > november.csv\n"
                   "weir usage key-1 --resource gpt-4 --plot\n"
                   "weir usage --resource gpt-4 --follow",
       .csv = true});
  add_argument(app, "ENTITY,--entity", arguments.entity, "Of this entity");
  add_value(app, "--children-of", arguments.children_of, "ENTITY", "Of the entities right below this one");
  add_value(app, "--resource", arguments.resource, "RESOURCE", "Only of this resource");
  add_value(app, "--window", arguments.window, "hour|day", "The length of the windows (default hour)");
  add_value(app, "--from", arguments.from, "TIME",
            "Since when: today, yesterday, 24h or 7d ago, 2026-11-17, or 2026-11-17T05:00:00Z (default 24h, "
            "with --window day 30d)");
  add_value(app, "--to", arguments.to, "TIME", "Until when, written in the same way (default now)");
  add_value(app, "--top", arguments.top, "N",
            "Only those who used the most, 1 to 100: entities, or of one entity its resources");
  add_value(app, "--by", arguments.by, "LIMIT",
            "What --top compares and the bars show, such as tpm (default: the number of events)");
  app.add_flag("--plot", arguments.plot, "Draw a bar for each window");
  app.add_flag("--follow", arguments.follow, "Go on, and print what changes, until Ctrl-C");
  add_value(app, "--interval", arguments.interval, "DURATION",
            "With --follow: how often to look (default 2s)");
}

}  // namespace weir::cli
