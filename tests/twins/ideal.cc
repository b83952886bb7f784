#include "twins/ideal.h"

#include <algorithm>

namespace weir::twins {

namespace {

bool recorded(const BucketState* bucket, int limit) {
  if (bucket == nullptr) return false;
  return std::any_of(bucket->limits.begin(), bucket->limits.end(),
                     [&](const Held& held) { return held.limit == limit; });
}

/// What may be gained by rounding where the record has not followed a change of the limit's rate yet.
std::int64_t rounding(const BucketState* bucket, const Line& line) {
  if (bucket == nullptr || line.remaining + 2 > line.terms.burst) return 0;
  return std::any_of(bucket->limits.begin(), bucket->limits.end(),
                     [&](const Held& held) { return held.limit == line.limit && held.terms != line.terms; })
             ? 2
             : 0;
}

/// Whether the limit has grants, or a lease may give some back to it: they are not in the ideal bucket.
bool granted(const Oracle& oracle, const Line& line, int resource, Time now) {
  const BucketState* const bucket = oracle.bucket(line.entity, resource, now);
  for (const Held& held : bucket != nullptr ? bucket->limits : std::vector<Held>()) {
    if (held.limit == line.limit && !held.grants.empty()) return true;
  }
  return oracle.has_taken_grants(line.entity, resource, line.limit);
}

}  // namespace

void IdealBuckets::refill(Ideal& ideal, Time now) {
  ideal.tokens = std::min(ideal.tokens + granted(ideal.terms, ideal.at, now), ideal.terms.burst);
  ideal.at = std::max(ideal.at, now);
}

/// Terms that hold from now on.
void IdealBuckets::adopt(Ideal& ideal, const Terms& terms, Time now) {
  if (!(ideal.terms == terms) || ideal.absent) {
    const std::int64_t grant = granted(ideal.terms, ideal.at, now);
    const bool forgotten =
        ideal.absent && ideal.tokens + grant >= std::min(ideal.terms.capacity, terms.capacity);
    // Where the rate changes, less than one millitoken may be gained by rounding, and where a limit is
    // absent, twice.
    ideal.tokens = std::min(ideal.tokens + grant + 2, std::max(ideal.terms.burst, terms.burst));
    // A limit that left the set is forgotten once it holds its capacity, and starts at capacity when it
    // returns.
    if (forgotten) ideal.tokens = std::max(ideal.tokens, terms.capacity);
    ideal.tokens = std::min(ideal.tokens, terms.burst);
    ideal.at = std::max(ideal.at, now);
  }
  ideal.terms = terms;
  ideal.absent = false;
}

void IdealBuckets::change(const Oracle& oracle, bool wide, Time now) {
  // A limit that no record has yet starts at the capacity that is in force then.
  std::erase_if(ideals_, [&](const auto& item) {
    const auto [entity, resource, limit] = item.first;
    return !recorded(oracle.bucket(entity, resource, now), limit);
  });
  // Of several changes within one millisecond the later ones count as later.
  const Time moment = std::max(now, oracle.last_change());
  std::vector<Key> concurrent;
  for (auto& [key, ideal] : ideals_) {
    const auto [entity, resource, limit] = key;
    ideal.widely = ideal.widely || wide;
    const SetRef set = oracle.effective(entity, resource, now);
    const Terms* const terms = set ? find(*set, limit) : nullptr;
    // Another limit under the same name: see LiveLeases.
    if (terms != nullptr && terms->concurrent()) {
      concurrent.push_back(key);
      continue;
    }
    if (terms == nullptr) {
      refill(ideal, now);
      ideal.absent = true;
      continue;
    }
    if (!(ideal.terms == *terms)) ideal.tokens += granted(ideal.terms, now, moment);
    adopt(ideal, *terms, now);
    refill(ideal, now);
  }
  for (const Key& key : concurrent) ideals_.erase(key);
}

void IdealBuckets::forget(int entity) {
  std::erase_if(ideals_, [&](const auto& item) { return std::get<0>(item.first) == entity; });
}

std::string IdealBuckets::check(const Oracle& oracle, int resource, const Answer& answer, Step step,
                                Time now) {
  std::string wrong;
  // Changes that are dated after now, because the clock went back, are not followed yet.
  if (oracle.last_change() > now) return forget(), wrong;
  for (const Line& line : answer.lines) {
    const std::int64_t change = step == Step::looked || line.would_refuse ? 0 : line.requested;
    const BucketState* const bucket = oracle.bucket(line.entity, resource, now);
    const std::uint64_t generation = bucket == nullptr ? 0 : bucket->generation;
    const auto [at, added] = ideals_.try_emplace({line.entity, resource, line.limit});
    Ideal& ideal = at->second;
    // Limits that come with requests may be forgotten between them, which docs/guarantees.md states.
    if (line.source == Source::request || line.terms.concurrent() || granted(oracle, line, resource, now)) {
      ideals_.erase(at);
      continue;
    }
    // A bucket that is still not there starts at the capacity that is in force when it is made.
    if (added || (generation == 0 && ideal.generation == 0)) {
      const std::int64_t tokens = line.remaining + rounding(bucket, line);
      ideal = {line.terms, tokens, now, generation, false, step != Step::charged};
      continue;
    }
    adopt(ideal, line.terms, now);
    refill(ideal, now);
    if (generation != ideal.generation && ideal.widely)
      ideal.tokens = std::max(ideal.tokens, line.terms.capacity);
    ideal.tokens = std::min(ideal.tokens - change, ideal.terms.burst);
    if (line.remaining > ideal.tokens)
      wrong = "the ideal bucket of limit " + std::to_string(line.limit) + " of entity " +
              std::to_string(line.entity) + " holds " + std::to_string(ideal.tokens) + ", not " +
              std::to_string(line.remaining);
    if (step == Step::charged && line.remaining < 0 && change > 0)
      wrong = "an acquire made a balance negative";
    if (step == Step::charged) ideal.widely = false;
    ideal.generation = generation;
  }
  if (step != Step::lease) return wrong;
  // Something may have been given back to dormant limits, which no line shows.
  for (auto& [key, ideal] : ideals_) {
    if (std::get<1>(key) == resource && ideal.absent) ideal.tokens = ideal.terms.burst;
  }
  return wrong;
}

}  // namespace weir::twins
