// From names to limits: walks from an entity up its chain and resolves the bucket of each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/lock.h"
#include "limits/resolution.h"
#include "store/catalog.h"

namespace weir::limiter {

/// A plan goes out of date when limits change between resolving and deciding. After this many attempts in a
/// row, limits are being changed without pause.
inline constexpr int patient_attempts = 8;
/// After the patient attempts changes are held back, so that only those under way can interfere.
inline constexpr int most_attempts = 100;

/// Shares one resolution between all buckets without limits of their own, such as a million buckets under the
/// system's limits. Safe to use from any thread.
class SharedResolutions {
 public:
  /// `ttl_multiplier`: for buckets, where the system level has none.
  explicit SharedResolutions(int ttl_multiplier) : ttl_multiplier_(ttl_multiplier) {}
  int ttl_multiplier() const { return ttl_multiplier_; }

  /// The resolution of the found records, linked to the parent's (may be empty).
  limits::ResolutionRef resolve(const store::Found& found, const limits::LimitSetRef& request_limits,
                                const limits::ResolutionRef& parent);
  /// The same for an entity that is blocked or exempt. Not shared.
  limits::ResolutionRef resolve(const store::Found& found, const limits::LimitSetRef& request_limits,
                                const limits::ResolutionRef& parent, limits::AccessVerdictRef access) const;

 private:
  using Origin = std::tuple<const void*, const void*, const void*, const void*, std::string>;

  base::Ref<limits::Resolution> make(const store::Found& found, const limits::LimitSetRef& request_limits,
                                     const limits::ResolutionRef& parent) const;

  const int ttl_multiplier_;
  base::Mutex mutex_;
  std::uint64_t generation_ WEIR_GUARDED_BY(mutex_) = 0;
  std::map<Origin, limits::ResolutionRef> resolutions_ WEIR_GUARDED_BY(mutex_);
};

/// The entity and resource to resolve.
struct Subject {
  std::string_view name_space;
  std::string_view entity;
  std::string_view resource;
  limits::LimitSetRef request_limits;
};

/// One walk up a chain. Must live until its completion was called; the subject's texts must stay valid as
/// long.
class Walk {
 public:
  Walk(store::Catalog& catalog, SharedResolutions& shared)
      : catalog_(catalog), shared_(shared), held_(catalog) {}
  void start(const Subject& subject, store::Completion<limits::ResolutionRef> done);

 private:
  void ask(std::string_view entity);
  void found(Result<store::Found>&& found);
  bool is_cycle() const;
  void finish(Result<limits::ResolutionRef> resolution);
  limits::AccessVerdictRef judge(std::size_t link) const;
  limits::ResolutionRef assemble();

  store::Catalog& catalog_;
  SharedResolutions& shared_;
  store::ChangesHeld held_;
  int restarts_ = 0;
  Subject subject_;
  std::vector<store::Found> links_;  ///< the entity and all of its ancestors
  std::optional<store::Completion<limits::ResolutionRef>> done_;
};

}  // namespace weir::limiter
