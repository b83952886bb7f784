// audit: the record of changes.
#include "api/catalog_json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using base::join;

/// The subject to list; empty: all.
Result<std::string> read_subject(const Arguments& arguments) {
  const int said = (arguments.entity ? 1 : 0) + (arguments.resource ? 1 : 0) + (arguments.system ? 1 : 0) +
                   (arguments.plan ? 1 : 0);
  if (said > 1)
    return base::invalid("say one of ENTITY, --plan P, --resource R and --system, or none of them");
  if (arguments.plan) return join("$PLAN:", *arguments.plan);
  if (arguments.system) return std::string("$SYSTEM");
  if (arguments.resource) return join("$RESOURCE:", *arguments.resource);
  return arguments.entity.value_or("");
}

/// "entity key-1 on gpt-4", "plan pro", "resource gpt-4", "the system".
std::string subject_text(const AuditEvent& event) {
  constexpr std::string_view resource = "$RESOURCE:";
  if (event.subject == "$SYSTEM") return "the system";
  if (event.subject.starts_with(resource)) return join("resource ", event.subject.substr(resource.size()));
  constexpr std::string_view plan = "$PLAN:";
  if (event.subject.starts_with(plan)) return join("plan ", event.subject.substr(plan.size()));
  return join("entity ", event.subject, event.resource.empty() ? "" : " on ", event.resource);
}

void print_event(const Session& session, const AuditEvent& event) {
  session.out() << session.style()(Tone::heading,
                                   join(printable(event.action), " ", printable(subject_text(event))))
                << " by " << printable(event.principal) << ", " << relative_text(event.at, session.now())
                << " (" << moment_text(event.at) << ")\n";
  if (!event.before.empty())
    session.out() << session.style()(Tone::bad, join("  - ", printable(event.before))) << '\n';
  if (!event.after.empty())
    session.out() << session.style()(Tone::good, join("  + ", printable(event.after))) << '\n';
}

}  // namespace

Result<ExitCode> audit(Session& session, const Arguments& arguments) {
  const auto subject = read_subject(arguments);
  if (!subject) return subject.error();
  const auto most = read_number("--limit", arguments.limit.value_or("50"), 1, 1'000'000);
  if (!most) return most.error();
  client::Target& target = session.existing();
  JsonList json(session.out(), "events");
  bool found = false;
  auto listed = for_each_item([&](const Paging& paging) { return target.audit(*subject, paging); },
                              [&](const AuditEvent& event) {
                                found = true;
                                if (session.json()) return json.add(api::to_json(event));
                                print_event(session, event);
                              },
                              static_cast<std::size_t>(*most));
  if (!listed) return listed.error();
  if (!found) session.note_empty_namespace();
  if (session.json()) json.end();
  return done;
}

}  // namespace weir::cli
