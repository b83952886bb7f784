// The oracle's decisions.
#include "twins/oracle.h"

#include <algorithm>

namespace weir::twins {

const Oracle::Claimed* Oracle::Claims::find(int limit) const {
  for (const Claimed& claimed : limits) {
    if (claimed.limit == limit) return &claimed;
  }
  return nullptr;
}

std::size_t Oracle::bucket_index(int entity, int resource) const {
  return static_cast<std::size_t>(entity * config_.resources + resource);
}

const BucketState* Oracle::bucket(int entity, int resource, Time now) const {
  const auto& state = buckets_[bucket_index(entity, resource)];
  return state && state->expires_at > now ? &*state : nullptr;
}

bool Oracle::expired_bucket(int entity, int resource, Time now) const {
  const auto& state = buckets_[bucket_index(entity, resource)];
  return state && state->expires_at <= now;
}

Time Oracle::next_expiry(Time now) const {
  Time next = never;
  for (const auto& state : buckets_) {
    if (state && state->expires_at > now) next = std::min(next, state->expires_at);
  }
  return next;
}

Time Oracle::last_expired(Time now) const {
  Time last = 0;
  for (const auto& state : buckets_) {
    if (state && state->expires_at <= now) last = std::max(last, state->expires_at);
  }
  return last;
}

Time Oracle::clear_of_expiries(Time at, Time margin) const {
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& state : buckets_) {
      if (!state || state->earliest > at) continue;
      const Time gone = state->latest + (state->latest - state->refilled_at) / 8 + margin;
      moved = moved || gone > at;
      at = std::max(at, gone);
    }
  }
  return at;
}

/// The record of a bucket that is brought to the present: everything but dormant limits that are full.
BucketState Oracle::claimed_state(const Link& link) const {
  BucketState state;
  state.refilled_at = link.claims.at;
  state.version = link.claims.version;
  state.generation = link.state != nullptr ? link.state->generation : 0;
  for (const Claimed& claimed : link.claims.limits) {
    if (claimed.dormant && claimed.held >= claimed.terms.capacity && claimed.grants.empty()) continue;
    state.limits.push_back({claimed.limit, claimed.terms, claimed.held, claimed.consumed, claimed.dormant,
                            claimed.slots, claimed.grants});
  }
  return state;
}

/// A function of the state alone: after the last write, until every limit has paid its debt and was kept, and
/// everything that is held is free, and every grant has ended.
/// Until when limits that come into force at a moment keep a bucket that holds nothing then.
Time Oracle::kept_from(const Resolution& resolution, Time moment) {
  if (resolution.kept_for_good) return never;
  Time kept = moment;
  for (const NamedTerms& named : *resolution.limits)
    kept = std::max(kept, moment + keep(named.terms, resolution.multiplier));
  if (kept < resolution.until || !resolution.next) return kept;
  return std::max(kept, kept_from(*resolution.next, resolution.until));
}

/// Until when a debt keeps a bucket. One that outlasts the limits in force is taken to be paid at the slowest
/// rate of all that follow.
Time Oracle::kept_for_debt(const Held& held, const Resolution& resolution, Time at) {
  Terms slowest = held.terms;
  Time kept = keep(held.terms, resolution.multiplier);
  Time paid_at = moment_granted(slowest, at, -held.tokens);
  if (paid_at < resolution.until) return paid_at + kept;
  for (const Resolution* next = resolution.next.get(); next != nullptr; next = next->next.get()) {
    const Terms* const terms = find(*next->limits, held.limit);
    if (terms == nullptr) continue;
    if (!terms->concurrent() && slower(*terms, slowest)) slowest = *terms;
    if (next->kept_for_good) return never;
    for (const NamedTerms& named : *next->limits) kept = std::max(kept, keep(named.terms, next->multiplier));
  }
  return moment_granted(slowest, at, -held.tokens) + kept;
}

