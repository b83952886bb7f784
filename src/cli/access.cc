// block and exempt.
#include "api/catalog_json.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using base::invalid;
using base::join;

/// "2h" (from now on) or "2026-11-17T05:00:00Z".
Result<Time> read_end(std::string_view text, Time now) {
  if (const auto moment = base::parse_rfc3339(text)) {
    if (*moment > now) return *moment;
    return invalid("--until ", text, " has passed");
  }
  const auto length = read_duration("--until", text);
  if (!length)
    return invalid("--until ", base::quoted(text), ": write a length such as 2h, or a moment such as ",
                   base::rfc3339_text(now - now % 1000 + 3'600'000));
  return now + length->count();
}

void print_rules(const Session& session, const Entity& entity, Access access) {
  if (session.json()) return session.print_json(api::access_json(entity, access));
  TextTable table({{"ENTITY"}, {"ACCESS"}, {"RESOURCE"}, {"UNTIL"}, {"REASON"}});
  for (const AccessRule& rule : entity.access) {
    if (rule.access != access) continue;
    table.add({{entity.id},
               {name_of(rule.access)},
               {rule.resource.empty() ? "every" : rule.resource},
               {rule.until ? moment_text(*rule.until) : "you remove it"},
               {rule.reason}});
  }
  table.print(session.out(), session.style());
}

Result<ExitCode> remove(Session& session, const Arguments& arguments, Access access) {
  if (arguments.reason || arguments.until) return invalid("--remove has neither --reason nor --until");
  const std::string resource = arguments.resource.value_or("");
  auto removed = session.existing().remove_access(*arguments.entity, access, resource);
  if (!removed) return removed.error();
  if (!session.json()) {
    session.out() << printable(*arguments.entity) << " is no longer " << name_of(access)
                  << (resource.empty() ? "" : join(" on ", printable(resource))) << '\n';
  }
  return done;
}

Result<ExitCode> set(Session& session, const Arguments& arguments, Access access) {
  if (arguments.remove) return remove(session, arguments, access);
  AccessRule rule{.access = access, .resource = arguments.resource.value_or("")};
  if (!arguments.reason)
    return invalid("say why with --reason, as in --reason 'abuse, ticket 4711'; or --remove it");
  rule.reason = *arguments.reason;
  if (arguments.until) {
    const auto until = read_end(*arguments.until, session.now());
    if (!until) return until.error();
    rule.until = *until;
  }
  const auto stored = session.target().set_access(*arguments.entity, rule);
  if (!stored) return stored.error();
  session.warn_if_forgotten();
  print_rules(session, *stored, access);
  return done;
}

}  // namespace

Result<ExitCode> block(Session& session, const Arguments& arguments) {
  return set(session, arguments, Access::blocked);
}

Result<ExitCode> exempt(Session& session, const Arguments& arguments) {
  return set(session, arguments, Access::exempt);
}

}  // namespace weir::cli
