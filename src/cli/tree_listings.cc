// The commands that show what is left for everybody, top and store list, and the load test.
#include "cli/tree.h"

namespace weir::cli {
namespace {

void add_filter(CLI::App& app, Arguments& arguments, const char* about_sort) {
  add_value(app, "--resource", arguments.resource, "RESOURCE", "Only buckets on this resource");
  add_value(app, "--sort", arguments.sort, "entity|remaining|consumed", about_sort);
  add_value(app, "--below", arguments.below, "PERCENT",
            "Only buckets that have less than this share of a limit's capacity left, such as 10%");
  add_value(app, "--by", arguments.by, "LIMIT",
            "Compare this limit only, such as tpm (default: the one of which the least is left)");
}

}  // namespace

void add_store_list(Tree& tree, CLI::App& store) {
  Arguments& arguments = tree.arguments;
  CLI::App& app = tree.command(
      store, "list", "Show what is left in the buckets of every entity, at the present moment.", store_list,
      {.examples = "weir store list --resource gpt-4\n"
                   "weir store list --resource gpt-4 --sort remaining --below 10%\n"
                   "weir store list --resource gpt-4 --sort consumed --by tpm --limit 20 -o json"});
  add_filter(app, arguments,
             "The order: by entity, the least left first, or the most consumed first (default entity); the "
             "last two read every bucket, at most 100,000");
  add_value(app, "--limit", arguments.limit, "N",
            "How many buckets at the most (default: all; sorted by what is left or consumed: 100)");
}

void add_top_command(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& app =
      tree.command(tree.root, "top", "Watch the buckets that have the least left, until Ctrl-C.", top,
                   {.examples = "weir top --resource gpt-4\n"
                                "weir top --resource gpt-4 --sort consumed --by tpm --interval 5s\n"
                                "weir top --once --rows 10"});
  add_filter(app, arguments,
             "The order: the least left first, the most consumed first, or by entity (default remaining)");
  add_value(app, "--rows", arguments.rows, "N",
            "How many buckets to show, 1 to 1000 (default: as many as the terminal has room for)");
  add_value(app, "--interval", arguments.interval, "DURATION", "How often to look (default 2s)");
  app.add_flag("--once", arguments.once, "Look once, and end");
}

void add_namespace_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& group = tree.group("namespace", "List, create, purge and restore the namespaces of a store.",
                               "weir namespace list --store redis://HOST");
  tree.command(group, "list",
               "List the namespaces that were created or have limits, plans, entities or buckets, and their "
               "states. Redis and DynamoDB read all keys for it.",
               namespace_list, {.examples = "weir namespace list\nweir namespace list -o json"});
  CLI::App& create = tree.command(
      group, "create",
      "Create a namespace, so that it is listed before it is used. Using one does "
      "not need it.",
      namespace_create, {.usage = "NAME [OPTION...]", .examples = "weir namespace create staging"});
  add_argument(create, "NAME", arguments.name, "The namespace")->required();
  CLI::App& purge = tree.command(
      group, "purge",
      "Refuse every request in a namespace at once, and keep everything in it for a time, in which it can be "
      "restored. After that time, the same command deletes it with everything in it.",
      namespace_purge,
      {.usage = "NAME [--keep DURATION | --now] | --due [OPTION...]",
       .examples = "weir namespace purge staging\n"
                   "weir namespace purge staging --now\n"
                   "weir namespace purge --due"});
  add_argument(purge, "NAME", arguments.name, "The namespace");
  add_value(purge, "--keep", arguments.keep, "DURATION",
            "For how long it can be restored, up to 366d (default 7d)");
  purge.add_flag("--now", arguments.at_once, "Delete it at once; it cannot be restored");
  purge.add_flag("--due", arguments.due, "Delete every purged namespace whose time is over");
  CLI::App& restore = tree.command(
      group, "restore", "Use a purged namespace again, with everything that was in it.", namespace_restore,
      {.usage = "NAME [OPTION...]", .examples = "weir namespace restore staging"});
  add_argument(restore, "NAME", arguments.name, "The namespace")->required();
}

void add_loadtest_command(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& app = tree.command(
      tree.root, "loadtest",
      "Send acquires to a service of your own, and show how many it answers in a second, and how fast. The "
      "charges are real. Exits with 1 if one failed.",
      loadtest,
      {.usage = "ENTITY RESOURCE -c NAME=AMOUNT --server URL [OPTION...]",
       .examples =
           "weir loadtest key-1 gpt-4 -c rpm=1 --server http://127.0.0.1:8080\n"
           "weir loadtest key-1 gpt-4 -c rpm=1 --server http://127.0.0.1:8080 --rate 500 --duration 30s\n"
           "weir loadtest load test -c rps=1 -l rps:100000/s --server http://127.0.0.1:8080 --requests "
           "10000"});
  add_argument(app, "ENTITY", arguments.entity, "The entity to charge")->required();
  add_argument(app, "RESOURCE", arguments.resource, "The resource that is used")->required();
  add_values(app, "-c,--consume", arguments.consume, "NAME=AMOUNT",
             "How much of a limit each call asks for; once for each limit")
      ->required();
  add_values(app, "-l,--limit", arguments.limits, "NAME:LIMIT",
             "A limit to use where none are set, such as rpm:100/min; once for each");
  add_value(app, "--concurrency", arguments.concurrency, "N",
            "How many calls at a time, 1 to 256 (default 8)");
  add_value(
      app, "--rate", arguments.rate, "N",
      "Calls in a second, at the most; latencies then count from when a call was due (default: no bound)");
  add_value(app, "--duration", arguments.duration, "DURATION", "How long, at most 1h (default 10s)");
  add_value(app, "--requests", arguments.requests, "N", "End after so many calls, in place of --duration");
  add_value(app, "--confirm", arguments.confirm, "HOST",
            "The host of --server once more, if it is not this machine: yes, that service may be loaded");
}

}  // namespace weir::cli
