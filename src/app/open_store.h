// Opens a store by its URL. The only room that names concrete stores.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "base/entropy.h"
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

}  // namespace weir::app
