// A bucket in the public form.
#include <algorithm>

#include "store/table/table.h"

namespace weir::table {
namespace {

Bucket bucket_of(const Record& record) {
  Bucket bucket{.entity = std::string(record.entity()),
                .resource = std::string(record.resource()),
                .refilled_at = record.refilled_at,
                .version = record.version};
  if (record.expires_at != limits::never) bucket.expires_at = record.expires_at;
  for (std::size_t i = 0; i < record.limit_count; ++i) {
    const Balance& balance = record.balances()[i];
    bucket.limits.push_back({.name = std::string(record.limits->name(i)),
                             .limit = limits::limit_of((*record.limits)[i]),
                             .tokens = Amount::milli(balance.tokens),
                             .consumed = Amount::milli(balance.consumed),
                             .in_force = (record.dormant >> i & 1U) == 0});
  }
  return bucket;
}

}  // namespace

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

}  // namespace weir::table
