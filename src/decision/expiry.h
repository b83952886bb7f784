// When a bucket may expire: a function of its state alone.
//
// Expired means absent, and an absent bucket holds its capacities. So a bucket may expire only when every
// limit would hold its capacity again, and a promised wait for more than the capacity is right only if the
// bucket lives that long. After a write at `at` it is therefore kept for the maximum, over all limits in the
// record, of
//
//     time to pay the debt + max(time to fill the capacity * multiplier,
//                                time to fill the burst + time to fill the capacity, where burst exceeds
//                                capacity)
//
// A concurrent limit is kept until the last deadline of what is held of it, and a grant until its end.
//
// Where a level expires before that, other limits come into force at that moment. A bucket that still exists
// then is kept until it is full under these, and a debt is taken to be paid at the slowest rate of all.
//
// Buckets whose limits come from an operator's entity+resource level never expire.
#pragma once

#include <span>

#include "bucket/state.h"
#include "limits/resolution.h"

namespace weir::decision {

class Expiry {
 public:
  /// `resolution`: of the limits in force. Its keep_for covers those that are not in debt. It must outlive
  /// this.
  Expiry(Time at, const limits::Resolution& resolution)
      : at_(at), resolution_(resolution), keep_for_(resolution.keep_for) {}

  /// Adds what is held of a concurrent limit.
  void hold(std::span<const bucket::Hold> holds) {
    if (holds.empty() || keep_for_ == bucket::never) return;
    keep_for_ = std::max(keep_for_, holds.back().deadline - at_);
  }
  /// Adds the grants of a rate limit.
  void grant(std::span<const bucket::Grant> grants) {
    if (grants.empty() || keep_for_ == bucket::never) return;
    const Time end = grants.back().deadline;
    keep_for_ = end == bucket::no_end ? bucket::never : std::max(keep_for_, end - at_);
  }
  /// Adds one limit of the record and its balance.
  void hold(std::string_view name, const limits::Parameters& parameters, std::int64_t tokens, bool dormant) {
    if ((!dormant && tokens >= 0) || keep_for_ == bucket::never || parameters.kind() == Kind::concurrent)
      return;
    Time kept = limits::keep_for(parameters, resolution_.multiplier);
    Time paid_at = bucket::moment_granted(parameters.rate, at_, -tokens);
    if (tokens < 0 && paid_at >= resolution_.changes_at)
      pay_after(name, parameters.rate, -tokens, paid_at, kept);
    keep_for_ = std::max(keep_for_, base::saturating_add(paid_at - at_, kept));
  }
  Time expires_at() const {
    if (keep_for_ == bucket::never) return bucket::never;
    return resolution_.expiry_of(base::saturating_add(at_, keep_for_));
  }

 private:
  /// A debt that is not paid before other limits come into force.
  void pay_after(std::string_view name, limits::Rate slowest, std::int64_t debt, Time& paid_at,
                 Time& kept) const {
    for (const limits::Resolution* after = resolution_.after.get(); after != nullptr;
         after = after->after.get()) {
      const int index = after->limits->find(name);
      if (index < 0) continue;
      const limits::Parameters& later = (*after->limits)[static_cast<std::size_t>(index)];
      if (later.kind() == Kind::rate && limits::slower(later.rate, slowest)) slowest = later.rate;
      kept = std::max(kept, after->keep_for);
    }
    paid_at = bucket::moment_granted(slowest, at_, debt);
  }

  Time at_;
  const limits::Resolution& resolution_;
  Time keep_for_;
};

}  // namespace weir::decision
