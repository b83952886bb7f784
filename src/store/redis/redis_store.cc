#include "store/redis/redis_store.h"

#include "store/redis/call.h"

namespace weir::redis {

namespace resp = wire::resp;

RedisStore::RedisStore(const RedisStoreOptions& options)
    : options_(options),
      catalog_(context_, options.cache_for),
      client_(std::make_unique<net::RedisClient>(options.server, entropy_, Names{options.prefix}.channel(),
                                                 &catalog_)),
      context_{*client_,
               Names{options.prefix},
               options.server.cluster,
               ServerTime(options.clock.get()),
               entropy_,
               ExhaustedBuckets(options.refuse_for)},
      start_up_(context_),
      buckets_(context_, catalog_),
      usage_(context_) {
  context_.start_up = &start_up_;
  client_->start();
}

// The client's thread uses the other members, so it ends before them; the collector uses the client.
RedisStore::~RedisStore() {
  usage_.collector().stop();
  client_.reset();
}

Result<std::shared_ptr<RedisStore>> RedisStore::open(const RedisStoreOptions& options) {
  const std::shared_ptr<RedisStore> store(new RedisStore(options));
  auto ready = store->client_->wait_until_ready();
  if (ready) ready = store->start_up_.read_and_wait();
  if (!ready && options.must_be_reachable) return ready.error();
  // Tests with their own clock collect when they want to.
  if (!options.clock && options.collects_usage) store->usage_.collector().start();
  return store;
}

Result<void> RedisStore::opened() const {
  const std::string why = start_up_.opened() ? std::string() : start_up_.trouble();
  return why.empty() ? Result<void>() : Result<void>(error_of({false, why}));
}

Result<void> RedisStore::health() const {
  if (!client_->up()) return error_of({false, client_->trouble()});
  if (auto open = opened(); !open) return open;
  return context_.write_health.check();
}

std::vector<store::Counter> RedisStore::counters() const {
  return {{"weir_store_refused_from_memory_total",
           "Refusals without asking the store.",
           {},
           static_cast<double>(context_.exhausted.refusals())},
          context_.bad.counter(),
          {"weir_usage_hours_lost_total",
           "Hours of usage that were lost with their bucket before they were collected.",
           {},
           static_cast<double>(usage_.collector().lost())}};
}

Result<void> RedisStore::keep_audit_for(Time duration) {
  const std::string key = context_.names.store();
  auto set = BlockingCalls(context_).ask(
      key, resp::command({"HSET", key, "keep_audit_for", std::to_string(duration)}), true);
  if (!set) return set.error();
  start_up_.keep_audit_for(duration);
  return {};
}

Result<void> RedisStore::keep_usage(const store::UsageKept& kept) {
  const std::string key = context_.names.store();
  auto set =
      BlockingCalls(context_).ask(key,
                                  resp::command({"HSET", key, "keep_usage_hours", std::to_string(kept.hours),
                                                 "keep_usage_days", std::to_string(kept.days)}),
                                  true);
  if (!set) return set.error();
  start_up_.keep_usage(kept);
  return {};
}

}  // namespace weir::redis
