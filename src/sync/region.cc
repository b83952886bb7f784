#include "sync/region.h"

#include <algorithm>

#include "base/text.h"
#include "base/wide.h"

namespace weir::sync {
namespace {

/// A share that moves by no more than this many percent is not written for that alone.
constexpr Millitokens worth_writing = 15;
/// Expiries are rounded up to seconds by every store.
constexpr Time rounding = 1000;

bool moved(Millitokens from, Millitokens to) {
  return base::Int128{std::max(from, to) - std::min(from, to)} * 100 > base::Int128{from} * worth_writing;
}

bool is_shared(const Limit& limit) { return limit.kind() == Kind::rate && limit.capacity() > Amount(); }

Millitokens refill_in(const Limit& limit, Millitokens share, Time time) {
  const base::Int128 refill =
      base::Int128{limit.refill_amount().millitokens()} * share / limit.capacity().millitokens();
  return base::saturate(refill * time / limit.refill_period().count());
}

/// The largest grant to each region that has not ended, summed.
Millitokens lent(const std::vector<Grant>& issued, Time now, std::string_view to = {}) {
  std::map<std::string_view, Millitokens> largest;
  for (const Grant& grant : issued) {
    if (grant.until <= now || (!to.empty() && grant.to != to)) continue;
    Millitokens& one = largest[grant.to];
    one = std::max(one, grant.amount);
  }
  Millitokens sum = 0;
  for (const auto& [region, amount] : largest) sum += amount;
  return sum;
}

}  // namespace

const char* name_of(Reason reason) {
  switch (reason) {
    case Reason::first:
      return "first";
    case Reason::runs_out:
      return "runs out";
    case Reason::moved:
      return "moved";
    case Reason::others_wait:
      return "others wait";
    case Reason::expires:
      return "expires";
    case Reason::too_much:
      return "too much";
  }
  return "";
}

Region::Region(Settings settings) : settings_(std::move(settings)) {
  const auto own = std::find(settings_.regions.begin(), settings_.regions.end(), settings_.region);
  own_ = static_cast<std::size_t>(own - settings_.regions.begin());
}

void Region::restore(const Snapshot& own) {
  sequence_ = own.sequence;
  published_at_ = own.published_at;
  // Another process may have written shares meanwhile.
  for (auto& [key, state] : states_) state.uncertain = true;
  for (const Entry& entry : own.entries) {
    State& state = states_[{entry.entity, entry.resource}];
    for (const SharedLimit& limit : entry.limits) {
      LimitState& known = state.limits[limit.name];
      known.published = limit;
      known.issued = limit.grants;
    }
  }
}

bool Region::must_read_record(std::string_view entity, std::string_view resource) const {
  const auto state = states_.find(Key(entity, resource));
  return state == states_.end() || state->second.uncertain || state->second.operator_owned;
}

Snapshot Region::observe(Time now, std::span<const Reading> readings) {
  for (const Reading& reading : readings) observe(now, reading, states_[{reading.entity, reading.resource}]);
  published_at_ = now;
  return snapshot(now);
}

Snapshot Region::snapshot(Time now) {
  Snapshot snapshot{.region = settings_.region,
                    .sequence = ++sequence_,
                    .window = settings_.window,
                    .published_at = published_at_};
  lends_ = false;
  for (auto& [key, state] : states_) {
    issue_grants(now, state);
    if (is_relevant(now, state)) snapshot.entries.push_back(entry_of(now, key, state));
    for (const auto& [name, limit] : state.limits)
      lends_ = lends_ || !limit.issued.empty() || !limit.wanted.empty();
  }
  return snapshot;
}

void Region::observe(Time now, const Reading& reading, State& state) const {
  state.has_bucket = reading.bucket.has_value();
  state.others.clear();
  std::map<std::string, LimitState, std::less<>> limits;
  for (const NamedLimit& limit : reading.below) {
    if (!is_shared(limit.limit)) {
      state.others.push_back(limit);
      continue;
    }
    LimitState& kept = limits[limit.name];
    if (const auto known = state.limits.find(limit.name); known != state.limits.end()) kept = known->second;
    kept.below = limit.limit;
  }
  state.limits = std::move(limits);
  if (reading.record_read) observe_record(now, reading, state);
  for (auto& [name, limit] : state.limits) observe_bucket(now, reading, name, limit);
}

void Region::observe_record(Time now, const Reading& reading, State& state) const {
  state.uncertain = false;
  state.operator_owned = reading.record && reading.record->owner == Owner::operator_;
  state.until = reading.record && !state.operator_owned ? reading.record->expires_at.value_or(0) : 0;
  for (auto& [name, limit] : state.limits) limit.share = 0;
  if (state.until <= now) return;
  for (const NamedLimit& stored : reading.record->limits) {
    if (const auto limit = state.limits.find(stored.name); limit != state.limits.end())
      limit->second.share = stored.limit.capacity().millitokens();
  }
}

/// Takes what was used since the last snapshot, and the present balance.
void Region::observe_bucket(Time now, const Reading& reading, const std::string& name,
                            LimitState& limit) const {
  SharedLimit next{.name = name, .capacity = limit.below->capacity().millitokens()};
  const Millitokens present = limit.share > 0 ? limit.share : next.capacity;
  next.tokens = present;
  if (reading.bucket) {
    for (const BucketLimit& stored : reading.bucket->limits) {
      if (stored.name != name) continue;
      next.consumed = stored.consumed.millitokens();
      const Millitokens refill =
          refill_in(*limit.below, present, std::max<Time>(now - reading.bucket->refilled_at, 0));
      next.tokens = std::min(base::saturating_add(stored.tokens.millitokens(), refill), present);
    }
  }
  if (!limit.published.name.empty()) count_windows(now, limit, next);
  limit.published = std::move(next);
}

/// What was used since the snapshot before, as windows.
void Region::count_windows(Time now, const LimitState& limit, SharedLimit& next) const {
  const SharedLimit& last = limit.published;
  next.windows = last.windows;
  const Time elapsed = now - published_at_;
  if (elapsed < settings_.window / 2) {
    // Too short to tell a rate: it counts with the next window.
    next.consumed = last.consumed;
    return;
  }
  // A bucket that was made anew counts from 0.
  const Millitokens before = last.consumed > next.consumed ? 0 : last.consumed;
  const Millitokens used = std::clamp<Millitokens>(
      base::saturate(base::Int128{next.consumed - before} * settings_.window / elapsed), 0,
      Amount::max_millitokens);
  // A region that has run out would have used more. Without this, shares that are unfair would stay so.
  const Millitokens fair = refill_in(*limit.below, fair_share(next.capacity), settings_.window);
  const bool ran_out = used > 0 && next.tokens < used / 10;
  const Time windows = (elapsed + settings_.window / 2) / settings_.window;
  next.windows.insert(next.windows.begin(),
                      static_cast<std::size_t>(std::min<Time>(windows, windows_remembered)),
                      ran_out ? std::max(used, fair) : used);
  next.windows.resize(std::min(next.windows.size(), windows_remembered));
}

Millitokens Region::fair_share(Millitokens capacity) const {
  if (settings_.floor == Floor::share) return capacity;
  return std::max<Millitokens>(capacity / static_cast<Millitokens>(settings_.regions.size()), 1);
}

/// Lets others use what the share in force leaves free, until shortly before it expires.
void Region::issue_grants(Time now, State& state) const {
  const Time until = state.until - settings_.clock_spread;
  const bool may = !state.operator_owned && !state.uncertain && until >= now + settings_.window;
  for (auto& [name, limit] : state.limits) {
    std::erase_if(limit.issued, [&](const Grant& grant) { return grant.until <= now; });
    if (!may || limit.share == 0) continue;
    for (const Grant& wanted : limit.wanted) {
      const Millitokens before = lent(limit.issued, now, wanted.to);
      const Millitokens left = std::max<Millitokens>(limit.base - limit.share - lent(limit.issued, now), 0);
      const Grant grant{wanted.to, std::min(wanted.amount, before + left), until};
      if (grant.amount == 0) continue;
      std::erase_if(limit.issued, [&](const Grant& old) {
        return old.to == grant.to && old.amount <= grant.amount && old.until <= grant.until;
      });
      limit.issued.push_back(grant);
    }
  }
}

bool Region::is_relevant(Time now, const State& state) const {
  if (state.until > now || state.operator_owned || state.used_elsewhere) return true;
  return std::any_of(state.limits.begin(), state.limits.end(), [](const auto& one) {
    const SharedLimit& limit = one.second.published;
    // The first count of a bucket is published too: a program that runs one cycle at a time has no other
    // memory.
    const bool is_first = limit.windows.empty() && limit.consumed > 0;
    return is_first || demand_of(limit.windows) > 0 || !one.second.issued.empty();
  });
}

Entry Region::entry_of(Time now, const Key& key, const State& state) const {
  Entry entry{.entity = key.first,
              .resource = key.second,
              .until = state.until > now ? state.until : 0,
              .operator_owned = state.operator_owned};
  for (const auto& [name, limit] : state.limits) {
    SharedLimit& shared = entry.limits.emplace_back(limit.published);
    shared.share = entry.until != 0 ? limit.share : 0;
    shared.waits = limit.waits;
    shared.grants = limit.issued;
  }
  return entry;
}

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
  if (state.operator_owned || state.uncertain || state.limits.empty()) return std::nullopt;
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
  until -= until % rounding;
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
      const bool usable = part.region != own_ && grant.to == settings_.region &&
                          grant.until - settings_.clock_spread - rounding >= until;
      if (usable && (best == nullptr || grant.amount > best->amount)) best = &grant;
    }
    if (best == nullptr) continue;
    sum += best->amount;
    earliest = std::min(earliest, best->until - settings_.clock_spread - rounding);
  }
  return sum;
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
    if (held) out.allowed += granted(parts, state.until - rounding, ignored);
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

