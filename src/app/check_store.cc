#include "app/check_store.h"

#include "app/open_store.h"
#include "app/url.h"
#include "store/dynamodb/check.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/check.h"

namespace weir::app {

Result<std::vector<Finding>> check_store(std::string_view url, const Options& options) {
  return check_namespace(url, options, "");
}

Result<std::vector<Finding>> check_namespace(std::string_view url, const Options& options,
                                             const std::string& name_space) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->kind == StoreKind::sqlite) {
    const SystemClock system;
    return sqlite::check(parsed->path, options.clock != nullptr ? options.clock->now() : system.now(),
                         name_space);
  }
  if (parsed->kind == StoreKind::redis) {
    auto redis = redis_options(parsed->redis);
    if (!redis) return redis.error();
    return redis::check(*redis);
  }
  if (parsed->kind == StoreKind::dynamodb) {
    const SystemClock system;
    base::SystemEntropy entropy;
    auto client = dynamodb::connect(parsed->dynamodb, system, entropy);
    if (!client) return std::vector<Finding>{{Severity::failure, "connection", client.error().message}};
    return dynamodb::check_table(**client, parsed->dynamodb.table, parsed->dynamodb.clock_bound.count());
  }
  return std::vector<Finding>{{Severity::ok, "store", "in the memory of each process"},
                              {Severity::warning, "durability",
                               "everything is forgotten when the process ends; use sqlite:PATH to keep it"}};
}

}  // namespace weir::app
