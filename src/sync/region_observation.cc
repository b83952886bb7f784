// What a region takes from its own store in a cycle, and the snapshot that it makes of it.
#include <algorithm>

#include "base/wide.h"
#include "sync/region.h"

namespace weir::sync {
namespace {

bool is_shared(const Limit& limit) { return limit.kind() == Kind::rate && limit.capacity() > Amount(); }

}  // namespace

Snapshot Region::observe(Time now, std::span<const StoreView> readings) {
  for (auto& [key, state] : states_) state.observed = state.written = false;
  for (const StoreView& reading : readings)
    observe(now, reading, states_[{reading.entity, reading.resource}]);
  for (auto& [key, state] : states_) {
    // Demand that is not known any more counts nothing.
    for (auto& [name, limit] : state.limits) {
      if (!state.observed) limit.published.windows.clear();
    }
  }
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

void Region::observe(Time now, const StoreView& reading, State& state) const {
  state.observed = true;
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
  const Time elapsed = now - state.observed_at;
  for (auto& [name, limit] : state.limits) observe_bucket(now, elapsed, reading, name, limit);
  if (is_countable(elapsed)) state.observed_at = now;
}

void Region::observe_record(Time now, const StoreView& reading, State& state) const {
  state.uncertain = false;
  state.operator_owned = reading.record && reading.record->owner == Owner::operator_;
  state.until = reading.record && !state.operator_owned ? reading.record->expires_at.value_or(0) : 0;
  state.version = reading.record ? reading.record->version : 0;
  for (auto& [name, limit] : state.limits) limit.share = 0;
  if (state.until <= now) return;
  for (const NamedLimit& stored : reading.record->limits) {
    if (const auto limit = state.limits.find(stored.name); limit != state.limits.end())
      limit->second.share = stored.limit.capacity().millitokens();
  }
}

/// Takes what was used since the last snapshot, and the present balance.
void Region::observe_bucket(Time now, Time elapsed, const StoreView& reading, const std::string& name,
                            LimitState& limit) const {
  SharedLimit next{.name = name, .capacity = limit.below->capacity().millitokens()};
  const Millitokens present = limit.share > 0 ? limit.share : next.capacity;
  next.tokens = present;
  if (reading.bucket) {
    for (const BucketLimit& stored : reading.bucket->limits) {
      if (stored.name != name) continue;
      next.consumed = std::max<Millitokens>(stored.consumed.millitokens(), 0);
      const Millitokens refill =
          refill_in(*limit.below, present, std::max<Time>(now - reading.bucket->refilled_at, 0));
      next.tokens = std::min(base::saturating_add(stored.tokens.millitokens(), refill), present);
    }
  }
  if (!limit.published.name.empty()) count_windows(elapsed, limit, next);
  limit.published = std::move(next);
}

/// The usage since the previous snapshot, as windows.
void Region::count_windows(Time elapsed, const LimitState& limit, SharedLimit& next) const {
  const SharedLimit& last = limit.published;
  next.windows = last.windows;
  if (!is_countable(elapsed)) {
    // Too short to tell a rate: it counts with the next window.
    next.consumed = last.consumed;
    return;
  }
  // A bucket that was made anew counts from 0.
  const Millitokens before = last.consumed > next.consumed ? 0 : last.consumed;
  const Millitokens used = std::clamp<Millitokens>(
      base::saturate((base::Int128{next.consumed} - before) * settings_.window / elapsed), 0,
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

/// Lets others use what the share in force leaves free, until shortly before it expires. Only a share that
/// was written in this cycle counts: a second process of the same region may have decided to raise an older
/// one, and its write fails if the record has changed.
void Region::issue_grants(Time now, State& state) const {
  const Time until = state.until - settings_.clock_spread;
  const bool may = state.written && until >= now + settings_.window;
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

}  // namespace weir::sync
