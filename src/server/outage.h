// Whether the store answers, and what is decided while it does not.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/lock.h"
#include "store/store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "weir/catalog.h"
#include "weir/clock.h"

namespace weir::server {

/// What becomes of an acquire that ended in an error.
struct Undecided {
  bool admit = false;  ///< it may pass, uncharged and marked as degraded
  telemetry::Outcome outcome = telemetry::Outcome::error;
};

/// `policy` counts only where the store is unavailable, so that nothing can have been charged. Contention is
/// no outage: the store decides, and trying again helps. After an unknown outcome the charge may have been
/// made.
Undecided undecided(const Error& error, OnUnavailable policy);

/// What the system limits of each namespace said about outages when they were last read. Safe to use from any
/// thread.
class LastKnown {
 public:
  void set(const std::string& name_space, std::optional<OnUnavailable> policy);
  std::optional<OnUnavailable> get(std::string_view name_space) const;
  /// It should be read when that is possible again.
  void owe(const std::string& name_space);
  std::set<std::string> take_owed();

 private:
  mutable base::Mutex mutex_;
  std::map<std::string, OnUnavailable, std::less<>> policies_ WEIR_GUARDED_BY(mutex_);
  std::set<std::string> owed_ WEIR_GUARDED_BY(mutex_);
};

/// Safe to use from any thread.
class Outage {
 public:
  struct Parts {
    store::Store& store;
    const Clock& clock;
    telemetry::Metrics& metrics;
    telemetry::Log* log = nullptr;  ///< told once of each change
    std::optional<OnUnavailable> flag = {};
    OnUnavailable otherwise = OnUnavailable::deny;  ///< where neither flag nor limits say
  };
  /// The parts must outlive it.
  explicit Outage(const Parts& parts) : parts_(parts), last_known_(std::make_shared<LastKnown>()) {}

  /// The store did something. Costs nothing unless it was away.
  void succeeded() {
    if (!up_.load(std::memory_order_relaxed)) [[unlikely]]
      (void)look();
  }
  /// The store could not; only for errors that say so (is_outage). Whether it is unavailable, it says itself:
  /// a request that fails while others do not must not look like an outage for each time it is sent.
  void failed(const Error& error);
  static bool is_outage(const Error& error) {
    return error.code == ErrorCode::unavailable || error.code == ErrorCode::outcome_unknown;
  }
  /// Asks the store how it is. An error says what is wrong with it.
  Result<void> look();
  bool up() const { return up_.load(std::memory_order_relaxed); }

  /// Of the flag, else as last known, else as the parts say. Does not ask the store.
  OnUnavailable policy(std::string_view name_space) const;
  /// Reads what the system's limits say, now or when the store is back.
  void learn(const std::string& name_space);
  /// The same, after a change of them that reached the store: it can be asked, whatever it says of itself.
  void learn_changed(const std::string& name_space);

 private:
  void change(bool up, std::string_view error);

  const Parts parts_;
  const std::shared_ptr<LastKnown> last_known_;  ///< shared with reads that are under way
  std::atomic<bool> up_{true};
  base::Mutex mutex_;
  Time away_since_ WEIR_GUARDED_BY(mutex_) = 0;
  std::optional<Time> last_hiccup_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::server