Time Oracle::expiry_of(const BucketState& state, const Resolution& resolution) {
  if (resolution.kept_for_good) return never;
  const Time at = state.refilled_at;
  Time expires_at = at;
  for (const Held& held : state.limits) {
    if (held.terms.concurrent()) {
      if (!held.slots.empty()) expires_at = std::max(expires_at, held.slots.rbegin()->first);
      continue;
    }
    expires_at = std::max(expires_at, held.tokens < 0 ? kept_for_debt(held, resolution, at)
                                                      : at + keep(held.terms, resolution.multiplier));
    if (!held.grants.empty()) expires_at = std::max(expires_at, held.grants.rbegin()->first);
  }
  if (expires_at < resolution.until || !resolution.next) return expires_at;
  return std::max(expires_at, kept_from(*resolution.next, resolution.until));
}

/// Everything that a write changes of the counters is usage of the hour in which it happens.
void Oracle::count(int entity, int resource, const std::optional<BucketState>& before,
                   const BucketState& after, Time now) {
  constexpr Time hour = 3'600'000;
  std::map<int, std::int64_t> changes;
  for (const Held& held : after.limits) changes[held.limit] = held.consumed;
  if (before && before->generation == after.generation) {
    for (const Held& held : before->limits) {
      if (changes.count(held.limit) != 0) changes[held.limit] -= held.consumed;
    }
  }
  std::erase_if(changes, [](const auto& change) { return change.second == 0; });
  if (changes.empty()) return;
  HourUsed& used = usage_[bucket_index(entity, resource)][now / hour * hour];
  ++used.events;
  for (const auto& [limit, amount] : changes) {
    used.amounts[limit] += amount;
    if (used.amounts[limit] == 0) used.amounts.erase(limit);
  }
}

void Oracle::put(const Link& link, int resource, BucketState state, Time now, bool gives_only) {
  if (state.generation == 0) state.generation = ++generations_;
  count(link.entity, resource, buckets_[bucket_index(link.entity, resource)], state, now);
  state.expires_at = expiry_of(state, link.resolution);
  auto& before = buckets_[bucket_index(link.entity, resource)];
  state.earliest = state.latest = state.expires_at;
  // Under new limits no write is blind.
  if (before && before->generation == state.generation && before->version == state.version) {
    // Nor is one that uses up a grant without an end, which kept the bucket for good.
    if (before->latest != never) state.latest = std::max(state.latest, before->latest);
    if (gives_only) state.earliest = std::min(state.earliest, before->earliest);
  }
  before = std::move(state);
}

Oracle::Plan Oracle::plan(const Request& request, Time now) const {
  Plan plan;
  const std::vector<int> entities = chain(request.entity);
  for (std::size_t i = 0; i < entities.size(); ++i) {
    Link link;
    link.entity = entities[i];
    link.resolution = resolve(entities[i], request.resource, i == 0 ? request.limits : nullptr, now);
    plan.until = std::min(plan.until, link.resolution.until);
    if (!link.resolution.limits) continue;
    link.state = bucket(entities[i], request.resource, now);
    link.claims = claim(link.state, link.resolution, now);
    plan.links.push_back(std::move(link));
  }
  plan.answer.exempt =
      !block(request.entity, request.resource, now) && exempt(request.entity, request.resource, now);
  plan.shadow = request.shadow || plan.answer.exempt;
  plan.error = error_of(plan, request);
  const bool unheard = plan.error == ErrorCode::no_limits || plan.error == ErrorCode::unknown_limit;
  if (plan.answer.exempt && unheard) {
    // Names that no limit has are left out.
    plan.error.reset();
    const auto known = [&](const Asked& asked) {
      return std::any_of(plan.links.begin(), plan.links.end(), [&](const Link& link) {
        return find(*link.resolution.limits, asked.limit) != nullptr;
      });
    };
    plan.uncharged = std::none_of(request.consume.begin(), request.consume.end(), known);
  }
  plan.answer.error = plan.error;
  if (!plan.error) judge(plan, request, now);
  plan.answer.limits_until = plan.until;
  return plan;
}

