// What a decision leaves behind in the record of a bucket. For links that were brought to the present by
// Chain::claim().
#pragma once

#include <atomic>
#include <functional>

#include "decision/chain.h"

namespace weir::decision {

/// Names a bucket that is made: a number that no other bucket of this name has had.
using NewGeneration = std::function<std::uint64_t()>;

/// The state after refill and changes of parameters, with nothing charged; a new one where there is none.
/// Dormant limits that hold their capacity again are left out.
bucket::State claimed_state(const Link& link, std::uint64_t new_generation);
/// The same after the charges of the link.
bucket::State charged_state(const Link& link, std::uint64_t new_generation);
/// Sets the expiry, once the balances are final.
void set_expiry(bucket::State& state, const limits::Resolution& resolution);

/// Whether a bucket has to be written, as claimed_state(), to take over the limits that its entity has from
/// now on. It does so at once: it must not expire before it is full under them, and no process that has not
/// heard of them may charge it. One that would have to keep too many limits follows with its next decision.
bool must_adopt(const Link& link);

/// Whether a refused link must be written, uncharged, so that it can grow until the wait is over: its bucket
/// or a limit that refused does not exist yet, limits hold only from now on (they were sent with the request,
/// or their stamp lies too far ahead of the clock), or a refill time was repaired. Everything else that a
/// refusal computes is computed alike the next time.
bool must_exist(const Link& link);

}  // namespace weir::decision