void Region::wrote(const Write& write, Outcome outcome, Time until) {
  State& state = states_[{write.entity, write.resource}];
  state.operator_owned = outcome == Outcome::operator_owned;
  state.uncertain = outcome == Outcome::failed;
  if (state.operator_owned) {
    state.until = 0;
    return;
  }
  state.until = state.uncertain ? std::max(state.until, write.until + rounding) : until;
  for (const auto& [name, share] : write.shares) {
    const auto limit = state.limits.find(name);
    if (limit == state.limits.end()) continue;
    limit->second.share = state.uncertain ? std::max(limit->second.share, share) : share;
  }
  if (!state.uncertain) state.has_bucket = true;
}

std::vector<std::pair<std::string, std::string>> Region::keys() const {
  std::vector<Key> keys;
  for (const auto& [key, state] : states_) keys.push_back(key);
  return keys;
}

std::vector<Region::Status> Region::status() const {
  std::vector<Status> all;
  for (const auto& [key, state] : states_) {
    for (const auto& [name, limit] : state.limits) {
      all.push_back({.entity = key.first,
                     .resource = key.second,
                     .limit = name,
                     .share = state.until > published_at_ ? limit.share : 0,
                     .target = limit.target,
                     .whole = limit.whole,
                     .until = state.until,
                     .operator_owned = state.operator_owned,
                     .waits = limit.waits});
    }
  }
  return all;
}

}  // namespace weir::sync
