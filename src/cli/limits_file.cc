// limits plan, apply and diff.
#include "cli/limits_file.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/hidden.h"
#include "cli/progress.h"
#include "cli/words.h"
#include "config/plan.h"

namespace weir::cli {

using base::join;
using config::Change;
using config::ChangeKind;
using config::Plan;

Error as_failure(const Error& error) {
  return {error.code == ErrorCode::invalid_argument ? ErrorCode::conflict : error.code, error.message};
}

namespace {

Result<std::string> read_text(const World& world, const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << world.in.rdbuf();
    return std::move(text).str();
  }
  auto read = base::read_file(file);
  if (!read) return base::error(ErrorCode::not_found, read.error().message);
  return read;
}

}  // namespace

Result<config::Desired> read_desired(const World& world, const std::string& file) {
  const auto text = read_text(world, file);
  if (!text) return text.error();
  const std::string shown = file == "-" ? "stdin" : file;
  Progress progress(world, join("reading ", shown));
  config::ReadOptions options{.file = shown};
  options.progress = [&](std::size_t read, std::size_t of) { progress.show(read, of); };
  auto desired = config::read_limits_file(*text, options);
  if (!desired) return as_failure(desired.error());
  return desired;
}

Result<void> choose_namespace(Session& session, const config::Desired& desired) {
  if (!desired.name_space) return {};
  const std::string& name_space = session.options().name_space;
  if (session.namespace_was_said() && name_space != *desired.name_space) {
    return base::error(ErrorCode::conflict, "the file is for namespace ", *desired.name_space, ", not for ",
                       name_space, "; leave out --namespace and WEIR_NAMESPACE, or change the file");
  }
  session.choose_namespace(*desired.name_space);
  return {};
}

Result<config::Current> read_current(client::Target& target) {
  config::Current current;
  auto listed = for_each_item([&](const Paging& paging) { return target.list_limits({}, paging); },
                              [&](const StoredLimits& stored) { current.limits.push_back(stored); });
  if (!listed) return listed.error();
  listed = for_each_item([&](const Paging& paging) { return target.entities(paging); },
                         [&](const Entity& entity) { current.entities.push_back(entity); });
  if (!listed) return listed.error();
  listed = for_each_item([&](const Paging& paging) { return target.plans(paging); },
                         [&](const LimitsPlan& plan) { current.plans.push_back(plan); });
  if (!listed) return listed.error();
  return current;
}

namespace {

Result<Plan> plan_of(Session& session, const Arguments& arguments) {
  const auto desired = read_desired(session.world(), arguments.file);
  if (!desired) return desired.error();
  if (auto chosen = choose_namespace(session, *desired); !chosen) return chosen.error();
  client::Target& target = session.target();
  const auto current = read_current(target);
  if (!current) return current.error();
  auto plan = config::make_plan(*desired, *current);
  if (!plan) return as_failure(plan.error());
  note_hidden(session, *plan, *current);
  return plan;
}

std::string to_json(const Plan& plan, bool applied) {
  auto changes = base::JsonWriter::array();
  for (const Change& change : plan.changes) {
    auto json = base::JsonWriter::object();
    json.text("kind", name_of(change.kind)).text("subject", change.subject);
    if (!change.before.empty()) json.text("before", change.before);
    if (!change.after.empty()) json.text("after", change.after);
    if (!change.note.empty()) json.text("note", change.note);
    changes.add(json.str());
  }
  auto kept = base::JsonWriter::array();
  for (const std::string& sentence : plan.kept) kept.add(base::json_string(sentence));
  auto json = base::JsonWriter::object();
  json.raw("changes", changes.str()).raw("kept", kept.str());
  json.number("added", static_cast<long long>(plan.added));
  json.number("changed", static_cast<long long>(plan.changed));
  json.number("removed", static_cast<long long>(plan.removed));
  json.number("unchanged", static_cast<long long>(plan.unchanged)).flag("applied", applied);
  return json.str();
}

struct Mark {
  const char* sign;
  Tone tone;
};

Mark mark_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::add:
      return {"+", Tone::good};
    case ChangeKind::change:
      return {"~", Tone::warning};
    default:
      return {"-", Tone::bad};
  }
}

