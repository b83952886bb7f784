// One change to a lease: resolves each of its buckets, asks the store, and starts over if limits changed.
#pragma once

#include <optional>
#include <vector>

#include "limiter/resolver.h"
#include "store/buckets.h"

namespace weir::limiter {

/// Serves callers that block and callers that do not. Must live until its completion was called; the lease
/// and the change's texts must stay valid as long.
class LeaseOperation {
 public:
  LeaseOperation(store::Buckets& buckets, store::Catalog& catalog, SharedResolutions& shared)
      : buckets_(buckets), held_(catalog), walk_(catalog, shared) {}
  /// On success the lease has the change, and report() has the balances of its limits.
  /// `request_limits`: those of the acquire, if they are still known.
  void start(std::string_view name_space, detail::LeaseData& lease, const decision::LeaseChange& change,
             store::Completion<void> done, limits::LimitSetRef request_limits = {});
  LimitReport& report() { return outcome_.report; }

 private:
  void attempt();
  void resolve_next();
  limits::ResolutionRef resolved_above(std::string_view entity) const;
  void resolved(Result<limits::ResolutionRef>&& resolution);
  void progressed(Result<store::Progress>&& progress);
  void finish(Result<void> result);

  store::Buckets& buckets_;
  store::ChangesHeld held_;
  Walk walk_;
  std::string_view name_space_;
  detail::LeaseData* lease_ = nullptr;
  decision::LeaseChange change_;
  limits::LimitSetRef request_limits_;
  std::vector<limits::ResolutionRef> resolutions_;
  std::optional<store::LeasePlan> plan_;
  store::LeaseOutcome outcome_;
  int attempts_ = 0;
  std::optional<store::Completion<void>> done_;
};

}  // namespace weir::limiter
