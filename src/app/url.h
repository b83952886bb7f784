// The parts of a store's URL. Only this room includes it: it names concrete stores.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/dynamodb/dynamodb_store.h"
#include "store/redis/redis_store.h"
#include "weir/result.h"

namespace weir::app {

enum class StoreKind { memory, sqlite, redis, dynamodb };

/// `redis://[user:password@]host[:port][/database][?name=value&...]`, `rediss://` with TLS.
struct RedisUrl {
  bool tls = false;
  std::string user;
  std::string password;
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  int database = 0;
  bool cluster = false;
  std::string prefix = "weir";
  std::optional<std::chrono::milliseconds> deadline;
  std::optional<std::chrono::milliseconds> cache;
  std::optional<std::chrono::milliseconds> refuse;
  std::string authorities;  ///< cacert=FILE
  std::string certificate;  ///< cert=FILE
  std::string key;          ///< key=FILE
};

struct StoreUrl {
  StoreKind kind = StoreKind::memory;
  std::string path;  ///< of a file
  RedisUrl redis = {};
  dynamodb::StoreOptions dynamodb = {};
};

Result<StoreUrl> parse_store_url(std::string_view url);
/// Reads the TLS files.
Result<redis::RedisStoreOptions> redis_options(const RedisUrl& url);

}  // namespace weir::app
