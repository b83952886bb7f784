// plan set, get, delete, list and members.
#include <algorithm>

#include "api/catalog_json.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "cli/words.h"
#include "limits/limit_set.h"

namespace weir::cli {
namespace {

using base::invalid;
using base::join;

std::string set_text(const PlanLimits& set) {
  return join(option_text(std::span(set.limits)), set.inherit ? " (inherits)" : "");
}

/// A row for each set of a plan. `named`: with the name of the plan, as in a listing.
void add_rows(TextTable& table, const LimitsPlan& plan, bool named) {
  const auto add = [&](const std::string& resource, const PlanLimits& set) {
    std::vector<Cell> row{{resource}, {set_text(set)}};
    if (named) row.insert(row.begin(), {plan.name});
    if (named) row.insert(row.begin() + 2, {plan.from_file ? "yes" : "no"});
    table.add(std::move(row));
  };
  if (!plan.limits.limits.empty()) add("every other", plan.limits);
  for (const auto& [resource, set] : plan.resources) add(resource, set);
}

void print_plan(const Session& session, const LimitsPlan& plan) {
  if (session.json()) return session.print_json(api::to_json(plan));
  session.print_fields({{"plan", plan.name}, {"from file", plan.from_file ? "yes" : ""}});
  TextTable table({{"RESOURCE"}, {"LIMITS"}});
  add_rows(table, plan, false);
  table.print(session.out(), session.style());
}

/// `-l [RESOURCE=]NAME:LIMIT`, `--inherit`, `--inherit-on RESOURCE` and `--mode`.
Result<LimitsPlan> read_plan(const Arguments& arguments) {
  LimitsPlan plan{.name = *arguments.plan};
  std::vector<std::string> for_all;
  std::map<std::string, std::vector<std::string>> for_resources;
  for (const std::string& text : arguments.limits) {
    const std::size_t equals = text.find('=');
    const bool of_resource = equals != std::string::npos;
    (of_resource ? for_resources[text.substr(0, equals)] : for_all)
        .push_back(of_resource ? text.substr(equals + 1) : text);
  }
  auto all = read_limits(for_all);
  if (!all) return all.error();
  plan.limits = {*std::move(all), arguments.inherit};
  for (const auto& [resource, texts] : for_resources) {
    auto limits = read_limits(texts);
    if (!limits) return limits.error();
    plan.resources[resource].limits = *std::move(limits);
  }
  for (const std::string& resource : arguments.inherit_on) {
    const auto found = plan.resources.find(resource);
    if (found == plan.resources.end())
      return invalid("--inherit-on ", base::quoted(resource), ": name its limits too, as in -l ", resource,
                     "=rpm:10/min");
    found->second.inherit = true;
  }
  if (!arguments.mode) return plan;
  const auto mode = parse_mode(*arguments.mode);
  if (!mode) return invalid("--mode: ", mode.error().message);
  limits::set_mode(plan.limits.limits, *mode);
  for (auto& [resource, set] : plan.resources) limits::set_mode(set.limits, *mode);
  return plan;
}

}  // namespace

Result<ExitCode> plan_set(Session& session, const Arguments& arguments) {
  const auto plan = read_plan(arguments);
  if (!plan) return plan.error();
  const auto stored = session.target().put_plan(*plan);
  if (!stored) return stored.error();
  session.warn_if_forgotten();
  print_plan(session, *stored);
  return done;
}

Result<ExitCode> plan_get(Session& session, const Arguments& arguments) {
  const auto plan = session.existing().plan(*arguments.plan);
  if (!plan) return plan.error();
  print_plan(session, *plan);
  return done;
}

Result<ExitCode> plan_delete(Session& session, const Arguments& arguments) {
  if (auto deleted = session.existing().delete_plan(*arguments.plan); !deleted) return deleted.error();
  if (!session.json()) session.out() << "deleted plan " << printable(*arguments.plan) << '\n';
  return done;
}

Result<ExitCode> plan_list(Session& session, const Arguments& /*arguments*/) {
  client::Target& target = session.existing();
  TextTable table({{"PLAN"}, {"RESOURCE"}, {"FROM FILE"}, {"LIMITS"}});
  JsonList json(session.out(), "items");
  bool found = false;
  const auto visit = [&](const LimitsPlan& plan) {
    found = true;
    if (session.json()) return json.add(api::to_json(plan));
    add_rows(table, plan, true);
  };
  auto listed = for_each_item([&](const Paging& paging) { return target.plans(paging); }, visit);
  if (!listed) return listed.error();
  if (!found) session.note_empty_namespace();
  if (session.json()) {
    json.end();
  } else {
    table.print(session.out(), session.style());
  }
  return done;
}

Result<ExitCode> plan_members(Session& session, const Arguments& arguments) {
  client::Target& target = session.existing();
  JsonList json(session.out(), "members");
  bool found = false;
  auto listed = for_each_item([&](const Paging& paging) { return target.members(*arguments.plan, paging); },
                              [&](const std::string& member) {
                                found = true;
                                if (session.json()) return json.add(base::json_string(member));
                                session.out() << printable(member) << '\n';
                              });
  if (!listed) return listed.error();
  if (!found) session.note_empty_namespace();
  if (session.json()) json.end();
  return done;
}

}  // namespace weir::cli
