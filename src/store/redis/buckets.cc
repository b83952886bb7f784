#include "store/redis/buckets.h"

#include <utility>

#include "store/redis/acquire.h"
#include "store/redis/catalog.h"
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

void RedisBuckets::list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
                        store::Completion<store::Page<Bucket>> done) {
  done(list_now(name_space, entity, paging));
}

Result<store::Page<Bucket>> RedisBuckets::list_now(std::string_view name_space, std::string_view entity,
                                                   const store::Paging& paging) {
  auto family = catalog_.family_of(name_space, entity);
  if (!family) return family.error();
  const std::string index = site_.names.index(name_space, *family, entity);
  store::Page<Bucket> page;
  std::string cursor = paging.cursor;
  for (;;) {
    const std::string from = cursor.empty() ? "-" : "(" + cursor;
    auto listed = Asking(site_).ask(
        index, resp::command({"ZRANGEBYLEX", index, from, "+", "LIMIT", "0", std::to_string(paging.limit)}));
    if (!listed) return listed.error();
    const std::vector<std::string_view> resources = listed->get().texts();
    if (resources.empty()) return page;
    std::vector<std::string> keys;
    for (const std::string_view resource : resources)
      keys.push_back(site_.names.bucket(name_space, *family, entity, resource));
    auto reply =
        Asking(site_).run(Script::load(), keys, {std::to_string(site_.time.for_scripts()), "0"}, false);
    if (!reply) return reply.error();
    const Reply found = reply->get();
    auto at = found.children();
    at.next();
    const Time now = at.next().integer().value_or(0);
    for (const std::string_view resource : resources) {
      auto read = read_bucket(at.next(), entity, resource);
      if (!read) return read.error();
      // Those that have expired stay in the index until it goes.
      if (!read->bucket || read->bucket->state.expires_at <= now) continue;
      Bucket bucket = remote::bucket_of(entity, resource, read->bucket->state);
      if (!remote::add(page, paging.limit, std::move(bucket), &Bucket::resource)) return page;
    }
    cursor = resources.back();
  }
}

}  // namespace weir::redis
