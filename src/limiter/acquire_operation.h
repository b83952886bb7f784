// One decision: resolves, plans, asks the store, and starts over if the plan went out of date.
#pragma once

#include <optional>
#include <vector>

#include "base/recycled.h"
#include "limiter/resolver.h"
#include "store/buckets.h"

namespace weir::limiter {

/// Serves callers that block and callers that do not. Must live until its completion was called; the
/// request's texts must stay valid as long.
class AcquireOperation final : public base::Recycled<AcquireOperation> {
 public:
  enum class Mode { acquire, peek };

  AcquireOperation(store::Buckets& buckets, store::Catalog& catalog, SharedResolutions& shared)
      : buckets_(buckets), held_(catalog), walk_(catalog, shared) {}
  void start(const store::Request& request, Mode mode, Decision& decision, store::Completion<void> done);
  /// Decides as if the entity were exempt. Before start().
  void treat_as_exempt() { treated_as_exempt_ = true; }
  /// After success: whether it was decided for an exempt entity.
  bool exempt() const { return exempt_; }

 private:
  void resolve();
  void resolved(Result<limits::ResolutionRef>&& resolution);
  void progressed(Result<store::Progress>&& progress);
  void finish(Result<void> result);
  void name_every();
  void name_known();
  void blocked();
  void deny(Error error);
  void look_for_repeated();
  void looked_for_repeated(Result<store::Progress>&& progress);
  void refuse_blocked();
  void admit_uncharged(Time now);

  store::Buckets& buckets_;
  store::ChangesHeld held_;
  Walk walk_;
  store::Plan plan_;
  std::vector<Charge>
      every_;  ///< of a request for every limit, or of an exempt entity: the limits, as resolved
  // Of the request. An exempt entity's plan differs from it.
  bool shadow_ = false;
  std::span<const Charge> consume_;
  Mode mode_ = Mode::acquire;
  bool treated_as_exempt_ = false;
  bool exempt_ = false;
  std::optional<Error> denied_;  ///< the answer, unless an earlier copy was admitted
  int attempts_ = 0;
  Decision* decision_ = nullptr;
  std::optional<store::Completion<void>> done_;
};

}  // namespace weir::limiter
