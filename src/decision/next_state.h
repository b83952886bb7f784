// The state of a bucket after a decision. For links that Chain::claim() has brought up to date.
#pragma once

#include <atomic>
#include <functional>

#include "decision/chain.h"

namespace weir::decision {

/// The generation of a new bucket: a number that no other bucket of this name has had.
using NewGeneration = std::function<std::uint64_t()>;

/// The state after refill and changes of parameters, with nothing charged; a new one where there is none.
/// Dormant limits that hold their capacity again are left out.
bucket::State claimed_state(const Link& link, std::uint64_t new_generation);
/// The same after the charges of the link.
bucket::State charged_state(const Link& link, std::uint64_t new_generation);
/// What the charges of a link take of grants.
struct GrantedCharge {
  std::string_view limit;
  bucket::Grants pieces;
};
std::vector<GrantedCharge> granted_charges(const Link& link);
/// Sets the expiry, once the balances are final.
void set_expiry(bucket::State& state, const limits::Resolution& resolution);

/// Whether a bucket has to be written, as claimed_state(), to adopt the new limits of its entity. It adopts
/// them at once: it must not expire before it is full under them, and no process that does not know them yet
/// may charge it. A bucket that would have to keep too many limits adopts them with its next decision.
bool must_adopt(const Link& link);

/// Whether a refused link must be written, uncharged, so that it refills during the wait: its bucket or a
/// limit that refused does not exist yet, limits hold only from this moment on (they were sent with the
/// request, or their stamp lies too far ahead of the clock), or a refill time was repaired. All other results
/// of a refusal come out the same the next time.
bool must_exist(const Link& link);

}  // namespace weir::decision
