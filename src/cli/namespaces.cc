// namespace list, create, purge and restore.
#include "api/catalog_json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using base::invalid;
using base::join;

bool is_due(const Namespace& name_space, Time now) {
  return name_space.kept_until && *name_space.kept_until <= now;
}

std::string state_of(const Namespace& name_space, Time now) {
  if (!name_space.purged_at) return "in use";
  if (is_due(name_space, now)) return "purged; purge it again to delete it";
  return join("purged; can be restored until ", moment_text(*name_space.kept_until));
}

Result<ExitCode> print(const Session& session, const Result<Namespace>& changed, std::string_view said) {
  if (!changed) return changed.error();
  session.warn_if_forgotten();
  if (session.json()) {
    session.print_json(api::to_json(*changed));
  } else {
    session.out() << "namespace " << changed->name << said << '\n';
  }
  return done;
}

Result<ExitCode> purge(Session& session, const std::string& name, std::chrono::milliseconds keep_for) {
  const auto purged = session.existing().purge_namespace(name, keep_for);
  if (!purged) return purged.error();
  if (purged->erased) return print(session, purged, " was deleted with everything in it");
  return print(session, purged,
               join(" is purged: its requests are refused. It can be restored until ",
                    moment_text(*purged->kept_until), " with: weir namespace restore ", name,
                    "\nAfter that, weir namespace purge ", name, " deletes it"));
}

/// Deletes every namespace that was purged and whose time is over.
Result<ExitCode> purge_due(Session& session) {
  const auto names = session.existing().namespaces();
  if (!names) return names.error();
  bool found = false;
  for (const Namespace& one : *names) {
    if (!is_due(one, session.now())) continue;
    found = true;
    if (auto purged = purge(session, one.name, {}); !purged) return purged;
  }
  if (!found) session.note("no purged namespace is due to be deleted");
  return done;
}

}  // namespace

Result<ExitCode> namespace_list(Session& session, const Arguments& /*arguments*/) {
  const auto names = session.existing().namespaces();
  if (!names) return names.error();
  JsonList json(session.out(), "namespaces");
  TextTable table({{"NAMESPACE"}, {"STATE"}});
  for (const Namespace& one : *names)
    session.json() ? json.add(api::to_json(one)) : table.add({{one.name}, {state_of(one, session.now())}});
  if (session.json()) {
    json.end();
  } else if (!names->empty()) {
    table.print(session.out(), session.style());
  }
  return done;
}

Result<ExitCode> namespace_create(Session& session, const Arguments& arguments) {
  return print(session, session.target().create_namespace(*arguments.name), " exists");
}

Result<ExitCode> namespace_purge(Session& session, const Arguments& arguments) {
  if (arguments.due && (arguments.name || arguments.keep || arguments.at_once))
    return invalid("--due deletes every namespace whose time is over; leave out the rest");
  if (arguments.due) return purge_due(session);
  if (!arguments.name) return invalid("say which namespace to purge, or --due");
  if (arguments.at_once && arguments.keep) return invalid("--now keeps nothing; leave out --keep");
  if (arguments.at_once) return purge(session, *arguments.name, {});
  const auto keep_for = read_duration("--keep", arguments.keep.value_or("7d"));
  if (!keep_for) return keep_for.error();
  return purge(session, *arguments.name, *keep_for);
}

Result<ExitCode> namespace_restore(Session& session, const Arguments& arguments) {
  return print(session, session.existing().restore_namespace(*arguments.name), " is in use again");
}

}  // namespace weir::cli
