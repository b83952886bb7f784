#include "decision/next_state.h"

#include "base/wide.h"
#include "decision/expiry.h"
#include "decision/repair.h"

namespace weir::decision {
namespace {

bucket::State uncharged(const Link& link, std::uint64_t new_generation) {
  const bucket::Claims& claims = link.claimed->claims;
  const bucket::State* const old = link.claimed->stored();
  bucket::State state;
  state.refilled_at = claims.at;
  state.version = claims.version;
  state.generation = old != nullptr ? old->generation : new_generation;
  for (const bucket::LimitClaim& limit : claims.limits) {
    const std::int64_t held = limit.held(old);
    if (bucket::forgettable(limit, held)) continue;
    const std::int64_t consumed =
        limit.index < 0 ? 0 : old->limits[static_cast<std::size_t>(limit.index)].consumed;
    state.limits.push_back(
        {limit.name, limit.parameters, held, consumed, !limit.in_force, limit.holds, limit.grants});
  }
  return state;
}

}  // namespace

void set_expiry(bucket::State& state, const limits::Resolution& resolution) {
  Expiry expiry(state.refilled_at, resolution);
  for (const bucket::LimitState& limit : state.limits) {
    expiry.hold(limit.name, limit.parameters, limit.tokens, limit.dormant);
    expiry.hold(limit.holds);
    expiry.grant(limit.grants);
  }
  state.expires_at = expiry.expires_at();
}

bucket::State claimed_state(const Link& link, std::uint64_t new_generation) {
  bucket::State state = uncharged(link, new_generation);
  set_expiry(state, *link.resolution);
  return state;
}

bucket::State charged_state(const Link& link, std::uint64_t new_generation) {
  bucket::State state = uncharged(link, new_generation);
  for (bucket::LimitState& limit : state.limits) {
    const int index = link.resolution->limits->find(limit.name);
    if (index < 0) continue;
    const std::int64_t amount = link.amount[static_cast<std::size_t>(index)];
    limit.tokens -= amount - bucket::total(bucket::spend(limit.grants, amount));
    if (limit.parameters.kind() == Kind::concurrent) {
      if (amount > 0) bucket::take(limit.holds, link.hold_until, amount);
    } else {
      limit.consumed = base::wrapping_add(limit.consumed, amount);
    }
  }
  set_expiry(state, *link.resolution);
  return state;
}

std::vector<GrantedCharge> granted_charges(const Link& link) {
  std::vector<GrantedCharge> charges;
  for (const bucket::LimitClaim& limit : link.claimed->claims.limits) {
    if (limit.grants.empty() || !limit.in_force) continue;
    bucket::Grants grants = limit.grants;
    const auto index = static_cast<std::size_t>(link.resolution->limits->find(limit.name));
    auto pieces = bucket::spend(grants, link.amount[index]);
    if (!pieces.empty()) charges.push_back({limit.name, std::move(pieces)});
  }
  return charges;
}

bool must_adopt(const Link& link) {
  const Claimed& claimed = *link.claimed;
  const bool differs = claimed.claims.changed || claimed.claims.version != claimed.state->version;
  return differs && check_size(link);
}

bool must_exist(const Link& link) {
  if (link.fits || link.claimed == nullptr) return false;
  const Claimed& claimed = *link.claimed;
  if (!claimed.state || claimed.repaired) return true;
  const bool of_request = link.resolution->request_in_force;
  // Limits whose stamp is ahead of the clock are in force once the bucket is written with them. Until then
  // it would refill at the old rate up to the stamp, and the wait would be wrong.
  const bool ahead_of_clock = claimed.claims.changed_at > claimed.claims.at;
  if (ahead_of_clock || (claimed.claims.changed && of_request)) return true;
  const limits::LimitSet& set = *link.resolution->limits;
  const auto refused = [&](const bucket::LimitClaim& limit) {
    if (!limit.joins) return false;
    const auto index = static_cast<std::size_t>(set.find(limit.name));
    return (link.named >> index & 1U) != 0 && link.amount[index] > link.held[index];
  };
  return std::any_of(claimed.claims.limits.begin(), claimed.claims.limits.end(), refused);
}

}  // namespace weir::decision