std::optional<ErrorCode> Oracle::error_of(const Plan& plan, const Request& request) {
  if (plan.links.empty()) return ErrorCode::no_limits;
  for (const Link& link : plan.links) {
    const Set& set = *link.resolution.limits;
    const auto concurrent = std::count_if(set.begin(), set.end(),
                                          [](const NamedTerms& named) { return named.terms.concurrent(); });
    if (set.size() > 16 || concurrent > 2) return ErrorCode::invalid_argument;
  }
  for (const Asked& asked : request.consume) {
    const auto has = [&](const Link& link) { return find(*link.resolution.limits, asked.limit) != nullptr; };
    if (std::none_of(plan.links.begin(), plan.links.end(), has)) return ErrorCode::unknown_limit;
  }
  return {};
}

/// How long until one limit of a bucket would admit an amount that it does not hold.
Time Oracle::wait_of(const Link& link, const NamedTerms& named, std::int64_t amount, Time now) {
  const Claimed& claimed = *link.claims.find(named.limit);
  // With every set of grants that is left when the earlier ones have ended, the soonest first.
  for (Granted left = claimed.grants; !left.empty(); left.erase(left.begin())) {
    const std::int64_t needed = amount - total(left);
    if (needed > named.terms.burst) return never_fits;
    const Time moment = moment_granted(named.terms, link.claims.at, needed - claimed.held);
    if (moment < left.begin()->first) return moment - now;
  }
  if (amount > named.terms.burst) return never_fits;
  if (named.terms.concurrent()) return free_at(claimed.slots, amount - claimed.held) - now;
  return moment_granted(named.terms, link.claims.at, amount - claimed.held) - now;
}

/// Whether a refusal must write the bucket, because it could not grow otherwise: it does not exist, it was
/// refilled ahead of the clock and the clock has to catch up, or limits are in force only from now on, since
/// they came with the request, or their change is dated ahead of the clock.
bool Oracle::lacks(const Link& link, Time now) const {
  if (link.state == nullptr || link.state->refilled_at > now + config_.clock_bound) return true;
  if (link.claims.changed_at > link.claims.at) return true;
  if (!link.resolution.request_in_force) return false;
  const auto& limits = link.claims.limits;
  return link.claims.changed || link.claims.returned ||
         std::any_of(limits.begin(), limits.end(), [](const Claimed& claimed) { return claimed.joins; });
}

void Oracle::judge(Plan& plan, const Request& request, Time now) const {
  Answer& answer = plan.answer;
  answer.admitted = true;
  for (Link& link : plan.links) {
    link.lacks = lacks(link, now);
    if (link.state != nullptr && link.state->version != link.claims.version)
      answer.behind_until = std::min(answer.behind_until, link.state->expires_at);
    const Resolution& resolution = link.resolution;
    for (const NamedTerms& named : *resolution.limits) {
      const Claimed& claimed = *link.claims.find(named.limit);
      Line line{
          link.entity,      named.limit, named.terms, 0, claimed.all(), 0, resolution.source_of(named.limit),
          resolution.owner, named.mode};
      if (named.mode == Mode::off) link.left_out.insert(named.limit);
      if (named.mode != Mode::enforce) link.watching.insert(named.limit);
      for (const Asked& asked : request.consume) {
        if (asked.limit != named.limit || named.mode == Mode::off) continue;
        line.requested = asked.amount;
        if (asked.amount <= claimed.all()) continue;
        if (named.mode == Mode::shadow || plan.shadow) {
          line.would_refuse = true;
          link.left_out.insert(named.limit);
          continue;
        }
        link.exceeded = true;
        link.lacks = link.lacks || claimed.joins;
        line.wait = wait_of(link, named, asked.amount, now);
        answer.admitted = false;
        answer.never_fits = answer.never_fits || line.wait == never_fits;
      }
      answer.lines.push_back(line);
    }
  }
  if (answer.admitted || answer.never_fits) {
    if (answer.admitted) answer.wait = 0;
    return;
  }
  const auto first = first_moment(plan, request, now);
  answer.never_fits = !first;
  if (first) answer.wait = promised(plan, request, *first - now, now);
}

