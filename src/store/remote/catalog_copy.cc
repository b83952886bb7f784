#include "store/remote/catalog_copy.h"

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "store/table/draft.h"

namespace weir::remote {
namespace {

constexpr std::size_t names_at_once = 100;

using Names = std::set<std::string>;

/// Calls `take` with the names of a listing, page by page.
Result<void> for_each_page(Catalog& catalog, const std::string& name_space, Listing::Of of,
                           const std::function<Result<void>(const Names& names)>& take) {
  store::Paging paging{.cursor = {}, .limit = names_at_once};
  do {
    auto page = catalog.list(name_space, {.of = of}, paging);
    if (!page) return page.error();
    if (auto taken = take(Names(page->items.begin(), page->items.end())); !taken) return taken;
    paging.cursor = page->next;
  } while (!paging.cursor.empty());
  return {};
}

Result<void> copy_limits(Catalog& catalog, const std::string& name_space, const Names& keys,
                         store::CopyPages& pages) {
  auto found = catalog.limits_by_key(name_space, keys);
  if (!found) return found.error();
  for (const auto& [key, record] : *found) {
    if (!record->bad.empty()) return store::cannot_be_copied(record->bad);
    auto added = pages.add({name_space, store::CopiedLimits{table::level_of(key), record}});
    if (!added) return added;
  }
  return {};
}

Result<void> copy_plans(Catalog& catalog, const std::string& name_space, const Names& names,
                        store::CopyPages& pages) {
  auto found = catalog.plans_by_name(name_space, names);
  if (!found) return found.error();
  for (const auto& [name, record] : *found) {
    if (!record->bad.empty()) return store::cannot_be_copied(record->bad);
    if (auto added = pages.add({name_space, store::CopiedPlan{name, record}}); !added) return added;
  }
  return {};
}

Result<void> copy_entities(Catalog& catalog, const std::string& name_space, const Names& ids,
                           store::CopyPages& pages) {
  auto found = catalog.entities_by_id(name_space, ids);
  if (!found) return found.error();
  for (const auto& [id, entity] : *found) {
    if (!entity) return store::cannot_be_copied(entity.error().message);
    if (auto added = pages.add({name_space, *entity}); !added) return added;
  }
  return {};
}

}  // namespace

Result<void> copy_catalog(Catalog& catalog, const std::string& name_space, store::CopyPages& pages) {
  using Of = Listing::Of;
  for (const auto& [of, copy] : {std::pair(Of::limits, &copy_limits), std::pair(Of::plans, &copy_plans),
                                 std::pair(Of::entities, &copy_entities)}) {
    auto copied = for_each_page(catalog, name_space, of, [&, copy = copy](const Names& names) {
      return copy(catalog, name_space, names, pages);
    });
    if (!copied) return copied;
  }
  return {};
}

Result<void> copy_audit(Catalog& catalog, const std::string& name_space, store::CopyPages& pages) {
  store::Paging paging{.cursor = {}, .limit = names_at_once};
  for (;;) {
    std::vector<store::AuditEvent> events;
    auto read = catalog.for_each_event(name_space, "", paging, [&](store::AuditEvent event) {
      events.push_back(std::move(event));
      return events.size() < names_at_once;
    });
    if (!read) return read;
    if (events.empty()) return {};
    paging.cursor = events.back().id;
    for (store::AuditEvent& event : events) {
      if (auto added = pages.add({name_space, std::move(event)}); !added) return added;
    }
  }
}

}  // namespace weir::remote
