// audit: the record of changes.
#include "api/catalog_json.h"
#include "base/text.h"
#include "cli/audit_text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/usage_range.h"
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

Result<AuditFilter> read_audit_filter(const Arguments& arguments, Time now) {
  auto subject = read_subject(arguments);
  if (!subject) return subject.error();
  AuditFilter filter{.subject = *std::move(subject),
                     .principal = arguments.by.value_or(""),
                     .kind = arguments.kind.value_or("")};
  if (arguments.since && arguments.from) return base::invalid("--since and --from mean the same; say one");
  const char* const option = arguments.since ? "--since" : "--from";
  if (const auto& from = arguments.since ? arguments.since : arguments.from) {
    const auto moment = read_moment(option, *from, now);
    if (!moment) return moment.error();
    filter.from = *moment;
  }
  if (arguments.to) {
    const auto moment = read_moment("--to", *arguments.to, now);
    if (!moment) return moment.error();
    filter.to = *moment;
  }
  if (filter.from < filter.to) return filter;
  return base::invalid("the range is empty: ", moment_text(filter.from), " is not before ",
                       moment_text(filter.to));
}

bool is_filtered(const AuditFilter& filter) {
  return filter.from > 0 || filter.to != AuditFilter().to || !filter.principal.empty() ||
         !filter.kind.empty();
}

void print_event(const Session& session, const AuditEvent& event) {
  session.out() << session.style()(Tone::quiet, join(relative_text(event.at, session.now()), " (",
                                                     moment_text(event.at), ")"))
                << "  " << session.style()(Tone::heading, printable(event.principal)) << ' '
                << printable(sentence_of(event)) << '\n';
}

}  // namespace

Result<ExitCode> audit(Session& session, const Arguments& arguments) {
  const auto filter = read_audit_filter(arguments, session.now());
  if (!filter) return filter.error();
  const auto most = read_number("--limit", arguments.limit.value_or("50"), 1, 1'000'000);
  if (!most) return most.error();
  client::Target& target = session.existing();
  JsonList json(session.out(), "events");
  bool found = false;
  auto listed = for_each_item([&](const Paging& paging) { return target.audit(*filter, paging); },
                              [&](const AuditEvent& event) {
                                found = true;
                                if (session.json()) return json.add(api::to_json(event));
                                print_event(session, event);
                              },
                              static_cast<std::size_t>(*most));
  if (!listed) return listed.error();
  if (!found && is_filtered(*filter))
    session.note(
        "no change fits; leave out --since, --to, --by or --kind to see more (kinds: limits, entity, plan, "
        "namespace)");
  if (!found) session.note_empty_namespace();
  if (session.json()) json.end();
  return done;
}

}  // namespace weir::cli
