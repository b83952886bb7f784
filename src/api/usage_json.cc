#include "api/usage_json.h"

#include "base/json.h"
#include "base/rfc3339.h"

namespace weir::api {
namespace {

using base::JsonWriter;

std::string amounts_json(std::span<const UsedAmount> amounts) {
  auto json = JsonWriter::object();
  for (const UsedAmount& used : amounts) json.raw(used.limit, used.amount.to_string());
  return json.str();
}

}  // namespace

std::string to_json(const Usage& usage) {
  auto json = JsonWriter::object();
  json.text("entity", usage.entity);
  if (!usage.resource.empty()) json.text("resource", usage.resource);
  json.text("window", name_of(usage.window)).text("start", base::rfc3339_text(usage.start));
  json.raw("limits", amounts_json(usage.limits)).number("events", usage.events);
  return json.str();
}

std::string to_json(const UsageTotal& total) {
  auto series = JsonWriter::array();
  for (const Usage& usage : total.series) series.add(to_json(usage));
  auto json = JsonWriter::object();
  json.text("entity", total.entity);
  if (!total.resource.empty()) json.text("resource", total.resource);
  json.raw("limits", amounts_json(total.limits)).number("events", total.events).raw("series", series.str());
  return json.str();
}

std::string to_json(std::span<const UsageTotal> top) {
  auto list = JsonWriter::array();
  for (const UsageTotal& total : top) list.add(to_json(total));
  return JsonWriter::object().raw("usage", "[]").raw("top", list.str()).str();
}

}  // namespace weir::api
