// what-if: who would have been refused under another limits file.
#include <algorithm>
#include <tuple>

#include "app/open_store.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/decision_file.h"
#include "cli/limits_file.h"
#include "cli/text_table.h"
#include "cli/words.h"
#include "decision_log/replay.h"
#include "limiter/core.h"

namespace weir::cli {
namespace {

using base::join;
using decision_log::ReplayCount;
using decision_log::ReplayPlan;
using decision_log::ReplayResult;

/// A limiter in memory whose time is that of the log.
class ReplayLimiter {
 public:
  ReplayLimiter(std::shared_ptr<FakeClock> clock, const std::string& name_space)
      : clock_(std::move(clock)), entropy_(std::make_shared<base::SystemEntropy>()) {
    auto store = app::open_store("memory:", {}, clock_, *entropy_);
    Options options;
    options.name_space = name_space;
    core_ =
        std::make_unique<limiter::Core>(limiter::Foundation{clock_, entropy_, *std::move(store)}, options);
  }

  limiter::Core& core() { return *core_; }
  FakeClock& clock() { return *clock_; }

  Result<void> add(const config::Current& current);
  Result<void> apply(const config::Desired& desired, const config::Current& current);
  Result<void> add_parents(const ReplayPlan& plan);

 private:
  std::shared_ptr<FakeClock> clock_;
  std::shared_ptr<base::Entropy> entropy_;
  std::unique_ptr<limiter::Core> core_;
};

/// Stores what a store has. Limits of sync stay as if they did not expire.
Result<void> ReplayLimiter::add(const config::Current& current) {
  std::vector<CatalogChange> changes;
  for (const LimitsPlan& plan : current.plans) changes.emplace_back(PutPlan{plan});
  for (const Entity& entity : current.entities) changes.emplace_back(PutEntity{entity});
  for (const StoredLimits& stored : current.limits) {
    changes.emplace_back(SetLimits{stored.level,
                                   stored.limits,
                                   {.bucket_ttl_refill_multiplier = stored.bucket_ttl_refill_multiplier,
                                    .on_unavailable = stored.on_unavailable,
                                    .usage = stored.usage,
                                    .from_file = stored.from_file,
                                    .inherit = stored.inherit}});
  }
  return changes.empty() ? Result<void>() : core_->change(changes);
}

Result<void> ReplayLimiter::apply(const config::Desired& desired, const config::Current& current) {
  auto plan = config::make_plan(desired, current);
  if (!plan) return as_failure(plan.error());
  return plan->steps.empty() ? Result<void>() : core_->change(plan->steps);
}

/// Entities that nothing describes have the parents that they had in the log.
Result<void> ReplayLimiter::add_parents(const ReplayPlan& plan) {
  std::vector<CatalogChange> changes;
  for (const auto& [entity, parent] : plan.parents) {
    if (!core_->entity(entity))
      changes.emplace_back(PutEntity{{.id = entity, .parent = parent, .cascade = true}});
  }
  return changes.empty() ? Result<void>() : core_->change(changes);
}

std::string difference_text(const ReplayCount& count) {
  if (count.would_refuse == count.refused) return "0";
  return count.would_refuse > count.refused ? join("+", count_text(count.would_refuse - count.refused))
                                            : join("-", count_text(count.refused - count.would_refuse));
}

struct Line {
  std::string_view entity;
  std::string_view resource;
  const ReplayCount* count;
};

/// Those that were or would be refused, the largest changes first.
std::vector<Line> lines_of(const ReplayResult& result) {
  std::vector<Line> lines;
  for (const auto& [key, count] : result.counts) {
    if (count.refused != 0 || count.would_refuse != 0) lines.push_back({key.first, key.second, &count});
  }
  const auto change = [](const Line& line) {
    const std::uint64_t would = line.count->would_refuse;
    const std::uint64_t was = line.count->refused;
    return would > was ? would - was : was - would;
  };
  std::sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
    if (change(a) != change(b)) return change(a) > change(b);
    return std::tie(a.entity, a.resource) < std::tie(b.entity, b.resource);
  });
  return lines;
}

std::string count_json(const ReplayCount& count, base::JsonWriter json = base::JsonWriter::object()) {
  const auto number = [&](const char* name, std::uint64_t value) {
    json.number(name, static_cast<long long>(value));
  };
  number("decisions", count.decisions);
  number("refused", count.refused);
  number("would_refuse", count.would_refuse);
  number("newly_refused", count.only_in_replay);
  number("newly_admitted", count.only_in_log);
  return json.str();
}

