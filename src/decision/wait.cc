#include "decision/wait.h"

#include "base/wide.h"

namespace weir::decision {
namespace {

bool exceeds_capacity(const Link& link) {
  const limits::LimitSet& set = *link.resolution->limits;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if ((link.named >> i & 1U) != 0 && link.amount[i] > set[i].capacity) return true;
  }
  return false;
}

}  // namespace

Time wait_of(const Link& link, std::size_t limit, Time now) {
  const bucket::Parameters& parameters = (*link.resolution->limits)[limit];
  const bool named = (link.named >> limit & 1U) != 0;
  if (!named || link.amount[limit] <= link.held[limit]) return 0;
  if (link.amount[limit] > parameters.burst) return LimitReport::never_fits;
  if (parameters.kind() == Kind::concurrent) {
    const auto free = bucket::moment_free(claim_of(link, limit).holds, link.amount[limit] - link.held[limit]);
    return free.value_or(now) - now;
  }
  const Time moment = bucket::moment_granted(parameters.rate, link.at, link.amount[limit] - link.held[limit]);
  return base::saturate(base::Int128{moment} - now);
}

Wait wait_of(std::span<const Link> links, Time now) {
  Time longest = 0;
  for (const Link& link : links) {
    for (std::size_t i = 0; i < link.limit_count(); ++i) {
      const Time wait = wait_of(link, i, now);
      if (wait == LimitReport::never_fits) return {std::nullopt, true};
      longest = std::max(longest, wait);
    }
  }
  const Time moment = base::saturating_add(now, longest);
  const bool lost = std::any_of(links.begin(), links.end(), [&](const Link& link) {
    return link.expires_at <= moment && exceeds_capacity(link);
  });
  return {lost ? std::optional<Time>() : longest, false};
}

}  // namespace weir::decision
