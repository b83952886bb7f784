// The commands for plans, their options and examples.
#include "cli/tree.h"

namespace weir::cli {

void add_plan_commands(Tree& tree) {
  Arguments& arguments = tree.arguments;
  CLI::App& plan = tree.group("plan", "Set and show plans: named limits that entities refer to.",
                              "weir plan set pro -l rpm:100/min -l gpt-4=rpm:20/min\n"
                              "weir entity create key-1 --plan pro");
  const auto add_plan = [&](CLI::App& app) {
    add_argument(app, "PLAN", arguments.plan, "Its name")->required();
  };
  CLI::App& set = tree.command(
      plan, "set",
      "Set the limits of a plan, in place of all that it had. They hold for every entity that has the plan, "
      "unless the entity has limits of its own.",
      plan_set,
      {.usage = "PLAN -l [RESOURCE=]NAME:LIMIT... [OPTION...]",
       .examples = "weir plan set pro -l rpm:100/min -l tpm:50000/min\n"
                   "weir plan set pro -l rpm:100/min -l gpt-4=rpm:20/min\n"
                   "weir plan set pro -l rpm:100/min -l gpt-4=tpm:9000/min --inherit-on gpt-4"});
  add_plan(set);
  add_values(set, "-l,--limit", arguments.limits, "[RESOURCE=]NAME:LIMIT",
             "A limit, such as rpm:100/min, or gpt-4=rpm:20/min for one resource; once for each")
      ->required();
  set.add_flag("--inherit", arguments.inherit,
               "Limits that are not named come from the next level, on resources without limits here");
  add_values(set, "--inherit-on", arguments.inherit_on, "RESOURCE",
             "On this resource, limits that are not named come from the plan's other limits");
  add_value(set, "--mode", arguments.mode, "enforce|shadow|off",
            "Of all these limits: shadow admits what they would refuse and reports it; off keeps them and "
            "does nothing (default enforce)");
  add_plan(
      tree.command(plan, "get", "Show the limits of a plan.", plan_get, {.examples = "weir plan get pro"}));
  add_plan(tree.command(plan, "delete", "Delete a plan. Refused while an entity has it.", plan_delete,
                        {.examples = "weir plan delete pro"}));
  tree.command(plan, "list", "List all plans.", plan_list,
               {.examples = "weir plan list\nweir plan list -o json | jq '.items[].plan'"});
  add_plan(tree.command(plan, "members", "List the entities that have a plan, one on a line.", plan_members,
                        {.examples = "weir plan members pro"}));
}

}  // namespace weir::cli
