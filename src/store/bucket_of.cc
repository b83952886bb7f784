#include "store/bucket_of.h"

#include <algorithm>

namespace weir::store {
namespace {

BucketLimit limit_of(const bucket::LimitState& limit) {
  BucketLimit shown{.name = limit.name,
                    .limit = limits::limit_of(limit.parameters),
                    .tokens = Amount::milli(limit.tokens),
                    .consumed = Amount::milli(limit.consumed),
                    .in_force = !limit.dormant};
  for (const bucket::Hold& hold : limit.holds)
    shown.held.push_back({hold.deadline, Amount::milli(hold.amount)});
  for (const bucket::Grant& grant : limit.grants) {
    const bool ends = grant.deadline != bucket::no_end;
    shown.grants.push_back(
        {ends ? std::optional(grant.deadline) : std::nullopt, Amount::milli(grant.amount)});
  }
  return shown;
}

}  // namespace

Bucket bucket_of(std::string_view entity, std::string_view resource, const bucket::State& state) {
  Bucket bucket{.entity = std::string(entity),
                .resource = std::string(resource),
                .refilled_at = state.refilled_at,
                .version = state.version};
  if (state.expires_at != limits::never) bucket.expires_at = state.expires_at;
  for (const bucket::LimitState& limit : state.limits) bucket.limits.push_back(limit_of(limit));
  std::sort(bucket.limits.begin(), bucket.limits.end(),
            [](const BucketLimit& a, const BucketLimit& b) { return a.name < b.name; });
  return bucket;
}

}  // namespace weir::store
