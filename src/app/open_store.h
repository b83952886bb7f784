// Opens a store by its URL. The only room that names concrete stores.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "app/url.h"
#include "base/entropy.h"
#include "store/redis/redis_store.h"
#include "store/store.h"
#include "weir/clock.h"
#include "weir/limiter.h"
#include "weir/result.h"

namespace weir::app {

/// What holds where the URL does not say.
struct StoreDefaults {
  /// Redis: for how long a bucket that was just found too empty is refused without asking.
  std::chrono::milliseconds refuse_for{0};
};

/// The clock must outlive the store; of a memory store also the entropy. Of the options, those that concern
/// the store matter.
Result<std::shared_ptr<store::Store>> open_store(std::string_view url, const Options& options,
                                                 const std::shared_ptr<const Clock>& clock,
                                                 base::Entropy& entropy, const StoreDefaults& defaults = {});

/// What a URL says of a Redis server. Reads the files of TLS.
Result<redis::RedisStoreOptions> redis_options(const RedisUrl& url);

}  // namespace weir::app
