// Every command, its options and its examples.
#include "cli/tree.h"

namespace weir::cli {
namespace {

constexpr const char* about_consume = "How much of a limit, such as rpm=1 or tpm=500; once for each limit";
constexpr const char* about_limits =
    "A limit, such as rpm:100/min, rpm:100/min:150 (saves up to 150) or rpm:5/10s; once for each";

void add_entity_and_resource(CLI::App& app, Arguments& arguments) {
  add_argument(app, "ENTITY", arguments.entity, "The entity to charge: an API key, a user, a project")
      ->required();
  add_argument(app, "RESOURCE", arguments.resource,
               "The resource that is used: a model, an endpoint, a route")
      ->required();
}

void add_entity(CLI::App& app, Arguments& arguments) {
  add_argument(app, "ENTITY", arguments.entity, "Its id")->required();
}

void add_lease_id(CLI::App& app, Arguments& arguments) {
  app.add_option("LEASE", arguments.lease_id, "The id that acquire printed")->required()->type_name("LEASE");
}

/// --system, --resource and --entity.
void add_level(CLI::App& app, Arguments& arguments) {
  app.add_flag("--system", arguments.system, "The limits of everything that has none of its own");
  add_value(app, "--resource", arguments.resource, "RESOURCE",
            "The limits of a resource; with --entity: of both");
  add_value(app, "--entity", arguments.entity, "ENTITY", "The limits of an entity on every resource");
}

constexpr const char* level_usage = "(--system | --resource R | --entity E [--resource R])";

void add_file(CLI::App& app, Arguments& arguments) {
  app.add_option("FILE", arguments.file, "The limits file, YAML or JSON; - reads from stdin")
      ->required()
      ->type_name("FILE");
}

}  // namespace

void add_deciding_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& acquire_app = tree.command(
      tree.root, "acquire",
      "Charge an entity for using a resource, or learn how long to wait. All limits are charged, or none. "
      "Exits with 0 if admitted, 3 if refused.",
      acquire,
      {.examples = "weir acquire key-1 gpt-4 -c rpm=1 -c tpm=500\n"
                   "weir acquire key-1 gpt-4 -c rpm=1 --wait 5s     waits to be admitted, for at most 5 s\n"
                   "weir acquire key-1 gpt-4 -c rpm=1 --lease       prints a lease, to settle later\n"
                   "weir acquire key-1 search -c rps=1 -l rps:10/s  with limits for when none are set"});
  add_entity_and_resource(acquire_app, arguments);
  add_values(acquire_app, "-c,--consume", arguments.consume, "NAME=AMOUNT", about_consume)->required();
  add_values(acquire_app, "-l,--limit", arguments.limits, "NAME:LIMIT",
             "A limit to use where none are set, such as rpm:100/min; once for each");
  acquire_app.add_flag("--lease", arguments.lease,
                       "Print the lease and how to settle it (-o json always has it)");
  add_value(acquire_app, "--wait", arguments.wait, "DURATION",
            "Wait to be admitted for at most this long, such as 5s, up to 1min, instead of being refused");
  add_value(acquire_app, "--lease-for", arguments.lease_for, "DURATION",
            "How long the lease lasts, and holds concurrent limits, such as 30s; default 10min");

  CLI::App& available_app = tree.command(
      tree.root, "available",
      "Show what an entity has left on a resource. Charges nothing. With -c, exits with 3 if that would be "
      "refused.",
      available, {.examples = "weir available key-1 gpt-4\nweir available key-1 gpt-4 -c rpm=1 -c tpm=500"});
  add_entity_and_resource(available_app, arguments);
  add_values(available_app, "-c,--consume", arguments.consume, "NAME=AMOUNT", about_consume);
  add_values(available_app, "-l,--limit", arguments.limits, "NAME:LIMIT",
             "A limit to use where none are set, such as rpm:100/min; once for each");
}

