#include "decision_log/entry_json.h"

#include "api/decision_json.h"
#include "base/json.h"
#include "base/rfc3339.h"

namespace weir::decision_log {
namespace {

using base::JsonWriter;

std::string amounts_json(const std::vector<std::pair<std::string, Amount>>& amounts) {
  auto json = JsonWriter::object();
  for (const auto& [name, amount] : amounts) json.raw(name, amount.to_string());
  return json.str();
}

/// The limits that refused.
std::string refused_by(const LimitReport& report) {
  auto list = JsonWriter::array();
  for (const LimitStatus& status : report) {
    if (!status.exceeded) continue;
    auto one = JsonWriter::object();
    one.text("entity", status.entity).text("name", status.name).text("source", name_of(status.source));
    list.add(one.str());
  }
  return list.str();
}

std::string limits_json(const std::vector<NamedLimit>& limits) {
  auto json = JsonWriter::object();
  for (const NamedLimit& named : limits) json.raw(named.name, named.limit.to_json());
  return json.str();
}

}  // namespace

void append_json(std::string& out, const Entry& entry) {
  auto json = JsonWriter::object();
  json.text("id", entry.id).text("at", base::rfc3339_text(entry.at)).number("at_ms", entry.at);
  json.text("kind", kind_names[static_cast<std::size_t>(entry.kind)]);
  json.text("outcome", outcome_names[static_cast<std::size_t>(entry.outcome)]);
  json.text("namespace", entry.name_space).text("entity", entry.entity).text("resource", entry.resource);
  if (!entry.request_id.empty()) json.text("request_id", entry.request_id);
  json.raw("consume", amounts_json(asked_by(entry)));
  if (entry.outcome == EntryOutcome::refused) {
    json.raw("retry_after_ms", entry.wait ? std::to_string(*entry.wait) : "null");
    json.flag("never_fits", entry.never_fits);
    // By the same clock as `at`.
    if (entry.wait) json.text("passes_at", base::rfc3339_text(entry.at + *entry.wait));
    json.raw("refused_by", refused_by(entry.report));
  }
  if (entry.from_memory) json.flag("from_memory", true);
  if (entry.shadow) json.flag("shadow", true);
  if (entry.lease != 0) json.text("lease", std::to_string(entry.lease));
  if (entry.lease_for != 0) json.number("lease_ms", entry.lease_for);
  if (!entry.sent_limits.empty()) json.raw("sent_limits", limits_json(entry.sent_limits));
  json.raw("limits", api::limits_json(entry.report, api::Versions::shown));
  if (!entry.more.empty()) json.raw("more", entry.more);
  out += json.str();
}

}  // namespace weir::decision_log
