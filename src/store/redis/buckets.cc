#include "store/redis/buckets.h"

#include <utility>

#include "store/bucket_of.h"
#include "store/redis/acquire.h"
#include "store/redis/catalog.h"
#include "store/redis/correction.h"
#include "store/redis/lease.h"

namespace weir::redis {

namespace resp = wire::resp;

void RedisBuckets::acquire(const store::Plan& plan, Decision& decision,
                           store::Completion<store::Progress> done) {
  (new Acquire(*this, plan, decision::Verb::acquire, decision, done))->start();
}

void RedisBuckets::peek(const store::Plan& plan, Decision& decision,
                        store::Completion<store::Progress> done) {
  (new Acquire(*this, plan, decision::Verb::look, decision, done))->start();
}

void RedisBuckets::change(const store::LeasePlan& plan, store::LeaseOutcome& outcome,
                          store::Completion<store::Progress> done) {
  (new LeaseChange(*this, plan, outcome, done))->start();
}

void RedisBuckets::correct(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
                           store::Completion<store::Progress> done) {
  (new Correction(*this, plan, outcome, done))->start();
}

void RedisBuckets::list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
                        store::Completion<store::Page<Bucket>> done) {
  done(list_now(name_space, entity, paging));
}

Result<store::Page<Bucket>> RedisBuckets::list_now(std::string_view name_space, std::string_view entity,
                                                   const store::Paging& paging) {
  auto family = catalog_.family_of(name_space, entity);
  if (!family) return family.error();
  const std::string index = context_.names.index(name_space, *family, entity);
  store::Page<Bucket> page;
  std::string cursor = paging.cursor;
  for (;;) {
    const std::string from = cursor.empty() ? "-" : "(" + cursor;
    auto listed = BlockingCalls(context_).ask(
        index, resp::command({"ZRANGEBYLEX", index, from, "+", "LIMIT", "0", std::to_string(paging.limit)}));
    if (!listed) return listed.error();
    const auto texts = listed->get().texts();
    const std::vector<std::string> resources(texts.begin(), texts.end());
    if (resources.empty()) return page;
    auto loaded = load_buckets(context_, name_space, *family, entity, resources);
    if (!loaded) return loaded.error();
    for (std::size_t i = 0; i < resources.size(); ++i) {
      const StoredBucket* const bucket = loaded->alive(i);
      // Expired buckets stay in the index until the index expires.
      if (bucket == nullptr) continue;
      Bucket shown = store::bucket_of(entity, resources[i], bucket->state);
      if (!remote::add(page, paging.limit, std::move(shown), &Bucket::resource)) return page;
    }
    cursor = resources.back();
  }
}

}  // namespace weir::redis
