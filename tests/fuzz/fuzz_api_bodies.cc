// The bodies of the HTTP API. A body that is accepted names every limit once; an error says why a body is
// refused.
#include <cstdlib>
#include <set>
#include <string_view>

#include "api/catalog_json.h"
#include "service/bodies.h"
#include "service/plan_body.h"

namespace {

using weir::service::Parsed;

template <class T>
bool accepted(const Parsed<T>& parsed) {
  if (!parsed.malformed.empty() && !parsed.invalid.empty()) std::abort();
  return parsed.ok();
}

void check(const weir::service::Amounts& amounts) {
  std::set<std::string_view> seen;
  for (const weir::Charge& charge : amounts.charges()) {
    if (!charge.amount.in_range() || !seen.insert(charge.limit).second) std::abort();
  }
}

void check(const std::vector<weir::NamedLimit>& limits) {
  for (const weir::NamedLimit& limit : limits) {
    const auto again = weir::Limit::parse(limit.limit.to_json());
    if (limit.name.empty() || !again || *again != limit.limit) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  namespace service = weir::service;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto acquire = service::parse_acquire(text); accepted(acquire)) {
    check(acquire.value.consume);
    check(acquire.value.limits);
    // However it was read, it says the same.
    const auto again = service::parse_any_acquire(text);
    if (!accepted(again) || again.value != acquire.value) std::abort();
  }
  if (const auto adjust = service::parse_adjust(text); accepted(adjust)) check(adjust.value.consume);
  if (const auto settle = service::parse_settle(text); accepted(settle)) check(settle.value);
  if (const auto limits = service::parse_limits_body(text); accepted(limits)) check(limits.value.limits);
  if (const auto entity = service::parse_entity(text, "e"); accepted(entity) && entity.value.id != "e")
    std::abort();
  static_cast<void>(accepted(service::parse_consume_list(text)));
  if (const auto grant = service::parse_grant(text); accepted(grant)) check(grant.value.amounts);
  static_cast<void>(accepted(service::parse_extend(text)));
  if (const auto plan = service::parse_plan(text, "pro"); accepted(plan)) {
    check(plan.value.limits.limits);
    for (const auto& [resource, limits] : plan.value.resources) check(limits.limits);
    // As the service shows it, it can be put again.
    const auto again = service::parse_plan(weir::api::to_json(plan.value), "pro");
    if (!accepted(again) || weir::api::to_json(again.value) != weir::api::to_json(plan.value)) std::abort();
  }
  return 0;
}
