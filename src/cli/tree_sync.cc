// The command for sync, its options and examples.
#include "cli/tree.h"

namespace weir::cli {

void add_sync_command(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& app = tree.command(
      tree.root, "sync",
      "Share limits between regions that have stores of their own: exchange snapshots with the other "
      "regions, "
      "and write this region's share, until it is told to stop. An operator's limits are never touched.",
      sync,
      {.usage = "[status|simulate] --config FILE [OPTION...]",
       .examples = "weir sync --config sync.yaml\n"
                   "weir sync --config sync.yaml --once             one cycle, for cron\n"
                   "weir sync --config sync.yaml --dry-run          what one cycle would write, and why\n"
                   "weir sync status --config sync.yaml             the shares, and what operators own\n"
                   "weir sync simulate --regions 3 --demand demand.csv -l rpm:600/min",
       .reach = Reach::here});
  add_argument(app, "ACTION", arguments.action, "status or simulate; by default the cycles run",
               "status|simulate");
  add_value(app, "--config", arguments.sync_config, "FILE",
            "This region, the others, their exchange, and what they share");
  app.add_flag("--once", arguments.once, "Run one cycle, and end");
  app.add_flag("--dry-run", arguments.dry_run, "Show what one cycle would write, and why; publish nothing");
  add_value(app, "--metrics", arguments.metrics_file, "FILE",
            "Write metrics to this file after each cycle, for the textfile collector of node_exporter");
  add_value(app, "--regions", arguments.regions, "N", "simulate: how many regions, 2 to 8 (default 3)");
  add_value(app, "--demand", arguments.demand, "FILE",
            "simulate: CSV with a line for each window, and in it what each region asks for");
  add_values(app, "-l,--limit", arguments.limits, "NAME:LIMIT",
             "simulate: the whole limit (default rpm:600/min)");
  add_value(app, "--floor", arguments.floor, "whole|share",
            "simulate: what each store falls back to without a share (default share)");
  add_value(app, "--log-format", arguments.log_format, "text|json",
            "How lines of the log are written (default text)");
  add_value(app, "--log-level", arguments.log_level, "debug|info|warning|error",
            "The least severe level that is logged (default info)");
}

}  // namespace weir::cli
