// sync status: every share, what operators own, and what cannot be read.
#include <map>
#include <set>

#include "base/json.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "cli/sync.h"
#include "cli/text_table.h"

namespace weir::cli {
namespace {

std::string tokens(sync::Millitokens amount) { return Amount::milli(amount).to_string(); }

std::string percent(sync::Millitokens part, sync::Millitokens whole) {
  return whole == 0 ? std::string("-") : base::join(std::to_string((part * 100 + whole / 2) / whole), " %");
}

/// Since when an operator owns limits, by the audit.
std::string since(Limiter& limiter, const sync::Region::Status& status) {
  const auto events = limiter.audit(status.entity, {.cursor = {}, .limit = 100});
  if (!events) return "";
  for (const AuditEvent& event : events->items) {
    if (event.action == "limits.set" && event.resource == status.resource)
      return base::join("since ", base::rfc3339_text(event.at), " by ", event.principal);
  }
  return "";
}

std::string to_json(const sync::Region::Status& status) {
  auto json = base::JsonWriter::object();
  json.text("entity", status.entity).text("resource", status.resource).text("limit", status.limit);
  json.text("owner", status.operator_owned ? "operator" : status.share > 0 ? "sync" : "none");
  if (status.share > 0) json.raw("share", tokens(status.share)).number("expires_at_ms", status.until);
  return json.raw("target", tokens(status.target))
      .raw("whole", tokens(status.whole))
      .flag("waits", status.waits)
      .str();
}

/// It has no limits to show.
std::string to_json(const sync::Unreadable& unreadable) {
  return base::JsonWriter::object()
      .text("entity", unreadable.entity)
      .text("resource", unreadable.resource)
      .text("problem", unreadable.message)
      .str();
}

/// The answer of one cycle that writes nothing, as rows.
class StatusRows {
 public:
  StatusRows(Limiter& limiter, const sync::CycleReport& report) : limiter_(limiter), report_(report) {
    for (const sync::Write& write : report.writes) writes_[{write.entity, write.resource}] = &write;
    for (const sync::Unreadable& one : report.unreadable) unreadable_.emplace(one.entity, one.resource);
  }

  void print_json(Session& session, const std::vector<sync::Region::Status>& all) const {
    JsonList list(session.out(), "shares");
    for (const auto& status : all) {
      if (!is_unreadable(status)) list.add(to_json(status));
    }
    for (const sync::Unreadable& one : report_.unreadable) list.add(to_json(one));
    list.end();
  }
  void print_table(Session& session, const std::vector<sync::Region::Status>& all) const {
    TextTable table({{"ENTITY"},
                     {"RESOURCE"},
                     {"LIMIT"},
                     {"OWNER"},
                     {"SHARE", TextTable::Align::right},
                     {"TARGET", TextTable::Align::right},
                     {"WHOLE", TextTable::Align::right},
                     {"NOTE"}});
    for (const auto& status : all) {
      if (!is_unreadable(status)) add_row(table, status);
    }
    for (const sync::Unreadable& one : report_.unreadable) {
      table.add({{one.entity},
                 {one.resource},
                 {"-"},
                 {"-"},
                 {"-"},
                 {"-"},
                 {"-"},
                 {base::join("cannot be read: ", one.message)}});
    }
    table.print(session.out(), session.style());
  }

 private:
  using Key = std::pair<std::string, std::string>;
  bool is_unreadable(const sync::Region::Status& status) const {
    return unreadable_.contains({status.entity, status.resource});
  }
  void add_row(TextTable& table, const sync::Region::Status& status) const {
    const bool by_operator = status.operator_owned;
    table.add(
        {{status.entity},
         {status.resource},
         {status.limit},
         {by_operator        ? "operator"
          : status.share > 0 ? "sync"
                             : "-"},
         {status.share > 0 ? tokens(status.share) : "-"},
         {by_operator ? "-"
                      : base::join(tokens(status.target), " (", percent(status.target, status.whole), ")")},
         {by_operator ? "-" : tokens(status.whole)},
         {note_on(status)}});
  }
  std::string note_on(const sync::Region::Status& status) const {
    const auto write = writes_.find({status.entity, status.resource});
    if (write != writes_.end())
      return base::join("would write ", shares_of(*write->second), ": ", name_of(write->second->reason));
    return status.operator_owned ? since(limiter_, status) : std::string();
  }

  Limiter& limiter_;
  const sync::CycleReport& report_;
  std::map<Key, const sync::Write*> writes_;
  std::set<Key> unreadable_;
};

}  // namespace

Result<ExitCode> show_sync_status(Session& session, const Arguments& arguments) {
  auto opened = open_sync(session, arguments);
  if (!opened) return opened.error();
  const auto report = opened->runner->cycle();
  if (!report) return report.error();
  for (const std::string& problem : problems_to_show(*report)) session.warn(problem);
  const StatusRows rows(*opened->limiter, *report);
  const auto all = opened->runner->region().status();
  session.json() ? rows.print_json(session, all) : rows.print_table(session, all);
  return done;
}

}  // namespace weir::cli
