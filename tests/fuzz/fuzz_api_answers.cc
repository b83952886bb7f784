// The answers of the HTTP API, as a client reads them. An answer that is accepted can be written again, and
// then means the same; an error says why an answer is refused.
#include <cstdlib>
#include <string_view>

#include "api/catalog_json.h"
#include "api/decision_json.h"
#include "client/answers.h"

namespace {

/// Whether it was read. A second reading of what it says must give the same.
template <class Read, class Write>
void check(const Read& read, const Write& write, std::string_view text) {
  const auto first = read(text);
  if (!first) {
    if (first.error().message.empty()) std::abort();
    return;
  }
  const std::string said = write(*first);
  const auto second = read(said);
  if (!second || write(*second) != said) std::abort();
}

template <class T, class ToJson>
auto page_writer(const char* name, ToJson to_json) {
  return [=](const weir::Page<T>& page) {
    std::string json = std::string("{\"") + name + "\":[";
    for (const T& item : page.items) json += (json.ends_with('[') ? "" : ",") + to_json(item);
    return json + "]}";
  };
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto write_acquired = [](const client::Acquired& acquired) {
    return acquired.decision.admitted() ? api::admitted_json(acquired.decision.limits(), acquired.lease)
                                        : api::refused_json(acquired.decision);
  };
  check(client::read_acquired, write_acquired, text);
  check(client::read_available, [](const Decision& decision) { return api::available_json(decision); }, text);
  check(client::read_report, [](const LimitReport& report) { return api::to_json(report); }, text);
  check([](std::string_view json) { return client::read_stored(json, Level::system()); },
        [](const StoredLimits& stored) { return api::to_json(stored); }, text);
  check(client::read_effective, [](const EffectiveLimits& limits) { return api::to_json(limits); }, text);
  check(client::read_entity, [](const Entity& entity) { return api::to_json(entity); }, text);
  check(client::read_limits_page,
        page_writer<StoredLimits>("items", [](const auto& item) { return api::item_json(item); }), text);
  check(client::read_entities_page,
        page_writer<Entity>("items", [](const auto& item) { return api::to_json(item); }), text);
  check(
      client::read_buckets_page,
      page_writer<Bucket>("buckets", [](const auto& item) { return api::to_json(item, 1'700'000'000'000); }),
      text);
  static_cast<void>(client::read_audit_page(text));
  static_cast<void>(client::read_usage_page(text));
  static_cast<void>(client::read_top_usage(text));
  static_cast<void>(client::read_ids_page(text, "children"));
  static_cast<void>(client::read_plan(text));
  static_cast<void>(client::read_plans_page(text));
  static_cast<void>(client::read_findings(text));
  static_cast<void>(client::read_problem(text));
  return 0;
}