void print_change(const Session& session, const Change& change, std::size_t width) {
  const Mark mark = mark_of(change.kind);
  const std::string subject = printable(change.subject);
  std::string what = printable(change.kind == ChangeKind::remove ? change.before : change.after);
  if (change.kind == ChangeKind::change)
    what = join(printable(change.before), session.style()(Tone::quiet, " -> "), what);
  session.out() << session.style()(mark.tone, join(mark.sign, " ", subject))
                << std::string(width - std::min(width, columns(subject)) + 2, ' ') << what << '\n';
  if (!change.note.empty())
    session.out() << "    " << session.style()(Tone::quiet, printable(change.note)) << '\n';
}

void print_plan(const Session& session, const Plan& plan) {
  if (session.json()) return session.print_json(to_json(plan, false));
  std::size_t width = 0;
  for (const Change& change : plan.changes) width = std::max(width, columns(printable(change.subject)));
  for (const Change& change : plan.changes) print_change(session, change, std::min<std::size_t>(width, 48));
  for (const std::string& sentence : plan.kept) session.note(sentence);
  session.out() << config::summary(plan) << '\n';
}

/// The parts of "rpm 100/min, tpm 50000/min".
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.size());
    parts.push_back(printable(text.substr(at, end - at)));
    at = end + 2;
  }
  return parts;
}

void print_difference(const Session& session, const Change& change) {
  const auto before = parts_of(change.before);
  const auto after = parts_of(change.after);
  const auto has = [](const auto& parts, const auto& part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  session.out() << session.style()(Tone::heading, join("@@ ", printable(change.subject), " @@")) << '\n';
  for (const std::string& part : before) {
    if (has(after, part)) {
      session.out() << ' ' << part << '\n';
    } else {
      session.out() << session.style()(Tone::bad, join("-", part)) << '\n';
    }
  }
  for (const std::string& part : after) {
    if (!has(before, part)) session.out() << session.style()(Tone::good, join("+", part)) << '\n';
  }
}

}  // namespace

Result<ExitCode> limits_plan(Session& session, const Arguments& arguments) {
  const auto plan = plan_of(session, arguments);
  if (!plan) return plan.error();
  print_plan(session, *plan);
  return plan->empty() ? done : changes;
}

Result<ExitCode> limits_diff(Session& session, const Arguments& arguments) {
  const auto plan = plan_of(session, arguments);
  if (!plan) return plan.error();
  if (session.json()) {
    session.print_json(to_json(*plan, false));
  } else if (!plan->empty()) {
    session.out() << "--- " << session.place() << "\n+++ " << printable(arguments.file) << '\n';
    for (const Change& change : plan->changes) print_difference(session, change);
  }
  return plan->empty() ? done : changes;
}

Result<ExitCode> limits_apply(Session& session, const Arguments& arguments) {
  if (arguments.dry_run) return limits_plan(session, arguments);
  const auto plan = plan_of(session, arguments);
  if (!plan) return plan.error();
  client::Target& target = session.target();
  if (!plan->steps.empty()) {
    Progress progress(session.world(), "applying");
    ChangeOptions options;
    options.progress = [&](std::size_t made, std::size_t of) { progress.show(made, of); };
    const auto made = target.change(std::span(plan->steps), options);
    if (!made)
      return base::error(as_failure(made.error()).code, made.error().message, "; nothing was applied");
    session.warn_if_forgotten();
  }
  if (session.json()) {
    session.print_json(to_json(*plan, true));
    return done;
  }
  for (const std::string& sentence : plan->kept) session.note(sentence);
  session.out() << session.style()(Tone::good, plan->empty() ? "nothing to do" : "applied") << ": "
                << count_text(plan->added) << " added, " << count_text(plan->changed) << " changed, "
                << count_text(plan->removed) << " removed, " << count_text(plan->unchanged) << " unchanged\n";
  return done;
}

}  // namespace weir::cli
