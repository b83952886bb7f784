// A bucket in the public form.
#include <algorithm>

#include "store/table/table.h"

namespace weir::table {
namespace {

Bucket bucket_of(const Record& record) {
  const bucket::State state = state_of(record);
  Bucket bucket{.entity = std::string(record.entity()),
                .resource = std::string(record.resource()),
                .refilled_at = state.refilled_at,
                .version = state.version};
  if (state.expires_at != limits::never) bucket.expires_at = state.expires_at;
  for (const bucket::LimitState& limit : state.limits) {
    BucketLimit& shown = bucket.limits.emplace_back(BucketLimit{.name = limit.name,
                                                                .limit = limits::limit_of(limit.parameters),
                                                                .tokens = Amount::milli(limit.tokens),
                                                                .consumed = Amount::milli(limit.consumed),
                                                                .in_force = !limit.dormant});
    for (const bucket::Hold& hold : limit.holds)
      shown.held.push_back({hold.deadline, Amount::milli(hold.amount)});
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
