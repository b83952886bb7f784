// A bucket in the public form.
#include <algorithm>

#include "store/bucket_of.h"
#include "store/table/table.h"

namespace weir::table {

Bucket bucket_of(const Record& record) {
  return store::bucket_of(record.entity(), record.resource(), state_of(record));
}

void Table::list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
                 store::Completion<store::Page<Bucket>> done) {
  if (auto brought = bring_in(name_space, entity); !brought) return done(brought.error());
  Shard& shard = shard_of(owner_hash(token_of(name_space), entity));
  const Time now = clock_.now();
  std::vector<Bucket> buckets;
  {
    const base::Guard guard(shard.lock);
    shard.map.for_each([&](const Record& record) {
      const bool behind = paging.cursor.empty() || record.resource() > paging.cursor;
      if (record.expires_at > now && behind && record.belongs_to(name_space, entity))
        buckets.push_back(bucket_of(record));
    });
  }
  std::sort(buckets.begin(), buckets.end(),
            [](const Bucket& a, const Bucket& b) { return a.resource < b.resource; });
  store::Page<Bucket> page;
  if (buckets.size() > paging.limit) {
    buckets.resize(paging.limit);
    page.next = buckets.back().resource;
  }
  page.items = std::move(buckets);
  done(std::move(page));
}

void Table::list_on(std::string_view name_space, std::string_view resource, const store::Paging& paging,
                    store::Completion<store::Page<Bucket>> done) {
  const Time now = clock_.now();
  store::FirstPlaces<Bucket> first(paging);
  for (std::size_t i = 0; i < shard_count; ++i) {
    const base::Guard guard(shards_[i].lock);
    shards_[i].map.for_each([&](const Record& record) {
      const bool wanted = resource.empty() || record.resource() == resource;
      if (!wanted || record.expires_at <= now || record.name_space() != name_space) return;
      first.offer(store::place_of(record.entity(), record.resource()), [&] { return bucket_of(record); });
    });
  }
  store::Page<Bucket> page{.items = {}, .next = first.cut()};
  for (auto& [place, bucket] : first.places()) page.items.push_back(std::move(bucket));
  done(std::move(page));
}

}  // namespace weir::table
