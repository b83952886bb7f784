#include "twins/words.h"

#include <algorithm>
#include <chrono>

namespace weir::twins {

using std::chrono::milliseconds;

std::string number(std::optional<Time> value) { return value ? std::to_string(*value) : "none"; }

Level level_of(const LevelId& level) {
  switch (level.kind) {
    case Source::entity:
      return Level::entity(entity_name(level.entity), resource_name(level.resource));
    case Source::entity_default:
      return Level::entity_default(entity_name(level.entity));
    case Source::resource:
      return Level::resource(resource_name(level.resource));
    default:
      return Level::system();
  }
}

std::vector<NamedLimit> named(const Set& set) {
  std::vector<NamedLimit> limits;
  for (const NamedTerms& one : set) {
    if (one.terms.concurrent()) {
      limits.push_back({limit_name(one.limit), *Limit::make({.capacity = Amount::milli(one.terms.capacity),
                                                             .mode = one.mode,
                                                             .kind = weir::Kind::concurrent})});
      continue;
    }
    limits.push_back({limit_name(one.limit), *Limit::make({.capacity = Amount::milli(one.terms.capacity),
                                                           .burst = Amount::milli(one.terms.burst),
                                                           .refill_amount = Amount::milli(one.terms.amount),
                                                           .refill_period = milliseconds(one.terms.period),
                                                           .mode = one.mode})});
  }
  return limits;
}

Entity entity_of(int entity, int parent, bool cascade, int plan) {
  return {.id = entity_name(entity),
          .parent = parent < 0 ? std::string() : entity_name(parent),
          .cascade = cascade,
          .name = "n\xc3\xa9 \"x\"",
          .metadata = {{"plan", "gold\n"}},
          .plan = plan < 0 ? std::string() : plan_name(plan)};
}

AccessRule rule_of(const Rule& rule) {
  return {.access = rule.access,
          .resource = rule.resource < 0 ? std::string() : resource_name(rule.resource),
          .until = rule.until == never ? std::nullopt : std::optional(rule.until),
          .reason = rule.reason,
          .since = rule.since};
}

std::vector<AccessRule> rules_at(const std::vector<AccessRule>& rules, Time now) {
  std::vector<AccessRule> left;
  for (const AccessRule& rule : rules) {
    if (!rule.until || now < *rule.until) left.push_back(rule);
  }
  return left;
}

std::string compare(const Block* real, const std::optional<Blocked>& ideal) {
  const auto same = [&](const Rule& rule) {
    const AccessRule wanted = rule_of(rule);
    return real->until == wanted.until && real->reason == wanted.reason && real->resource == wanted.resource;
  };
  if (real == nullptr && !ideal) return {};
  if (real != nullptr && ideal && real->entity == entity_name(ideal->entity) &&
      std::any_of(ideal->rules.begin(), ideal->rules.end(), same))
    return {};
  const auto words = [](const std::string& entity, std::optional<Time> until, const std::string& reason) {
    return "blocked by " + entity + " until " + number(until) + " for " + reason;
  };
  return "store: " + (real == nullptr ? "no block" : words(real->entity, real->until, real->reason)) +
         ", oracle: " +
         (ideal ? words(entity_name(ideal->entity), rule_of(ideal->rules.front()).until,
                        ideal->rules.front().reason)
                : "no block");
}

LimitsPlan plan_of(int plan, const PlanSets& sets) {
  LimitsPlan out{.name = plan_name(plan)};
  for (const auto& [resource, set] : sets)
    (resource < 0 ? out.limits : out.resources[resource_name(resource)]) = {named(set.limits), set.inherit};
  return out;
}

namespace {

weir::Kind kind_of(const Terms& terms) {
  return terms.concurrent() ? weir::Kind::concurrent : weir::Kind::rate;
}

/// How many whole seconds it takes to fill a limit.
Time window_of(const Terms& terms) {
  if (terms.concurrent()) return 0;
  return std::max<Time>((time_to_grant(terms, terms.capacity) + 999) / 1000, 1);
}

std::string mode_text(weir::Kind kind, Mode mode, bool would_refuse) {
  return (kind == weir::Kind::rate ? "" : " concurrent") +
         (mode == Mode::enforce ? "" : " " + std::string(to_text(mode))) +
         (would_refuse ? " would refuse" : "");
}

}  // namespace

std::string describe(const LimitStatus& status) {
  return std::string(status.entity) + " " + std::string(status.name) + " capacity " +
         status.capacity.to_string() + " burst " + status.burst.to_string() + " requested " +
         status.requested.to_string() + " remaining " + status.remaining.to_string() +
         (status.exceeded ? " exceeded" : "") + " wait " +
         (status.retry_after ? std::to_string(status.retry_after->count()) : "never") + " from " +
         name_of(status.source) + " of " + name_of(status.owner) +
         mode_text(status.kind, status.mode, status.would_refuse);
}

std::string describe(const Line& line) {
  return entity_name(line.entity) + " " + limit_name(line.limit) + " capacity " +
         Amount::milli(line.terms.capacity).to_string() + " burst " +
         Amount::milli(line.terms.burst).to_string() + " requested " +
         Amount::milli(line.requested).to_string() + " remaining " +
         Amount::milli(line.remaining).to_string() + (line.wait != 0 ? " exceeded" : "") + " wait " +
         (line.wait == never_fits ? "never" : std::to_string(line.wait)) + " from " + name_of(line.source) +
         " of " + name_of(line.owner) + mode_text(kind_of(line.terms), line.mode, line.would_refuse);
}

std::string lines_of(const Answer& answer) {
  std::string lines;
  for (const Line& line : answer.lines) lines += "\n    " + describe(line);
  return lines;
}

bool same(const LimitStatus& real, const Line& line) {
  const Time wait = real.retry_after ? real.retry_after->count() : never_fits;
  return real.name == limit_name(line.limit) && real.entity == entity_name(line.entity) &&
         real.remaining.millitokens() == line.remaining && real.requested.millitokens() == line.requested &&
         wait == line.wait && real.exceeded == (line.wait != 0) &&
         real.capacity.millitokens() == line.terms.capacity && real.burst.millitokens() == line.terms.burst &&
         real.source == line.source && real.owner == line.owner &&
         real.window.count() == window_of(line.terms) && real.kind == kind_of(line.terms) &&
         real.mode == line.mode && real.would_refuse == line.would_refuse;
}

namespace {

bool same_rate(const Limit& limit, const Terms& terms) {
  if (limit.kind() != kind_of(terms)) return false;
  const Terms real{0, 0, limit.refill_amount().millitokens(), limit.refill_period().count()};
  return terms.concurrent() || (!slower(real, terms) && !slower(terms, real));
}

Slots slots_of(const BucketLimit& limit) {
  Slots slots;
  for (const HeldAmount& held : limit.held) slots[held.deadline] = held.amount.millitokens();
  return slots;
}

Granted grants_of(const BucketLimit& limit) {
  Granted grants;
  for (const GrantLeft& grant : limit.grants) grants[grant.end.value_or(never)] = grant.amount.millitokens();
  return grants;
}

std::string text(const char* what, const Slots& slots) {
  std::string out;
  for (const auto& [end, amount] : slots)
    out += (out.empty() ? what : ", ") + std::to_string(amount) + " until " + std::to_string(end);
  return out;
}

}  // namespace

std::string describe(const Bucket& bucket) {
  std::string out = "at " + std::to_string(bucket.refilled_at) + " until " + number(bucket.expires_at);
  for (const BucketLimit& limit : bucket.limits) {
    out += "; " + limit.name + " " + limit.limit.to_json() + " holds " + limit.tokens.to_string() +
           " consumed " + limit.consumed.to_string() + (limit.in_force ? "" : " dormant") +
           text(" held ", slots_of(limit)) + text(" granted ", grants_of(limit));
  }
  return out;
}

std::string describe(const BucketState& state) {
  std::string out = "at " + std::to_string(state.refilled_at) + " until " +
                    (state.expires_at == never ? "none" : std::to_string(state.expires_at));
  for (const Held& held : state.limits) {
    out += "; " + limit_name(held.limit) + " " + text(held.terms) + " holds " +
           Amount::milli(held.tokens).to_string() + " consumed " + Amount::milli(held.consumed).to_string() +
           (held.dormant ? " dormant" : "") + text(" held ", held.slots) + text(" granted ", held.grants);
  }
  return out;
}

bool same(const Bucket& real, const BucketState& state, const Set* in_force) {
  if (real.refilled_at != state.refilled_at || real.limits.size() != state.limits.size()) return false;
  if (real.expires_at.value_or(never) != state.expires_at) return false;
  for (std::size_t i = 0; i < real.limits.size(); ++i) {
    const BucketLimit& limit = real.limits[i];
    const Held& held = state.limits[i];
    if (limit.name != limit_name(held.limit) || limit.tokens.millitokens() != held.tokens ||
        limit.consumed.millitokens() != held.consumed ||
        limit.in_force != (in_force == nullptr ? !held.dormant : find(*in_force, held.limit) != nullptr) ||
        limit.limit.capacity().millitokens() != held.terms.capacity ||
        limit.limit.burst().millitokens() != held.terms.burst || !same_rate(limit.limit, held.terms) ||
        slots_of(limit) != held.slots || grants_of(limit) != held.grants)
      return false;
  }
  return true;
}

bool same_at(const Bucket& real, const BucketState& state, Time now) {
  if (real.expires_at.value_or(never) < state.earliest) return false;
  for (const Held& held : state.limits) {
    const auto limit = std::find_if(real.limits.begin(), real.limits.end(), [&](const BucketLimit& one) {
      return one.name == limit_name(held.limit);
    });
    if (limit == real.limits.end()) {
      if (held.dormant) continue;
      return false;
    }
    if (limit->consumed.millitokens() != held.consumed) return false;
    if (live_at(grants_of(*limit), now) != live_at(held.grants, now)) return false;
    // Terms that have not reached the record yet do so with its next decision.
    if (!same_rate(limit->limit, held.terms) || limit->limit.burst().millitokens() != held.terms.burst)
      continue;
    if (held.terms.concurrent()) {
      if (live_at(slots_of(*limit), now) != live_at(held.slots, now)) return false;
      continue;
    }
    const auto at = [&](std::int64_t tokens, Time from) {
      return std::min(tokens + granted(held.terms, from, now), held.terms.burst);
    };
    if (at(limit->tokens.millitokens(), real.refilled_at) != at(held.tokens, state.refilled_at)) return false;
  }
  return true;
}

}  // namespace weir::twins