void add_lease_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& lease =
      tree.group("lease", "Change a charge after it was admitted.",
                 "weir acquire key-1 gpt-4 -c tpm=500 --lease\nweir lease settle LEASE -c tpm=380\n"
                 "weir lease extend LEASE --for 5min");
  CLI::App& adjust = tree.command(
      lease, "adjust", "Charge more, or give back, while the work goes on. May take a balance into debt.",
      lease_adjust,
      {.examples = "weir lease adjust LEASE -c tpm=200 --key part-2\n"
                   "weir lease adjust LEASE -c tpm=-120 --key part-3  gives 120 back"});
  add_lease_id(adjust, arguments);
  add_values(adjust, "-c,--consume", arguments.consume, "NAME=AMOUNT",
             "How much more, or less if negative; once for each limit")
      ->required();
  add_value(adjust, "--key", arguments.key, "KEY",
            "Names this adjustment: sending it again with the same key changes nothing more")
      ->required();
  adjust.add_flag("--enforce", arguments.enforce,
                  "Refuse where a balance does not suffice, instead of going into debt (exit code 3)");
  CLI::App& settle = tree.command(
      lease, "settle",
      "Say what was really used, and end the lease. Settling again the same way changes nothing.",
      lease_settle,
      {.examples = "weir lease settle LEASE -c tpm=380\nweir lease settle LEASE               what was "
                   "charged was used"});
  add_lease_id(settle, arguments);
  add_values(settle, "-c,--consume", arguments.consume, "NAME=AMOUNT",
             "The amount that was used of a limit; limits left out keep their charge");
  CLI::App& rollback = tree.command(lease, "rollback", "Give everything back, and end the lease.",
                                    lease_rollback, {.examples = "weir lease rollback LEASE"});
  add_lease_id(rollback, arguments);
  CLI::App& extend = tree.command(
      lease, "extend",
      "Move the deadline of a lease, so that it goes on holding its concurrent limits. The deadline is never "
      "moved to an earlier time.",
      lease_extend, {.examples = "weir lease extend LEASE --for 5min"});
  add_lease_id(extend, arguments);
  add_value(extend, "--for", arguments.lease_for, "DURATION",
            "How long the lease goes on from now, such as 30s or 5min")
      ->required();
}

void add_limits_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& limits = tree.group("limits", "Set, show and plan limits.",
                                "weir limits set --system -l rpm:100/min\n"
                                "weir limits effective key-1 gpt-4\n"
                                "weir limits plan limits.yaml");
  CLI::App& set =
      tree.command(limits, "set",
                   "Set the limits of a level, in place of those that it had. The first level that has "
                   "limits holds: entity on "
                   "resource, entity, the entity's plan, resource, system. With --inherit, limits that it "
                   "does not name come from the next "
                   "one.",
                   limits_set,
                   {.usage = std::string(level_usage) + " -l NAME:LIMIT... [OPTION...]",
                    .examples = "weir limits set --system -l rpm:100/min -l tpm:50000/min\n"
                                "weir limits set --resource gpt-4 -l rpm:10/min:20\n"
                                "weir limits set --entity key-1 --resource gpt-4 -l rpm:1000/min\n"
                                "weir limits set --entity key-1 --inherit -l rpm:1000/min\n"
                                "weir limits set --resource gpt-4 -l rpm:10/min -l tpm:5000/min:shadow\n"
                                "weir limits set --entity key-1 --owner sync --expires 30s -l rpm:50/min"});
  add_level(set, arguments);
  add_values(set, "-l,--limit", arguments.limits, "NAME:LIMIT", about_limits)->required();
  add_value(set, "--owner", arguments.owner, "operator|sync",
            "The owner of the limits (default operator); an operator's replace those of sync");
  add_value(set, "--expires", arguments.expires, "DURATION",
            "How long sync's limits hold, such as 30s or 5min");
  add_value(set, "--bucket-ttl-multiplier", arguments.bucket_ttl_multiplier, "N",
            "With --system: an unused bucket is kept for N times the time to fill it (default 7)");
  add_value(set, "--on-unavailable", arguments.on_unavailable, "allow|deny",
            "With --system: what to decide while the store is unavailable");
  add_value(set, "--usage", arguments.usage, "on|off",
            "With --resource or --system: whether usage is counted; a resource's setting replaces the "
            "system's (default on)");
  add_value(
      set, "--mode", arguments.mode, "enforce|shadow|off",
      "Of all these limits: shadow admits what they would refuse and reports it; off keeps them and does "
      "nothing (default enforce)");
  set.add_flag("--fill", arguments.fill,
               "With --entity: fill its buckets to the new capacity at once, instead of by refill");
  set.add_flag(
      "--inherit", arguments.inherit,
      "Limits that are not named come from the next level; otherwise these limits replace the whole set");
}

