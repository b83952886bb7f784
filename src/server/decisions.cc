#include "server/decisions.h"

#include <algorithm>

#include "base/text.h"
#include "decision_log/entry_json.h"
#include "decision_log/settings.h"
#include "server/paging.h"
#include "server/query.h"

namespace weir::server {
namespace {

using decision_log::Entry;
using decision_log::Filter;

Reply no_log() {
  return problem(404, "not-found",
                 "this process keeps no decisions; start it with --decision-log-mode refusals, or all");
}

Result<Filter> read_filter(const Query& query, const std::string& name_space) {
  Filter filter{.name_space = name_space,
                .entity = query.get("entity"),
                .chain = query.get("chain"),
                .resource = query.get("resource")};
  for (const char* const name : {"entity", "chain", "resource"}) {
    if (query.has(name) && query.get(name).empty())
      return base::invalid(name, " is empty; leave it out, or name one");
  }
  if (query.has("outcome")) {
    const auto& names = decision_log::outcome_names;
    const auto found = std::find(names.begin(), names.end(), query.get("outcome"));
    if (found == names.end()) return base::invalid("outcome must be admitted or refused");
    filter.outcome = static_cast<decision_log::EntryOutcome>(found - names.begin());
  }
  if (auto read = read_moment(query, "from", filter.from); !read) return read.error();
  if (auto read = read_moment(query, "to", filter.to); !read) return read.error();
  return filter;
}

}  // namespace

Result<std::unique_ptr<DecisionLog>> open_decision_log(decision_log::DecisionLogOptions options,
                                                       const std::string& store, const Clock& clock,
                                                       base::Entropy& entropy, telemetry::Log& log) {
  if (options.keeps == decision_log::Keeps::off) return std::unique_ptr<DecisionLog>();
  const std::string beside = options.path.empty() ? decision_log::path_beside(store) : std::string();
  if (beside.empty()) return DecisionLog::open(options, clock, entropy);
  decision_log::DecisionLogOptions in_file = options;
  in_file.path = beside;
  auto opened = DecisionLog::open(in_file, clock, entropy);
  if (opened) return opened;
  // The operator did not name this file, so that the process starts without it. Its size was meant for a
  // disk.
  log.warning("the decision log is kept in memory", {{"error", opened.error().message}});
  options.most_bytes = std::min(options.most_bytes, decision_log::usual_bytes_in_memory);
  return DecisionLog::open(options, clock, entropy);
}

void add_metrics(telemetry::Metrics& metrics, const DecisionLog& log) {
  metrics.add_counter("weir_decision_log_written_total", "Decisions that were written to the decision log.",
                      [&log] { return static_cast<double>(log.written()); });
  metrics.add_counter("weir_decision_log_dropped_total",
                      "Decisions that were not written: too many at once, or the file could not be written.",
                      [&log] { return static_cast<double>(log.dropped()); });
  metrics.add_gauge("weir_decision_log_bytes", "The space that the decision log uses.",
                    [&log] { return static_cast<double>(log.bytes()); });
}

void warn_of_trouble(const DecisionLog& log, telemetry::Log& to, std::string& warned) {
  std::string trouble = log.trouble();
  if (!trouble.empty() && trouble != warned)
    to.warning("the decision log cannot be written; decisions go on", {{"error", trouble}});
  warned = std::move(trouble);
}

Time decided_at(Decision& decision, Time lease_for, bool keyed, Time asked_at, const Clock& clock) {
  if (decision.refused() || keyed || decision.limits().has_concurrent())
    return asked_at != 0 ? asked_at : clock.now();
  return decision.lease().deadline() - lease_for;
}

decision_log::EntryKind kind_of(detail::LeaseVerb verb) {
  using decision_log::EntryKind;
  switch (verb) {
    case detail::LeaseVerb::adjust:
      return EntryKind::adjust;
    case detail::LeaseVerb::settle:
      return EntryKind::settle;
    case detail::LeaseVerb::rollback:
      return EntryKind::rollback;
    case detail::LeaseVerb::extend:
      break;
  }
  return EntryKind::extend;
}

void append_decision(std::string& fields, std::string_view id) {
  if (!id.empty()) fields += base::join("Weir-Decision: ", id, "\r\n");
}

Reply decision_reply(DecisionLog* log, std::string_view id, const std::string& name_space,
                     decision_log::Audience audience) {
  if (log == nullptr) return no_log();
  const auto entry = log->find(id, name_space, audience);
  if (!entry) return problem(entry.error());
  return {.body = decision_log::to_json(*entry)};
}

Reply decisions_reply(DecisionLog* log, std::string_view query_text, const std::string& name_space) {
  const Query query(query_text, {"entity", "chain", "resource", "outcome", "from", "to", "limit", "cursor"});
  if (!query.error().empty()) return malformed(query.error());
  const auto filter = read_filter(query, name_space);
  if (!filter) return malformed(filter.error().message);
  const auto paging = paging_of(query);
  if (!paging) return malformed(paging.error().message);
  if (log == nullptr) return no_log();
  return page_reply(log->list(*filter, *paging), "decisions",
                    [](const Entry& entry) { return decision_log::to_json(entry); });
}

}  // namespace weir::server
