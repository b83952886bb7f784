#include "decision/chain.h"

#include <bit>
#include <set>
#include <string>

#include "base/text.h"
#include "base/wide.h"

namespace weir::decision {
namespace {

using base::quoted;

/// The limits of every link, each once.
std::string names_of(const Chain& chain) {
  std::set<std::string_view> names;
  for (const Link& link : chain) {
    for (std::size_t i = 0; i < link.limit_count(); ++i) names.insert(link.resolution->limits->name(i));
  }
  std::string text;
  for (const std::string_view name : names) text += base::join(text.empty() ? "" : ", ", name);
  return text;
}

Error named_twice(std::span<const Charge> charges) {
  std::set<std::string_view> seen;
  const auto again = std::find_if(charges.begin(), charges.end(),
                                  [&](const Charge& charge) { return !seen.insert(charge.limit).second; });
  return base::invalid("limit ", quoted(again->limit), " is named twice; name it once");
}

}  // namespace

void Chain::claim(Link& link, std::optional<bucket::State> state, Time now, Time bound) {
  const auto index = static_cast<std::size_t>(&link - links_);
  Claimed& claimed = claimed_[index];
  if ((claimed_mask_ >> index & 1U) != 0) std::destroy_at(&claimed);
  std::construct_at(&claimed);
  claimed_mask_ |= 1U << index;
  claimed.state = std::move(state);
  claimed.repaired = claimed.state && repair(*claimed.state, now, bound);
  claimed.claims = bucket::claims_of(claimed.stored(), *link.resolution, now);
  link.claimed = &claimed;
  link.generation = claimed.state ? claimed.state->generation : 0;
  link.expires_at = claimed.state ? claimed.state->expires_at : bucket::never;
  link.at = claimed.claims.at;
  for (const bucket::LimitClaim& limit : claimed.claims.limits) {
    if (!limit.in_force) continue;
    link.held[static_cast<std::size_t>(link.resolution->limits->find(limit.name))] =
        base::saturating_add(limit.held(claimed.stored()), bucket::total(limit.grants));
  }
}

Result<void> match_all(Chain& chain, std::span<const Charge> charges) {
  std::uint64_t known = 0;
  for (Link& link : chain) {
    if (link.resolution->limits->off() == 0 && match_in_order(link, charges, link.limit_count())) {
      known = all_of(charges);
      continue;
    }
    const Matched matched = match(link, charges);
    if (matched.twice) return named_twice(charges);
    known |= matched.charges;
  }
  if (known == all_of(charges)) return {};
  const Charge& unknown = charges[static_cast<std::size_t>(std::countr_one(known))];
  return base::error(ErrorCode::unknown_limit, "limit ", quoted(unknown.limit),
                     " is not among the limits of ", quoted(chain[0].entity),
                     " or its ancestors; known here: ", names_of(chain));
}

void leave_out(Link& link, std::uint32_t limits) {
  for (std::size_t i = 0; i < link.limit_count(); ++i) {
    const std::uint32_t bit = 1U << i;
    if ((limits & link.named & bit) == 0) continue;
    link.asked[i] = link.amount[i];
    link.amount[i] = 0;
    link.named &= ~bit;
    link.left_out |= bit;
  }
}

void rejoin(Link& link) {
  for (std::size_t i = 0; link.left_out >> i != 0; ++i) {
    if ((link.left_out >> i & 1U) != 0) link.amount[i] = link.asked[i];
  }
  link.named |= link.left_out;
  link.left_out = 0;
}

bool fits_without(Link& link, std::uint32_t shadows) {
  std::uint32_t lacking = 0;
  for (std::size_t i = 0; i < link.limit_count(); ++i)
    lacking |= std::uint32_t{link.amount[i] > link.held[i]} << i;
  leave_out(link, lacking & shadows);
  return fits(link, link.limit_count());
}

const bucket::LimitClaim& claim_of(const Link& link, std::size_t limit) {
  const std::string_view name = link.resolution->limits->name(limit);
  const auto& limits = link.claimed->claims.limits;
  return *std::find_if(limits.begin(), limits.end(), [&](const auto& claim) { return claim.name == name; });
}

std::uint32_t concurrent_taken(const Link& link) {
  std::uint32_t taken = link.named & link.resolution->limits->concurrent();
  for (std::size_t i = 0; taken >> i != 0; ++i) {
    if (link.amount[i] == 0) taken &= ~(1U << i);
  }
  return taken;
}

Time rounded_lease_deadline(const Chain& chain, Time now, Time lease_for) {
  std::vector<const bucket::Holds*> lists;
  Time from = now;
  for (const Link& link : chain) {
    const std::uint32_t taken = concurrent_taken(link);
    for (std::size_t i = 0; taken >> i != 0; ++i) {
      if ((taken >> i & 1U) == 0) continue;
      lists.push_back(&claim_of(link, i).holds);
      from = std::max(from, link.at);
    }
  }
  if (lists.empty()) return base::saturating_add(now, lease_for);
  return bucket::common_deadline(lists, bucket::rounded_deadline(from, lease_for));
}

Result<void> check_size(const Link& link) {
  if (link.claimed == nullptr || link.claimed->claims.limits.size() <= bucket::max_limits_kept) return {};
  const bucket::State* const state = link.claimed->stored();
  const auto& limits = link.claimed->claims.limits;
  const auto kept = std::count_if(limits.begin(), limits.end(), [&](const auto& limit) {
    return !bucket::forgettable(limit, limit.held(state));
  });
  if (static_cast<std::size_t>(kept) <= bucket::max_limits_kept) return {};
  return base::error(
      ErrorCode::conflict, "the bucket of ", quoted(link.entity), " still holds ", std::to_string(kept),
      " limits that were replaced before they refilled; use the same limits for every request");
}

}  // namespace weir::decision