void add_limits_listings(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& limits = *tree.root.get_subcommand("limits");
  add_level(
      tree.command(limits, "get", "Show the limits that are set at one level.", limits_get,
                   {.usage = std::string(level_usage) + " [OPTION...]",
                    .examples = "weir limits get --system\nweir limits get --entity key-1 --resource gpt-4"}),
      arguments);
  add_level(tree.command(limits, "delete",
                         "Delete the limits of one level. After that, sync may set an entity's limits again.",
                         limits_delete,
                         {.usage = std::string(level_usage) + " [OPTION...]",
                          .examples = "weir limits delete --entity key-1 --resource gpt-4"}),
            arguments);
  CLI::App& effective = tree.command(
      limits, "effective", "Show the limits that hold for an entity on a resource, and which level set them.",
      limits_effective,
      {.usage = "ENTITY RESOURCE [OPTION...]",
       .examples = "weir limits effective key-1 gpt-4\n"
                   "weir limits effective ip:203.0.113.7 /api --config gateway.yaml"});
  add_argument(effective, "ENTITY,--entity", arguments.entity, "The entity to charge");
  add_argument(effective, "RESOURCE,--resource", arguments.resource, "The resource that is used");
  effective
      .add_option("--config", arguments.config,
                  "A gateway's file: the limits of its route RESOURCE count too, as the lowest level")
      ->type_name("FILE");
  CLI::App& list =
      tree.command(limits, "list", "List all limits that are set.", limits_list,
                   {.examples = "weir limits list\n"
                                "weir limits list --owner sync\n"
                                "weir limits list --level entity -o json | jq '.items[].entity'"});
  add_value(list, "--level", arguments.level, "entity|entity_default|resource|system", "Only this level");
  add_value(list, "--owner", arguments.owner, "operator|sync", "Only this owner's");
}

void add_limits_file_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& limits = *tree.root.get_subcommand("limits");
  add_file(tree.command(
               limits, "plan",
               "Show what applying a limits file would change. Changes nothing. Exits with 4 if there are "
               "changes.",
               limits_plan, {.examples = "weir limits plan limits.yaml"}),
           arguments);
  CLI::App& apply = tree.command(
      limits, "apply",
      "Change the store to match a limits file, in one step. Removes only what an earlier apply "
      "created.",
      limits_apply,
      {.examples = "weir limits apply limits.yaml\nweir limits apply limits.yaml --dry-run  same as plan"});
  add_file(apply, arguments);
  apply.add_flag("--dry-run", arguments.dry_run, "Only show what would change, as plan does");
  add_file(
      tree.command(
          limits, "diff",
          "Show what applying a limits file would change, line by line. Exits with 4 if there are changes.",
          limits_diff, {.examples = "weir limits diff limits.yaml"}),
      arguments);
}

void add_serve_command(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& app = tree.command(
      tree.root, "serve",
      "Serve decisions over HTTP until it is told to stop. SIGHUP reads tokens and certificate again.", serve,
      {.examples = "weir serve\n"
                   "weir serve --listen 0.0.0.0:8080 --tokens tokens.txt --threads 4\n"
                   "weir serve --listen [::]:8443 --tokens tokens.txt --tls-cert cert.pem --tls-key key.pem",
       .reach = Reach::here});
  add_value(app, "--listen", arguments.listen, "HOST:PORT", "Where to listen (default 127.0.0.1:8080)");
  add_value(app, "--threads", arguments.threads, "N", "How many threads answer (default 1)");
  add_value(
      app, "--tokens", arguments.tokens, "FILE",
      "The callers: lines of NAME ROLE[,ROLE] sha256:HEX [NAMESPACE], with roles acquire, read and admin");
  add_value(app, "--tls-cert", arguments.tls_cert, "FILE", "The certificate chain, as PEM");
  add_value(app, "--tls-key", arguments.tls_key, "FILE", "Its key, as PEM");
  add_value(
      app, "--on-unavailable", arguments.on_unavailable, "allow|deny",
      "What to answer while the store cannot be reached (default: what the system's limits say, else deny)");
  add_value(app, "--log-format", arguments.log_format, "text|json",
            "How lines of the logs are written (default text)");
  add_value(app, "--log-level", arguments.log_level, "debug|info|warning|error",
            "The least severe level that is logged (default info)");
  add_value(app, "--access-log", arguments.access_log, "FILE",
            "A line for each request, to a file, which SIGHUP opens again, or - for stdout (default: none)");
  add_value(
      app, "--decision-log", arguments.decision_log, "FILE",
      "Where decisions are kept for `weir explain` (default: beside the file of a sqlite: store; for any "
      "other store in memory)");
  add_value(app, "--decision-log-mode", arguments.decision_log_mode, "off|refusals|all",
            "Which decisions are kept (default refusals)");
  add_value(app, "--decision-log-size", arguments.decision_log_size, "SIZE",
            "The most space that they take, such as 64MB or 2GB (default 256MB, in memory 16MB)");
  add_value(app, "--decision-log-keep", arguments.decision_log_keep, "DURATION",
            "How long they are kept at the most, such as 12h (default 30d)");
  add_value(app, "--decision-log-lines", arguments.decision_log_lines, "FILE",
            "Each of them as a line of JSON, too, to a file, which SIGHUP opens again, or - for stdout");
  app.add_flag("--insecure", arguments.insecure, "Listen beyond this machine without tokens");
  app.add_flag("--aggregate", arguments.aggregate,
               "Also count usage from the stream of a dynamodb: table, as `weir aggregate` does");
  CLI::App& counting = tree.command(
      tree.root, "aggregate",
      "Count usage from the stream of a dynamodb: table, by hours, until it is told to stop. Any number of "
      "processes share the work, and each can end at any moment: every charge is counted once.",
      aggregate,
      {.examples = "weir aggregate --store dynamodb://weir\n"
                   "weir aggregate --store dynamodb://weir --batch 5s",
       .reach = Reach::here});
  add_value(counting, "--batch", arguments.batch, "DURATION",
            "How long a charge waits for others on its bucket, which share one write (default 1s)");
  add_value(counting, "--log-format", arguments.log_format, "text|json",
            "How lines of the log are written (default text)");
  add_value(counting, "--log-level", arguments.log_level, "debug|info|warning|error",
            "The least severe level that is logged (default info)");
}