/// The first moment at which every limit holds what is asked of it. Grants end, so a limit may hold it now
/// and not later. It can only be a moment at which one of them has refilled enough.
std::optional<Time> Oracle::first_moment(const Plan& plan, const Request& request, Time now) {
  std::set<Time> candidates;
  for_each_asked(plan, request, [&](const Link& link, const Claimed& claimed, std::int64_t amount) {
    if (claimed.terms.concurrent()) {
      if (amount > claimed.held) candidates.insert(free_at(claimed.slots, amount - claimed.held));
      return;
    }
    for (Granted left = claimed.grants;; left.erase(left.begin())) {
      const std::int64_t needed = amount - total(left);
      if (needed <= claimed.terms.burst)
        candidates.insert(moment_granted(claimed.terms, link.claims.at, needed - claimed.held));
      if (left.empty()) break;
    }
  });
  candidates.insert(now);
  for (const Time moment : candidates) {
    bool all = moment >= now;
    for_each_asked(plan, request, [&](const Link& link, const Claimed& claimed, std::int64_t amount) {
      const std::int64_t balance =
          claimed.terms.concurrent()
              ? claimed.terms.capacity - total(live_at(claimed.slots, moment))
              : std::min(claimed.held + granted(claimed.terms, link.claims.at, moment), claimed.terms.burst);
      all = all && balance + total(live_at(claimed.grants, moment)) >= amount;
    });
    if (all) return moment;
  }
  return std::nullopt;
}

void Oracle::for_each_asked(const Plan& plan, const Request& request, const VisitAsked& visit) {
  for (const Link& link : plan.links) {
    for (const Asked& asked : request.consume) {
      if (link.watching.count(asked.limit) != 0) continue;
      if (find(*link.resolution.limits, asked.limit) == nullptr) continue;
      visit(link, *link.claims.find(asked.limit), asked.amount);
    }
  }
}

/// The wait, unless a bucket that is asked for more than its capacity may be gone by then.
std::optional<Time> Oracle::promised(const Plan& plan, const Request& request, Time longest, Time now) const {
  for (const Link& link : plan.links) {
    const bool above = std::any_of(request.consume.begin(), request.consume.end(), [&](const Asked& asked) {
      const Terms* const terms = find(*link.resolution.limits, asked.limit);
      return terms != nullptr && asked.amount > terms->capacity && link.watching.count(asked.limit) == 0;
    });
    if (!above) continue;
    const bool writes = link.exceeded && link.lacks;
    const Time expires_at = writes ? expiry_of(claimed_state(link), link.resolution) : link.state->expires_at;
    if (expires_at <= now + longest) return std::nullopt;
  }
  return longest;
}

Answer Oracle::look(const Request& request, Time now) const {
  if (auto blocked = block(request.entity, request.resource, now))
    return refused_by(*std::move(blocked), now);
  Plan plan = this->plan(request, now);
  if (plan.uncharged) plan.answer.lines.clear();
  return plan.answer;
}

int Oracle::marked(const Request& request, Time now) const {
  if (request.key.empty()) return -1;
  const auto found = markers_.find({request.key, request.entity, request.resource, request.consume});
  if (found == markers_.end() || lease(found->second).deadline <= now) return -1;
  return found->second;
}

/// The request without the limits that have left since.
Request Oracle::known_of(Request request, Time now) const {
  const std::vector<int> entities = chain(request.entity);
  std::erase_if(request.consume, [&](const Asked& asked) {
    for (std::size_t i = 0; i < entities.size(); ++i) {
      const auto resolution = resolve(entities[i], request.resource, i == 0 ? request.limits : nullptr, now);
      if (resolution.limits && find(*resolution.limits, asked.limit) != nullptr) return false;
    }
    return true;
  });
  return request;
}

