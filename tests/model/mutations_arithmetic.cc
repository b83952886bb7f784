// Mutations of the arithmetic: what a machine would have sent with other claims of refill.
#include <cstdint>
#include <vector>

#include "bucket/claims.h"
#include "mutations.h"

namespace weir::model {
namespace {

using bucket::Claims;
using bucket::LimitClaim;
using bucket::State;
using conditional::LimitWrite;
using conditional::Transaction;
using conditional::Write;
using limits::Resolution;
using Effect = LimitWrite::Effect;
using Path = Write::Path;

/// Refill is computed from the time that passed instead of from absolute time, and the rest is dropped.
Claims dropping_rests(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0) continue;
    limit.claim.grant =
        (claims.at - state->refilled_at) * limit.parameters.rate.amount / limit.parameters.rate.period;
  }
  return claims;
}

/// Only the first limit is refilled, and the refill time of all moves.
Claims first_limit_only(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index > 0) limit.claim.grant = 0;
  }
  return claims;
}

/// The new rate counts from the last refill on.
Claims retroactive(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0 || !limit.in_force) continue;
    limit.claim = bucket::claim(limit.parameters.rate, limit.parameters.burst, state->refilled_at, claims.at);
  }
  return claims;
}

/// The old rate counts up to now.
Claims belated(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0 || !limit.in_force) continue;
    const bucket::Parameters& old = state->limits[static_cast<std::size_t>(limit.index)].parameters;
    limit.claim =
        bucket::claim(old.rate, old.burst, state->refilled_at, claims.at).then(0, limit.parameters.burst);
  }
  return claims;
}

/// A change of parameters moves the refill time without claiming what is due.
Claims unclaimed(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.changed && limit.index >= 0) limit.claim.grant = 0;
  }
  return claims;
}

/// A new bucket and a new limit hold burst.
Claims starting_full(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0) limit.claim = {limit.parameters.burst, limit.parameters.burst};
  }
  return claims;
}

/// The refill time follows the clock backward.
Claims backward(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  claims.at = now;
  return claims;
}

/// A limit that left the set keeps the burst that it had, whatever changes it missed.
Claims untightened(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0 || limit.in_force) continue;
    const bucket::Parameters& old = state->limits[static_cast<std::size_t>(limit.index)].parameters;
    limit.parameters.capacity = old.capacity;
    limit.parameters.burst = old.burst;
    limit.claim = bucket::claim(limit.parameters.rate, old.burst, state->refilled_at, claims.at);
  }
  return claims;
}

/// One limit of a Normal write, as the machine would have made it from other claims.
void rewrite(LimitWrite& write, const LimitClaim& claim, const State& item) {
  const auto [grant, ceiling] = claim.claim;
  if (write.effect == Effect::insert) {
    write.tokens = claim.held(nullptr) - write.consumed;
  } else if (write.effect == Effect::add || write.effect == Effect::set) {
    const std::int64_t tokens = item.limits[static_cast<std::size_t>(claim.index)].tokens;
    const bool brim = tokens > ceiling - grant;
    write.effect = brim ? Effect::set : Effect::add;
    write.tokens = (brim ? ceiling : grant) - write.consumed;
    write.at_least = brim ? ceiling - grant + 1 : write.consumed - grant;
    write.at_most.reset();
    if (!brim) write.at_most = ceiling - grant;
  }
  if (write.parameters) write.parameters = claim.parameters;
}

using ClaimsOf = Claims(const State*, const Resolution&, Time);

/// What the machine would have sent with other arithmetic.
template <ClaimsOf* wrong>
void claimed(Transaction& transaction, const Grounds& grounds) {
  for (Write& write : transaction.writes) {
    const bool creates = write.item.has_value();
    if (!creates && write.path != Path::normal) continue;
    const auto& item = grounds.snapshot[write.bucket].item;
    const Claims claims = wrong(creates ? nullptr : &*item, grounds.resolution, grounds.now);
    if (write.set_refilled_at) write.set_refilled_at = claims.at;
    for (const LimitClaim& claim : claims.limits) {
      if (creates) {
        for (auto& limit : write.item->limits) {
          if (limit.name == claim.name) limit.tokens = claim.held(nullptr) - limit.consumed;
        }
      }
      for (LimitWrite& limit : write.limits) {
        if (limit.name == claim.name) rewrite(limit, claim, *item);
      }
    }
  }
}

}  // namespace

std::vector<Mutation> arithmetic_mutations() {
  return {
      {.name = "time-runs-backward", .batch = "E2", .sent = &claimed<&backward>},
      {.name = "rests-dropped", .batch = "A2", .sent = &claimed<&dropping_rests>},
      {.name = "only-the-first-limit-claimed", .batch = "B2", .sent = &claimed<&first_limit_only>},
      {.name = "change-retroactive", .batch = "H1", .sent = &claimed<&retroactive>},
      {.name = "change-belated", .batch = "H1", .sent = &claimed<&belated>},
      {.name = "change-without-claim", .batch = "A7", .sent = &claimed<&unclaimed>},
      {.name = "made-at-burst", .batch = "C3", .sent = &claimed<&starting_full>},
      {.name = "dormant-limit-keeps-its-burst", .batch = "H4", .sent = &claimed<&untightened>},
  };
}

}  // namespace weir::model
