#include "store/dynamodb/buckets.h"

#include "store/dynamodb/acquire.h"
#include "store/dynamodb/asking.h"
#include "store/dynamodb/lease.h"

namespace weir::dynamodb {

void DynamoBuckets::acquire(const store::Plan& plan, Decision& decision,
                            store::Completion<store::Progress> done) {
  (new Acquire(site_, plan, Acquire::Mode::acquire, decision, done))->start();
}

void DynamoBuckets::peek(const store::Plan& plan, Decision& decision,
                         store::Completion<store::Progress> done) {
  (new Acquire(site_, plan, Acquire::Mode::peek, decision, done))->start();
}

void DynamoBuckets::change(const store::LeasePlan& plan, store::LeaseOutcome& outcome,
                           store::Completion<store::Progress> done) {
  (new LeaseChange(site_, plan, outcome, done))->start();
}

void DynamoBuckets::list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
                         store::Completion<store::Page<Bucket>> done) {
  const Time now = site_.now();
  store::Page<Bucket> page;
  QueryOf wanted{.pk = entity_pk(name_space, entity), .begins_with = std::string(bucket_prefix)};
  if (!paging.cursor.empty()) wanted.after = std::string(bucket_prefix) + paging.cursor;
  std::optional<Error> failed;
  auto listed = Asking(site_).for_each(wanted, [&](const Item& item) {
    auto read = read_bucket(item);
    if (!read) return failed = read.error(), false;
    if (read->state.expires_at <= now) return true;
    if (page.items.size() == paging.limit) return page.next = page.items.back().resource, false;
    const bucket::State& state = read->state;
    Bucket& bucket = page.items.emplace_back();
    bucket.entity = entity;
    bucket.resource = key_of(item).sk.substr(bucket_prefix.size());
    bucket.refilled_at = state.refilled_at;
    bucket.version = state.version;
    if (state.expires_at != bucket::never) bucket.expires_at = state.expires_at;
    for (const bucket::LimitState& limit : state.limits) {
      bucket.limits.push_back({.name = limit.name,
                               .limit = limits::limit_of(limit.parameters),
                               .tokens = Amount::milli(limit.tokens),
                               .consumed = Amount::milli(limit.consumed)});
    }
    return true;
  });
  if (!listed) return done(listed.error());
  if (failed) return done(*failed);
  done(std::move(page));
}

}  // namespace weir::dynamodb
