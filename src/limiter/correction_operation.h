// One correction of a bucket: resolves its limits, asks the store, and starts over if they changed.
#pragma once

#include <optional>

#include "limiter/resolver.h"
#include "store/buckets.h"

namespace weir::limiter {

/// Serves callers that block and callers that do not. Must live until its completion was called; the texts
/// and amounts must stay valid as long.
class CorrectionOperation {
 public:
  CorrectionOperation(store::Buckets& buckets, store::Catalog& catalog, SharedResolutions& shared)
      : buckets_(buckets), held_(catalog), walk_(catalog, shared) {}
  /// `plan` has no resolution yet. Fails with no_limits where none are in force.
  void start(const store::CorrectionPlan& plan, store::Completion<void> done);
  const store::CorrectionOutcome& outcome() const { return outcome_; }

 private:
  void resolve();
  void resolved(Result<limits::ResolutionRef>&& resolution);
  void progressed(Result<store::Progress>&& progress);
  void finish(Result<void> result);

  store::Buckets& buckets_;
  store::ChangesHeld held_;
  Walk walk_;
  store::CorrectionPlan plan_;
  store::CorrectionOutcome outcome_;
  int attempts_ = 0;
  std::optional<store::Completion<void>> done_;
};

}  // namespace weir::limiter