void add_gateway_command(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& app =
      tree.command(tree.root, "gateway",
                   "Pass HTTP requests on to servers behind it, and hold each client to its limits on each "
                   "route. SIGHUP reads "
                   "the file again without dropping a connection; a bad one changes nothing.",
                   gateway,
                   {.usage = "--config FILE [OPTION...]",
                    .examples = "weir gateway --config gateway.yaml --check\n"
                                "weir gateway --config gateway.yaml --store redis://127.0.0.1:6379",
                    .reach = Reach::here});
  app.add_option("--config", arguments.config, "The gateway's file: where to listen, routes, limits")
      ->required()
      ->type_name("FILE");
  app.add_flag("--check", arguments.check, "Only say what is wrong with the file, with line and column");
  add_value(app, "--log-format", arguments.log_format, "text|json",
            "How lines of the logs are written (default text)");
  add_value(app, "--log-level", arguments.log_level, "debug|info|warning|error",
            "The least severe level that is logged (default info)");
}

void add_entity_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& entity =
      tree.group("entity", "Give entities a parent, a plan, a name, metadata.",
                 "weir entity create key-1 --parent project --cascade\nweir entity children project");
  CLI::App& create = tree.command(
      entity, "create",
      "Store an entity, in place of what was stored about it. Entities need not be stored to be charged.",
      entity_create,
      {.examples = "weir entity create key-1 --parent project --cascade\n"
                   "weir entity create key-1 --plan pro\n"
                   "weir entity create project --name 'Search team' --meta cost-center=42"});
  add_entity(create, arguments);
  add_value(create, "--parent", arguments.parent, "ENTITY", "The entity above it");
  create.add_flag("--cascade", arguments.cascade, "Charge the parent, too, for what this entity uses");
  add_value(create, "--plan", arguments.plan, "PLAN",
            "The plan whose limits hold where it has none of its own");
  add_value(create, "--name", arguments.name, "NAME", "A name for people");
  add_values(create, "--meta", arguments.metadata, "NAME=VALUE",
             "Anything to remember about it, once for each. The gateway charges the entity that alias names");
  add_entity(tree.command(entity, "get", "Show what is stored about an entity.", entity_get,
                          {.examples = "weir entity get key-1"}),
             arguments);
  tree.command(entity, "list", "List every stored entity with its parent, its plan and its name.",
               entity_list, {.examples = "weir entity list\nweir entity list -o json"});
  add_entity(tree.command(entity, "delete",
                          "Delete an entity, its limits and its buckets. Refused while it has children.",
                          entity_delete, {.examples = "weir entity delete key-1"}),
             arguments);
  add_entity(tree.command(entity, "children", "List the entities right below an entity, one on a line.",
                          entity_children, {.examples = "weir entity children project"}),
             arguments);
}

