// Opens a store by its URL. The only room that names concrete stores.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/url.h"
#include "base/entropy.h"
#include "store/redis/redis_store.h"
#include "store/store.h"
#include "weir/clock.h"
#include "weir/limiter.h"
#include "weir/result.h"

namespace weir::app {

/// Settings for parameters that the URL does not have.
struct StoreDefaults {
  /// Redis: for how long requests on a bucket that was just found too empty are refused without asking the
  /// server.
  std::chrono::milliseconds refuse_for{0};
};

/// The clock must outlive the store; for a memory store the entropy too. Uses only the options that concern
/// the store.
Result<std::shared_ptr<store::Store>> open_store(std::string_view url, const Options& options,
                                                 const std::shared_ptr<const Clock>& clock,
                                                 base::Entropy& entropy, const StoreDefaults& defaults = {});

/// Tells other processes what holds the file, in the error that they get; for other stores nothing. `what`
/// continues "in use by weir (process 4711), ".
void announce(store::Store& store, const std::string& what);

/// The options of a Redis URL. Reads the TLS files.
Result<redis::RedisStoreOptions> redis_options(const RedisUrl& url);

}  // namespace weir::app
