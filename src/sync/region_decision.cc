// What a region writes in a cycle, and why: its part of the whole, from its own snapshot and those of the
// others.
#include <algorithm>

#include "base/text.h"
#include "base/wide.h"
#include "sync/region.h"

namespace weir::sync {
namespace {

/// A share that moves by no more than this many percent is not written for that alone.
constexpr Millitokens worth_writing = 15;

bool moved(Millitokens from, Millitokens to) {
  return base::Int128{std::max(from, to) - std::min(from, to)} * 100 > base::Int128{from} * worth_writing;
}

}  // namespace

std::vector<Write> Region::decide(Time now, std::span<const Snapshot> others) {
  problems_.clear();
  snapshots_.assign(settings_.regions.size(), nullptr);
  for (const Snapshot& snapshot : others) {
    const auto region = std::find(settings_.regions.begin(), settings_.regions.end(), snapshot.region);
    if (region == settings_.regions.end() || snapshot.region == settings_.region) continue;
    snapshots_[static_cast<std::size_t>(region - settings_.regions.begin())] = &snapshot;
  }
  find_elsewhere(now);
  std::vector<Write> writes;
  for (auto& [key, state] : states_) {
    if (auto write = decide(now, key, state)) writes.push_back(*std::move(write));
  }
  return writes;
}

void Region::find_elsewhere(Time now) {
  elsewhere_.clear();
  for (auto& [key, state] : states_) state.used_elsewhere = false;
  for (const Snapshot* const snapshot : snapshots_) {
    if (!is_fresh(snapshot, now)) continue;
    for (const Entry& entry : snapshot->entries) {
      const bool used = std::any_of(entry.limits.begin(), entry.limits.end(),
                                    [](const SharedLimit& limit) { return demand_of(limit.windows) > 0; });
      if (!used) continue;
      const auto state = states_.find({entry.entity, entry.resource});
      if (state != states_.end()) state->second.used_elsewhere = true;
      if (state == states_.end()) elsewhere_.emplace_back(entry.entity, entry.resource);
    }
  }
}

bool Region::is_fresh(const Snapshot* snapshot, Time now) const {
  return snapshot != nullptr && snapshot->published_at + settings_.lifetime() > now;
}

std::optional<Write> Region::decide(Time now, const Key& key, State& state) {
  if (!state.observed || state.operator_owned || state.uncertain || state.limits.empty()) return std::nullopt;
  // A share that expires must outlive what it leaves free for others.
  Time least_until = 0;
  for (const auto& [name, limit] : state.limits) {
    for (const Grant& grant : limit.issued)
      least_until = std::max(least_until, grant.until + settings_.clock_spread);
  }
  AllDecided decided;
  Time until = 0;
  for (const bool may_borrow : {true, false}) {
    until = now + settings_.lifetime();
    for (auto& [name, limit] : state.limits) {
      decided[name] = decide(now, key, name, limit, state, may_borrow);
      until = std::min(until, decided[name].until);
    }
    if (until >= least_until) break;
  }
  until -= until % expiry_unit;
  for (auto& [name, limit] : state.limits) {
    const Decided& one = decided[name];
    limit.waits = limit.target > one.share && (one.runs_out || moved(one.share, limit.target));
  }
  const auto reason = reason_for(now, state, decided, until);
  if (!reason) return std::nullopt;
  Write write{.entity = key.first,
              .resource = key.second,
              .limits = state.others,
              .until = until,
              .replaces = state.version,
              .reason = *reason,
              .without_bucket = !state.has_bucket};
  for (const auto& [name, limit] : state.limits) {
    auto share = limit_of_share(*limit.below, decided[name].share);
    if (!share) {
      problems_.push_back(base::join("limit ", base::quoted(name), " of ", base::quoted(key.first), ": ",
                                     share.error().message));
      return std::nullopt;
    }
    write.limits.push_back({name, *std::move(share)});
    write.shares.emplace_back(name, decided[name].share);
  }
  return write;
}

std::vector<Region::Part> Region::parts_of(Time now, const Key& key, const std::string& name,
                                           const LimitState& limit) {
  std::vector<Part> parts;
  std::vector<std::size_t> living;
  Millitokens smallest = limit.published.capacity;
  for (std::size_t region = 0; region < settings_.regions.size(); ++region) {
    const Snapshot* const snapshot = snapshots_[region];
    const Entry* const entry = snapshot != nullptr ? snapshot->find(key.first, key.second) : nullptr;
    const bool fresh = region == own_ || is_fresh(snapshot, now);
    if (fresh || (entry != nullptr && entry->until + settings_.clock_spread > now)) living.push_back(region);
    const SharedLimit* const shared = region == own_ ? &limit.published
                                      : fresh && entry != nullptr && !entry->operator_owned
                                          ? entry->find(name)
                                          : nullptr;
    if (shared == nullptr || shared->capacity == 0) continue;
    if (shared->capacity != smallest) {
      problems_.push_back(base::join("limit ", base::quoted(name), " of ", base::quoted(key.first), " on ",
                                     base::quoted(key.second),
                                     " differs between the regions; the smallest counts"));
      smallest = std::min(smallest, shared->capacity);
    }
    parts.push_back({region, shared});
  }
  const auto fair = fair_shares(smallest, living.size());
  for (Part& part : parts) {
    const auto place = std::find(living.begin(), living.end(), part.region) - living.begin();
    part.base = settings_.floor == Floor::share ? smallest : fair[static_cast<std::size_t>(place)];
  }
  return parts;
}

Millitokens Region::granted(const std::vector<Part>& parts, Time until, Time& earliest) const {
  Millitokens sum = 0;
  for (const Part& part : parts) {
    const Grant* best = nullptr;
    for (const Grant& grant : part.limit->grants) {
      const bool usable = part.region != own_ && grant.to == settings_.region && last_use_of(grant) >= until;
      if (usable && (best == nullptr || grant.amount > best->amount)) best = &grant;
    }
    if (best == nullptr) continue;
    sum += best->amount;
    earliest = std::min(earliest, last_use_of(*best));
  }
  return sum;
}

/// The latest expiry of a share that uses the grant.
Time Region::last_use_of(const Grant& grant) const {
  const Time until = grant.until - settings_.clock_spread;
  return until - until % expiry_unit;
}

/// What the others leave of the whole by the shares that they had in force when they published.
Millitokens Region::left_by_others(Time now, const Key& key, const std::string& name,
                                   Millitokens whole) const {
  for (const Snapshot* const snapshot : snapshots_) {
    const Entry* const entry = snapshot != nullptr ? snapshot->find(key.first, key.second) : nullptr;
    const SharedLimit* const shared =
        entry != nullptr && !entry->operator_owned ? entry->find(name) : nullptr;
    if (shared != nullptr && entry->until + settings_.clock_spread > now) whole -= shared->share;
  }
  return std::max<Millitokens>(whole, 1);
}

Millitokens Region::whole_of(const std::vector<Part>& parts, const LimitState& limit) const {
  Millitokens smallest = limit.published.capacity;
  for (const Part& part : parts) smallest = std::min(smallest, part.limit->capacity);
  return settings_.floor == Floor::share ? smallest * static_cast<Millitokens>(settings_.regions.size())
                                         : smallest;
}

Region::Decided Region::decide(Time now, const Key& key, const std::string& name, LimitState& limit,
                               const State& state, bool may_borrow) {
  const std::vector<Part> parts = parts_of(now, key, name, limit);
  std::vector<Millitokens> bases;
  std::vector<Millitokens> demand;
  Millitokens shared = 0;
  std::size_t own = 0;
  Decided out{.until = now + settings_.lifetime()};
  for (const Part& part : parts) {
    if (part.region == own_) own = bases.size();
    bases.push_back(part.base);
    shared += part.base;
    demand.push_back(demand_of(part.limit->windows));
    out.any_demand = out.any_demand || demand.back() > 0;
    out.others_wait = out.others_wait || (part.region != own_ && part.limit->waits);
  }
  const auto least = settings_.least.find(name);
  const auto targets = shares_by_demand(shared, demand, least == settings_.least.end() ? 0 : least->second);
  limit.target = targets[own];
  limit.base = out.base = bases[own];
  limit.whole = whole_of(parts, limit);
  limit.wanted.clear();
  const auto grants = grants_from(own, bases, targets);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (grants[i] > 0) limit.wanted.push_back({settings_.regions[parts[i].region], grants[i], 0});
  }
  const Millitokens given = lent(limit.issued, now);
  out.lends = given > 0 || !limit.wanted.empty();
  Millitokens rights = std::max<Millitokens>(out.base - given, 1);
  out.allowed = rights;
  const bool held = state.until > now;
  if (given == 0) {
    Time ignored = 0;
    if (held) out.allowed += granted(parts, state.until, ignored);
    if (may_borrow && limit.target > out.base)
      rights += granted(parts, now + settings_.window + settings_.window / 4, out.until);
  }
  out.share = std::max<Millitokens>(std::min(limit.target, rights), 1);
  if (out.share <= out.base) out.until = now + settings_.lifetime();
  out.held = held ? limit.share : limit.published.capacity;
  if (settings_.floor == Floor::whole) {
    // A region that returns waits until the others have given back what they took over.
    const Millitokens present = held ? limit.share : 0;
    if (out.share > present)
      out.share = std::max(present, std::min(out.share, left_by_others(now, key, name, limit.whole)));
  }
  const Millitokens refill = refill_in(*limit.below, out.held, 2 * settings_.window);
  out.runs_out = base::saturating_add(limit.published.tokens, refill) < 2 * demand[own];
  return out;
}