/// Admitted by the marker alone; the report shows the buckets as they are now.
Answer Oracle::repeat(const Request& request, Answer answer, int lease, Time now) const {
  if (answer.error == ErrorCode::unknown_limit) answer = plan(known_of(request, now), now).answer;
  if (answer.error) {
    if (auto blocked = block(request.entity, request.resource, now))
      return refused_by(*std::move(blocked), now);
    if (answer.error != ErrorCode::no_limits) return answer;
    answer = {};
  }
  for (Line& line : answer.lines) {
    line.wait = 0;
    line.would_refuse = false;
  }
  answer.admitted = true;
  answer.never_fits = false;
  answer.wait = 0;
  answer.repeated = true;
  answer.lease = lease;
  return answer;
}

/// Rounded where the lease holds something of a concurrent limit, so that all of its buckets can keep it.
/// None of their times may be past it, where the clock is behind them.
Time Oracle::end_of_lease(const Plan& plan, const Request& request, Time now, Time length) {
  std::vector<const Slots*> lists;
  Time from = now;
  for (const Link& link : plan.links) {
    for (const Claimed& claimed : link.claims.limits) {
      if (claimed.dormant || !claimed.terms.concurrent() || link.left_out.count(claimed.limit) != 0) continue;
      for (const Asked& asked : request.consume) {
        if (asked.limit != claimed.limit || asked.amount == 0) continue;
        lists.push_back(&claimed.slots);
        from = std::max(from, link.claims.at);
      }
    }
  }
  return lists.empty() ? now + length : common_end(lists, rounded_end(from, length));
}

Answer Oracle::acquire(const Request& request, Time now) {
  Plan plan = this->plan(request, now);
  Answer& answer = plan.answer;
  // The marker is found with the buckets: an exempt entity that has none left gets a new lease.
  const int before = plan.uncharged && plan.links.empty() ? -1 : marked(request, now);
  if (before >= 0) return repeat(request, std::move(answer), before, now);
  if (auto blocked = block(request.entity, request.resource, now))
    return refused_by(*std::move(blocked), now);
  if (answer.error) return answer;
  if (plan.uncharged) {
    plan.links.clear();
    answer.lines.clear();
  }
  if (!answer.admitted) {
    for (const Link& link : plan.links) {
      if (answer.never_fits || !link.exceeded || !link.lacks) continue;
      put(link, request.resource, claimed_state(link), now);
      answer.written = true;
    }
    return answer;
  }
  Lease lease;
  lease.resource = request.resource;
  const Time length = request.lease_for > 0 ? request.lease_for : config_.lease_for;
  lease.deadline = end_of_lease(plan, request, now, length);
  for (std::size_t i = 0; i < plan.links.size(); ++i) {
    const Link& link = plan.links[i];
    BucketState state = claimed_state(link);
    for (Held& held : state.limits) {
      if (held.dormant) continue;
      for (const Asked& asked : request.consume) {
        if (asked.limit != held.limit || link.left_out.count(held.limit) != 0) continue;
        const Granted pieces = spend(held.grants, asked.amount);
        held.tokens -= asked.amount - total(pieces);
        const bool concurrent = held.terms.concurrent();
        if (!concurrent) held.consumed += asked.amount;
        if (concurrent && asked.amount > 0) take(held.slots, lease.deadline, asked.amount);
        const auto same = [&](const LeaseAmount& amount) { return amount.limit == held.limit; };
        auto amount = std::find_if(lease.amounts.begin(), lease.amounts.end(), same);
        if (amount == lease.amounts.end()) amount = lease.amounts.insert(amount, {held.limit, asked.amount});
        amount->buckets |= 1U << i;
        if (concurrent) amount->holds |= 1U << i;
        if (!pieces.empty()) amount->granted[i] = pieces;
      }
    }
    put(link, request.resource, std::move(state), now);
    lease.buckets.push_back({link.entity, buckets_[bucket_index(link.entity, request.resource)]->generation});
  }
  for (Line& line : answer.lines) {
    if (!line.would_refuse) line.remaining -= line.requested;
  }
  answer.lease = static_cast<int>(leases_.size());
  // Where nothing was charged, nothing is remembered.
  if (!request.key.empty() && !lease.buckets.empty())
    markers_[{request.key, request.entity, request.resource, request.consume}] = answer.lease;
  leases_.push_back(std::move(lease));
  return answer;
}

}  // namespace weir::twins