std::string result_json(const ReplayPlan& plan, const ReplayResult& result) {
  auto items = base::JsonWriter::array();
  for (const Line& line : lines_of(result)) {
    auto json = base::JsonWriter::object();
    json.text("entity", line.entity).text("resource", line.resource);
    items.add(count_json(*line.count, json));
  }
  auto json = base::JsonWriter::object();
  json.number("from_ms", plan.from).number("to_ms", plan.to).raw("total", count_json(result.total));
  json.number("lease_changes", static_cast<long long>(result.changes));
  json.number("undecided", static_cast<long long>(result.undecided)).raw("items", items.str());
  return json.str();
}

void print_result(const Session& session, const std::string& file, const ReplayPlan& plan,
                  const ReplayResult& result) {
  const ReplayCount& total = result.total;
  session.out() << "replayed " << count_text(total.decisions) << " decisions from " << moment_text(plan.from)
                << " to " << moment_text(plan.to) << " under " << printable(file) << "\n\n";
  using Align = TextTable::Align;
  TextTable table({{"ENTITY"},
                   {"RESOURCE"},
                   {"DECISIONS", Align::right},
                   {"REFUSED", Align::right},
                   {"WOULD BE", Align::right},
                   {"CHANGE", Align::right}});
  constexpr std::size_t most = 50;
  const auto lines = lines_of(result);
  const auto add = [&](std::string_view entity, std::string_view resource, const ReplayCount& count) {
    const Tone tone = count.would_refuse > count.refused   ? Tone::bad
                      : count.would_refuse < count.refused ? Tone::good
                                                           : Tone::plain;
    table.add({{std::string(entity)},
               {std::string(resource)},
               {count_text(count.decisions)},
               {count_text(count.refused)},
               {count_text(count.would_refuse), tone},
               {difference_text(count), tone}});
  };
  for (std::size_t i = 0; i < lines.size() && i < most; ++i)
    add(lines[i].entity, lines[i].resource, *lines[i].count);
  add("all", "", total);
  table.print(session.out(), session.style());
  if (lines.size() > most)
    session.note(join("the ", count_text(most), " largest changes of ", count_text(lines.size()),
                      "; -o json has all"));
  if (total.decisions > 0 && lines.empty()) session.note("no request was refused, and none would be");
  if (result.undecided > 0) {
    session.warn(join(count_text(result.undecided), " decisions are not counted, since ", file,
                      " has no limits for them (", result.undecided_example,
                      "); --server or --store adds those that are set there"));
  }
}

Result<DecisionFile> open_log(Session& session, const Arguments& arguments) {
  return arguments.log_file ? DecisionFile::open(*arguments.log_file)
                            : DecisionFile::of_store(session.store());
}

}  // namespace

Result<ExitCode> what_if(Session& session, const Arguments& arguments) {
  const auto desired = read_desired(session.world(), arguments.file);
  if (!desired) return desired.error();
  if (auto chosen = choose_namespace(session, *desired); !chosen) return chosen.error();
  const std::string name_space = session.options().name_space;
  const auto log = open_log(session, arguments);
  if (!log) return log.error();
  const auto reader = log->reader();
  const auto plan = decision_log::plan_replay(reader, name_space);
  if (!plan) return plan.error();
  if (plan->admitted + plan->refused == 0)
    return base::error(ErrorCode::not_found, log->path(), ": has no decisions of namespace ", name_space);
  if (plan->admitted == 0)
    return base::error(
        ErrorCode::conflict, log->path(),
        ": keeps refusals only, and a replay needs every decision; let the log be written with "
        "--decision-log-mode all for a while");
  config::Current current;
  const World& world = session.world();
  if (said(arguments.common.server, world, "WEIR_SERVER") ||
      said(arguments.common.store, world, "WEIR_STORE")) {
    auto stored = read_current(session.existing());
    if (!stored) return stored.error();
    current = *std::move(stored);
  }
  ReplayLimiter limiter(std::make_shared<FakeClock>(plan->from - 1), name_space);
  if (auto added = limiter.add(current); !added) return added.error();
  if (auto applied = limiter.apply(*desired, current); !applied) return applied.error();
  if (auto added = limiter.add_parents(*plan); !added) return added.error();
  const auto result = decision_log::replay(reader, name_space, *plan, limiter.core(), limiter.clock());
  if (!result) return result.error();
  if (session.json()) {
    session.print_json(result_json(*plan, *result));
  } else {
    print_result(session, arguments.file == "-" ? "stdin" : arguments.file, *plan, *result);
  }
  return done;
}

}  // namespace weir::cli
