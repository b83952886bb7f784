// The four ways to write a bucket. Each turns an image of the bucket, which may be out of date, into a write
// whose conditions restate everything that its effects rely on; so an old image costs a failed write and
// never a wrong balance.
//
//   Create   the bucket is absent or expired: puts the whole item, at capacity less the charge.
//   Normal   claims refill for every limit and charges: tokens' = min(tokens + grant, ceiling) - charge.
//            A store cannot say min() in an update, so the image decides between adding and setting, and a
//            condition makes sure that it decided right. The holds of a concurrent limit are replaced, on
//            condition of the whole list; so are the grants of a rate limit, with its balance.
//   Retry    charges without claiming and without moving the refill time, so that several of them do not
//            stand in each other's way. For a bucket that was refilled a short while ago and is so far
//            below the brim that nothing of its unclaimed refill can be lost to it. Not with grants: a write
//            that gives grants to a bucket without any raises its version, on which Retry and Normal depend.
//   Credit   gives back, blindly: adding commutes with the cut at burst, which is every reader's.
//
// A fifth one, Repair, is no part of a request: it sets a refill time that a wrong clock wrote to the
// present.
//
// For the machines and upkeep.h only; stores do not use it.
#pragma once

#include "decision/chain.h"
#include "decision/correction.h"
#include "decision/next_state.h"
#include "store/conditional/machine.h"

namespace weir::conditional {

/// One bucket at the moment of an attempt.
struct Evaluation {
  std::size_t bucket = 0;
  const BucketPlan* plan = nullptr;
  const Record* item = nullptr;  ///< as last seen; null where it is absent or expired
  Time now = 0;
  decision::Link* link = nullptr;  ///< balances and requested amounts; not needed for Credit

  const bucket::Claims& claims() const { return link->claimed->claims; }
};
/// Adds the bucket to a chain, claims its refill and matches its charges.
Evaluation evaluate(decision::Chain& chain, std::size_t bucket, const BucketPlan& plan, const Record* item,
                    Time now);

/// Makes the conditional writes of an operation.
struct WriteBuilder {
  const Settings& settings;
  bool admitting;                ///< a charge must be covered (acquire); otherwise it may leave a debt
  std::uint64_t new_generation;  ///< of a bucket that this operation creates

  Write create(const Evaluation& evaluation) const;
  Write normal(const Evaluation& evaluation) const;
  /// Requires an item whose parameters are the resolution's.
  Write retry(const Evaluation& evaluation) const;
  /// Gives back the negative charges of the plan; needs no image, and leaves out limits that are known to be
  /// gone.
  Write credit(const Evaluation& evaluation) const;
  static Write repair(const Evaluation& evaluation);
  /// Sets the balances of the correction, on condition that they are as in the image; nothing where there is
  /// nothing to correct. The plan charges nothing.
  Result<std::optional<Write>> correct(const Evaluation& evaluation,
                                       const decision::Correction& correction) const;

  /// An empty write, for upkeep.h.
  static Write blank(Write::Path path, std::size_t bucket) { return {WritePass(), path, bucket}; }
};

/// Whether the write of a bucket must check the entity's parent in the catalog: where it creates the bucket,
/// and where the bucket was created under another parent than the plan's or an unknown one. Otherwise the
/// parent cannot have changed since the bucket was created.
inline bool checks_link(const Evaluation& evaluation) {
  return evaluation.item == nullptr || evaluation.item->parent != evaluation.plan->parent;
}

/// The amount of a limit that the plan names; nothing where it does not, or where the limit is left out. A
/// limit of another kind is another limit.
std::optional<std::int64_t> charge_of(const Evaluation& evaluation, std::string_view limit, Kind kind);

/// What the charges of the plan take of the grants in the image.
std::vector<decision::GrantedCharge> granted_charges(const Evaluation& evaluation);

/// Whether the bucket's parameters are newer than the resolution, which must then be made again.
bool is_stale(const Evaluation& evaluation);

}  // namespace weir::conditional
