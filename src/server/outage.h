// Whether the store answers, and the decisions while it is unavailable.
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

/// The outcome of an acquire that ended in an error.
struct Undecided {
  bool admit = false;  ///< admitted, uncharged and marked as degraded
  telemetry::Outcome outcome = telemetry::Outcome::error;
};

/// `policy` applies only if the store is unavailable, so that nothing can have been charged. Contention is no
/// outage: the store decides, and a retry helps. After an unknown outcome the charge may have been made.
Undecided undecided(const Error& error, OnUnavailable policy);

/// The `on_unavailable` of the system limits of each namespace, as last read. Safe to use from any thread.
class LastKnown {
 public:
  void set(const std::string& name_space, std::optional<OnUnavailable> policy);
  std::optional<OnUnavailable> get(std::string_view name_space) const;
  /// The namespace is to be read when the store is back.
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
    telemetry::Log* log = nullptr;  ///< gets one entry for each change
    std::optional<OnUnavailable> flag = {};
    OnUnavailable otherwise = OnUnavailable::deny;  ///< if neither flag nor limits set it
  };
  /// The parts must outlive it.
  explicit Outage(const Parts& parts) : parts_(parts), last_known_(std::make_shared<LastKnown>()) {}

  /// The store has answered. Costs nothing unless it was unavailable.
  void succeeded() {
    if (!up_.load(std::memory_order_relaxed)) [[unlikely]]
      (void)look();
  }
  /// The store has failed a request; only for errors of outages (is_outage). The store's health() decides
  /// whether it is unavailable: one request that always fails must not look like an outage each time it is
  /// sent.
  void failed(const Error& error);
  static bool is_outage(const Error& error) {
    return error.code == ErrorCode::unavailable || error.code == ErrorCode::outcome_unknown;
  }
  /// Checks the health of the store.
  Result<void> look();
  bool up() const { return up_.load(std::memory_order_relaxed); }

  /// The policy of the flag, else the last known one, else that of the parts. Does not ask the store.
  OnUnavailable policy(std::string_view name_space) const;
  /// Reads the policy of the system limits, now or when the store is back.
  void learn(const std::string& name_space);
  /// The same after a change of the system limits that the store has taken: it can be asked, whatever its
  /// health().
  void learn_changed(const std::string& name_space);

 private:
  void change(bool up, std::string_view error);

  const Parts parts_;
  const std::shared_ptr<LastKnown> last_known_;  ///< shared with reads in progress
  std::atomic<bool> up_{true};
  base::Mutex mutex_;
  Time unavailable_since_ WEIR_GUARDED_BY(mutex_) = 0;
  std::optional<Time> last_hiccup_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::server
