#include "decision/wait.h"

#include "base/wide.h"

namespace weir::decision {
namespace {

bool is_named(const Link& link, std::size_t limit) { return (link.named >> limit & 1U) != 0; }

/// Whether the request waits for the limit. One in shadow mode that holds the amount now, by grants or in a
/// bucket that expires, does not refuse later either.
bool can_refuse(const Link& link, std::size_t limit) {
  return is_named(link, limit) && (link.resolution->limits->shadows() >> limit & 1U) == 0;
}

bool exceeds_capacity(const Link& link) {
  const limits::LimitSet& set = *link.resolution->limits;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (can_refuse(link, i) && link.amount[i] > set[i].capacity) return true;
  }
  return false;
}

bool has_grants(const Link& link, std::size_t limit) {
  return link.claimed != nullptr && !claim_of(link, limit).grants.empty();
}

/// The first moment, from `from` on, at which the balance and the grants that have not ended by then hold the
/// amount; nothing: never.
std::optional<Time> moment_with_grants(const Link& link, std::size_t limit, Time from) {
  const bucket::Parameters& parameters = (*link.resolution->limits)[limit];
  const bucket::Grants& all = claim_of(link, limit).grants;
  const std::int64_t balance = link.held[limit] - bucket::total(all);
  for (bucket::Grants left = bucket::live(all, from);; left.erase(left.begin())) {
    const std::int64_t needed = link.amount[limit] - bucket::total(left);
    if (needed > parameters.burst) return std::nullopt;
    Time moment = from;
    if (needed > balance)
      moment = std::max(from, bucket::moment_granted(parameters.rate, link.at, needed - balance));
    if (left.empty() || moment < left.front().deadline) return moment;
  }
}

/// The first moment, from `from` on, at which the limit holds the amount; nothing: never.
std::optional<Time> moment_of(const Link& link, std::size_t limit, Time from) {
  if (has_grants(link, limit)) return moment_with_grants(link, limit, from);
  const std::int64_t missing = link.amount[limit] - link.held[limit];
  if (missing <= 0) return from;
  const bucket::Parameters& parameters = (*link.resolution->limits)[limit];
  if (link.amount[limit] > parameters.burst) return std::nullopt;
  if (parameters.kind() == Kind::concurrent)
    return std::max(from, bucket::moment_free(claim_of(link, limit).holds, missing).value_or(from));
  return std::max(from, bucket::moment_granted(parameters.rate, link.at, missing));
}

bool any_grants(std::span<const Link> links) {
  return std::any_of(links.begin(), links.end(), [](const Link& link) {
    if (link.claimed == nullptr) return false;
    const auto& limits = link.claimed->claims.limits;
    return std::any_of(limits.begin(), limits.end(), [](const auto& limit) { return !limit.grants.empty(); });
  });
}

}  // namespace

Time wait_of(const Link& link, std::size_t limit, Time now) {
  if (!is_named(link, limit) || link.amount[limit] <= link.held[limit]) return 0;
  const auto moment = moment_of(link, limit, now);
  return moment ? base::saturate(base::Int128{*moment} - now) : LimitReport::never_fits;
}

Wait wait_of(std::span<const Link> links, Time now) {
  Time moment = now;
  // A limit that holds its amount by grants may not hold it any more when the others do: then the first
  // moment from there on counts, until all agree.
  for (bool again = true; again;) {
    again = false;
    for (const Link& link : links) {
      for (std::size_t i = 0; i < link.limit_count(); ++i) {
        if (!can_refuse(link, i)) continue;
        const auto next = moment_of(link, i, moment);
        if (!next) return {std::nullopt, true};
        again = again || *next > moment;
        moment = *next;
      }
    }
    if (!any_grants(links)) break;
  }
  const bool lost = std::any_of(links.begin(), links.end(), [&](const Link& link) {
    return link.expires_at <= moment && exceeds_capacity(link);
  });
  const Time wait = base::saturate(base::Int128{moment} - now);
  return {lost ? std::optional<Time>() : wait, false};
}

}  // namespace weir::decision