void add_audit_command(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& audit_app = tree.command(
      tree.root, "audit",
      "Show the changes of limits, plans, entities and namespaces, newest first, and their authors.", audit,
      {.usage = "[ENTITY | --plan P | --resource R | --system] [OPTION...]",
       .examples = "weir audit\nweir audit key-1 --since 1d\n"
                   "weir audit --resource gpt-4 --limit 10\n"
                   "weir audit --kind limits --by alice --from 2026-11-01 --to 2026-11-08"});
  add_argument(audit_app, "ENTITY,--entity", arguments.entity, "Only changes of this entity and its limits");
  add_value(audit_app, "--plan", arguments.plan, "PLAN", "Only changes of this plan");
  add_value(audit_app, "--resource", arguments.resource, "RESOURCE",
            "Only changes of this resource's limits");
  audit_app.add_flag("--system", arguments.system, "Only changes of the system's limits");
  add_value(audit_app, "--since", arguments.since, "TIME",
            "Since when: today, yesterday, 24h or 7d ago, 2026-11-17, or 2026-11-17T05:00:00Z");
  add_value(audit_app, "--from", arguments.from, "TIME", "The same as --since");
  add_value(audit_app, "--to", arguments.to, "TIME", "Until when, written in the same way (default now)");
  add_value(audit_app, "--by", arguments.by, "NAME", "Only changes that this person or program made");
  add_value(audit_app, "--kind", arguments.kind, "limits|entity|plan|namespace",
            "Only changes of this kind, or one action, such as limits.set");
  add_value(audit_app, "--limit", arguments.limit, "N", "How many at the most (default 50)");
}

void add_store_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& store =
      tree.group("store", "Set up and look into the store.",
                 "weir store init --keep-audit 90d\nweir store check\nweir store show key-1 gpt-4\n"
                 "weir store list --resource gpt-4 --below 10%");
  CLI::App& init = tree.command(
      store, "init", "Make the store where there is none. One that exists stays as it is.", store_init,
      {.examples = "weir store init --store sqlite:/var/lib/weir/weir.db\n"
                   "weir store init --store 'dynamodb://weir?region=eu-central-1'\n"
                   "weir store init --store dynamodb://weir --template terraform",
       .reach = Reach::here});
  add_value(init, "--keep-audit", arguments.keep_audit, "DURATION",
            "How long to keep the audit, from now on, such as 90d (a year unless said)");
  add_value(init, "--template", arguments.store_template, "cloudformation|terraform|iam|iam-aggregate",
            "For dynamodb: make nothing, print what makes the table, or the rights that weir needs");
  CLI::App& migrate = tree.command(store, "migrate",
                                   "For dynamodb: convert legacy items, one for each limit, into buckets, "
                                   "during traffic. Checks every item first, and goes on where an earlier "
                                   "run was stopped. For sqlite: upgrade the file.",
                                   store_migrate,
                                   {.examples = "weir store migrate --store dynamodb://weir --dry-run\n"
                                                "weir store migrate --store dynamodb://weir --rate 50",
                                    .reach = Reach::here});
  migrate.add_flag("--dry-run", arguments.dry_run, "Only count what there is to convert; writes nothing");
  add_value(migrate, "--rate", arguments.rate, "N",
            "Buckets to convert in a second, at the most (default 100)");
  add_store_copy(tree, store);
  tree.command(store, "check", "Check that the store is sound and keeps its promises, and say what to do.",
               store_check,
               {.examples = "weir store check --store sqlite:/var/lib/weir/weir.db\n"
                            "weir store check --server http://127.0.0.1:8080"});
  add_store_list(tree, store);
  CLI::App& show = tree.command(
      store, "show", "Show the buckets of an entity: what each limit holds, and when it is full.", store_show,
      {.examples = "weir store show key-1 gpt-4\nweir store show key-1"});
  add_entity(show, arguments);
  add_argument(show, "RESOURCE", arguments.resource, "Only the bucket on this resource");
  CLI::App& bench_app =
      tree.command(tree.root, "bench", "Measure what decisions cost in a store that is paid by request.",
                   bench, {.examples = "weir bench --cost --store dynamodb://weir", .reach = Reach::here});
  bench_app.add_flag(
      "--cost", arguments.cost,
      "Requests, units and dollars of each kind of decision; decides some hundred times in the "
      "namespace weir-bench");
}

void add_other_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& completion_app =
      tree.command(tree.root, "completion",
                   "Print a script that lets a shell complete weir's commands and options.", completion,
                   {.examples = "eval \"$(weir completion bash)\"                    in ~/.bashrc\n"
                                "weir completion zsh > ~/.zfunc/_weir              in a folder of $fpath\n"
                                "weir completion fish > ~/.config/fish/completions/weir.fish",
                    .reach = Reach::here});
  completion_app.add_option("SHELL", arguments.shell, "Which shell: bash, zsh or fish")
      ->required()
      ->type_name("bash|zsh|fish");
  CLI::App& help_app = tree.command(tree.root, "help", "Show help for a command.", help,
                                    {.examples = "weir help limits set", .reach = Reach::here});
  help_app.add_option("COMMAND", arguments.topic, "Which command")->type_name("COMMAND");
}

}  // namespace weir::cli
