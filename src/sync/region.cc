#include "sync/region.h"

#include <algorithm>

namespace weir::sync {
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
    state.observed_at = own.published_at;
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

bool Region::may_have_bucket(std::string_view entity, std::string_view resource) const {
  const auto state = states_.find(Key(entity, resource));
  return state == states_.end() || state->second.uncertain || state->second.has_bucket;
}

void Region::wrote(const Write& write, Outcome outcome, Time until, std::int64_t version) {
  State& state = states_[{write.entity, write.resource}];
  state.operator_owned = outcome == Outcome::operator_owned;
  state.uncertain = outcome == Outcome::failed;
  state.written = outcome == Outcome::written;
  state.version = state.written ? version : 0;
  if (state.operator_owned) {
    state.until = 0;
    return;
  }
  state.until = state.uncertain ? std::max(state.until, write.until) : until;
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