std::optional<Reason> Region::reason_for(Time now, const State& state, const AllDecided& decided,
                                         Time until) const {
  const bool held = state.until > now;
  const auto any = [&](auto&& test) {
    return std::any_of(decided.begin(), decided.end(), [&](const auto& one) { return test(one.second); });
  };
  if (held && any([](const Decided& one) { return one.held > one.allowed && one.share < one.held; }))
    return Reason::too_much;
  const bool used = any([](const Decided& one) { return one.any_demand; });
  if (!held && settings_.floor == Floor::whole) return used ? std::optional(Reason::first) : std::nullopt;
  if (any([](const Decided& one) { return one.runs_out && one.share > one.held; })) return Reason::runs_out;
  if (any([](const Decided& one) { return one.others_wait && one.share < one.held; }))
    return Reason::others_wait;
  if (used && any([](const Decided& one) { return moved(one.held, one.share); })) return Reason::moved;
  if (!held) return std::nullopt;
  // The level below returns where a share expires. That is right where it is the base, and nobody needs
  // another.
  const bool needed = settings_.floor == Floor::whole
                          ? used
                          : used && any([](const Decided& one) {
                              return moved(one.base, one.share) || (one.others_wait && one.share < one.base);
                            });
  const bool lends = any([](const Decided& one) { return one.lends && one.share < one.base; });
  const Time margin =
      lends ? 2 * settings_.window + settings_.window / 2 : settings_.window + settings_.window / 2;
  const bool expires = needed && state.until - now < margin && until > state.until + settings_.window / 4;
  return expires ? std::optional(Reason::expires) : std::nullopt;
}

}  // namespace weir::sync
