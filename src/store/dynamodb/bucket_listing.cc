// The buckets on a resource: their keys are in the index GSI2, which has nothing but keys.
#include <algorithm>

#include "base/text.h"
#include "limits/names.h"
#include "store/bucket_of.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/buckets.h"
#include "store/remote/catalog.h"

namespace weir::dynamodb {
namespace {

constexpr std::string_view index_prefix = "BUCKET#";
/// After every entity: no name has it, nor a character after it.
constexpr std::string_view past_names = "~";
/// Keys in one answer of the index.
constexpr std::size_t keys_in_a_page = 1000;

}  // namespace

Result<DynamoBuckets::Keys> DynamoBuckets::keys_on(std::string_view name_space, std::string_view resource,
                                                   const store::Paging& paging) {
  const std::string_view after = store::names_of(paging.cursor).first;
  QueryOfIndex wanted{.index = "GSI2",
                      .pk_name = "GSI2PK",
                      .sk_name = "GSI2SK",
                      .pk = base::join(prefix_of(name_space), "RESOURCE#", resource),
                      .from = base::join(index_prefix, after),
                      .to = base::join(index_prefix, past_names)};
  Keys keys;
  for (;;) {
    // Two more: the last of the page before comes again, and the first of the next says that there is one.
    wanted.limit = std::min(keys_in_a_page, paging.limit + 2 - keys.size());
    auto asked = BlockingCalls(context_).ask(query_index(context_.table, wanted), true);
    if (!asked.ok()) return error_of_read(*asked.failure);
    for (const Item& item : asked.answer.items) {
      Key key = key_of(item);
      const auto name = entity_of(key.pk);
      // Items of other programs, and those that a migration has not converted yet, are not buckets.
      if (!name || name->entity == after || !is_bucket(key)) continue;
      if (limits::check_entity(name->entity)) keys.push_back(std::move(key));
      if (keys.size() > paging.limit) return keys;
    }
    if (asked.answer.last_key.empty()) return keys;
    wanted.after = asked.answer.last_key;
  }
}

Result<DynamoBuckets::Keys> DynamoBuckets::all_keys(std::string_view name_space,
                                                    const store::Paging& paging) {
  store::FirstPlaces<Key> first(paging);
  Item after;
  do {
    auto asked = BlockingCalls(context_).ask(scan_index(context_.table, "GSI2", after), true);
    if (!asked.ok()) return error_of_read(*asked.failure);
    for (const Item& item : asked.answer.items) {
      Key key = key_of(item);
      const auto name = entity_of(key.pk);
      if (!name || name->name_space != name_space || !is_bucket(key)) continue;
      const std::string_view resource = std::string_view(key.sk).substr(bucket_prefix.size());
      if (!limits::check_entity(name->entity) || !limits::check_resource(resource)) continue;
      first.offer(store::place_of(name->entity, resource), [&] { return key; });
    }
    after = asked.answer.last_key;
  } while (!after.empty());
  Keys keys;
  for (auto& [place, key] : first.places()) keys.push_back(std::move(key));
  return keys;
}

Result<store::Page<Bucket>> DynamoBuckets::list_on_now(std::string_view name_space, std::string_view resource,
                                                       const store::Paging& paging) {
  if (auto may = BlockingCalls(context_).check_may_wait(); !may) return may.error();
  auto keys = resource.empty() ? all_keys(name_space, paging) : keys_on(name_space, resource, paging);
  if (!keys) return keys.error();
  const auto place = [](const Key& key) {
    return store::place_of(entity_of(key.pk)->entity, std::string_view(key.sk).substr(bucket_prefix.size()));
  };
  store::Page<Bucket> page;
  if (keys->size() > paging.limit) {
    keys->resize(paging.limit);
    if (!keys->empty()) page.next = place(keys->back());
  }
  auto items = BlockingCalls(context_).get(*keys);
  if (!items) return items.error();
  const Time now = context_.now();
  for (const Key& key : *keys) {
    const auto item = items->find(key);
    // Deleted since the index was read, or not in it yet: the index follows the table.
    if (item == items->end()) continue;
    auto read = read_bucket(item->second);
    if (!read) {
      context_.bad.report(read.error().message);
      continue;
    }
    const std::string at = place(key);
    const auto [entity, of] = store::names_of(at);
    if (read->state.expires_at > now) page.items.push_back(store::bucket_of(entity, of, read->state));
  }
  return page;
}

void DynamoBuckets::list_on(std::string_view name_space, std::string_view resource,
                            const store::Paging& paging, store::Completion<store::Page<Bucket>> done) {
  done(list_on_now(name_space, resource, paging));
}

}  // namespace weir::dynamodb
