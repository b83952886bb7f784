#include "api/decision_json.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace weir::api {
namespace {

using base::JsonWriter;

std::string wait_json(const std::optional<std::chrono::milliseconds>& wait) {
  return wait ? std::to_string(wait->count()) : "null";
}

std::string limits_json(const LimitReport& report) {
  auto limits = JsonWriter::array();
  for (const LimitStatus& status : report) limits.add(to_json(status));
  return limits.str();
}

/// The names of the limits that refused, each once, in the order of the report.
std::vector<std::string_view> exceeded_names(const LimitReport& report) {
  std::vector<std::string_view> names;
  for (const LimitStatus& status : report) {
    if (status.exceeded && std::find(names.begin(), names.end(), status.name) == names.end())
      names.push_back(status.name);
  }
  return names;
}

}  // namespace

std::string to_json(const LimitStatus& status) {
  auto json = JsonWriter::object();
  json.text("entity", status.entity).text("resource", status.resource).text("name", status.name);
  json.raw("capacity", status.capacity.to_string()).raw("burst", status.burst.to_string());
  json.raw("requested", status.requested.to_string()).raw("remaining", status.remaining.to_string());
  json.flag("exceeded", status.exceeded).raw("retry_after_ms", wait_json(status.retry_after));
  json.text("source", name_of(status.source));
  if (status.owner == Owner::sync) json.text("owner", name_of(status.owner));
  return json.str();
}

std::string to_json(const LimitReport& report) {
  return JsonWriter::object().raw("limits", limits_json(report)).str();
}

std::string admitted_json(const LimitReport& report, std::string_view lease_id) {
  auto json = JsonWriter::object();
  json.flag("allowed", true).text("lease", lease_id).raw("limits", limits_json(report));
  return json.str();
}

std::string degraded_json() { return R"({"allowed":true,"degraded":true,"lease":null,"limits":[]})"; }

std::string refused_json(const Decision& refused) {
  auto violated = JsonWriter::array();
  for (const std::string_view name : exceeded_names(refused.limits())) violated.add(base::json_string(name));
  auto json = JsonWriter::object();
  json.text("type", "https://iana.org/assignments/http-problem-types#quota-exceeded");
  json.text("title", "Request cannot be satisfied as assigned quota has been exceeded");
  json.number("status", 429).text("detail", refusal_text(refused));
  json.flag("allowed", false).raw("retry_after_ms", wait_json(refused.retry_after()));
  json.flag("never_fits", refused.never_fits()).raw("violated-policies", violated.str());
  json.raw("limits", limits_json(refused.limits()));
  return json.str();
}

std::string available_json(const Decision& decision) {
  auto json = JsonWriter::object();
  json.flag("allowed", decision.admitted()).raw("retry_after_ms", wait_json(decision.retry_after()));
  json.raw("limits", limits_json(decision.limits()));
  return json.str();
}

std::string refusal_text(const Decision& refused) {
  std::string who;
  for (const LimitStatus& status : refused.limits()) {
    if (!status.exceeded) continue;
    who += base::join(who.empty() ? "over the limit " : ", ", status.name, " of ", status.entity);
  }
  if (who.empty()) who = "refused";
  if (refused.never_fits()) return base::join(who, "; more than the bucket can ever hold, ask for less");
  return base::join(who, "; retry in ", std::to_string(refused.retry_after()->count()), " ms");
}

}  // namespace weir::api
