#include "limits/resolution.h"

#include <algorithm>

namespace weir::limits {
base::Ref<Resolution> resolve(const Levels& levels, const LimitSetRef& request_limits, Time now,
                              int multiplier) {
  auto resolution = base::make_ref<Resolution>();
  resolution->levels = levels;
  resolution->resolved_at = now;
  resolution->request_limits = request_limits;
  resolution->configured_multiplier = multiplier;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (!levels[i]) continue;
    const LimitsRecord& record = *levels[i];
    const Version version = record.at(now);
    resolution->stamp = std::max(resolution->stamp, version.stamp);
    if (!version.limits) continue;
    resolution->valid_until = std::min(resolution->valid_until, record.expires_at);
    if (record.bucket_ttl_refill_multiplier) multiplier = *record.bucket_ttl_refill_multiplier;
    if (resolution->limits) continue;
    resolution->limits = version.limits;
    resolution->source = static_cast<Source>(i);
    resolution->owner = record.owner;
  }
  if (!resolution->limits) {
    resolution->limits = request_limits;
    resolution->source = Source::request;
  }
  const bool kept_for_good = resolution->source == Source::entity && resolution->owner == Owner::operator_;
  resolution->multiplier = multiplier;
  resolution->depends_on_request = resolution->source == Source::request || resolution->valid_until != never;
  if (resolution->limits && !kept_for_good) {
    resolution->keep_for = resolution->limits->keep_for(multiplier);
    // When these limits expire, others come into force, and the bucket must not expire before it is full
    // under them.
    if (resolution->valid_until != never) {
      const auto after = resolve(levels, request_limits, std::max(now, resolution->valid_until),
                                 resolution->configured_multiplier);
      if (after->limits) resolution->keep_for = std::max(resolution->keep_for, after->keep_for);
    }
  }
  return resolution;
}

namespace {

/// The changes of one level that a bucket has not followed yet.
struct MissedOfLevel {
  int changes = 0;
  Time newest = 0;
  LimitSetRef strictest;
  bool always_there = true;  ///< the level had limits all the time, so that no weaker one was ever in force
};

MissedOfLevel missed_of(const LimitsRecord& record, std::int64_t version, Time resolved_at) {
  MissedOfLevel missed;
  // True if the version was in force before the bucket's last write, so that older ones do not matter.
  const auto look = [&](const Version& change) {
    missed.always_there = missed.always_there && change.limits && !change.gap;
    // This includes the version that was in force at the bucket's last write: during a gap of a stronger
    // level it was in force again.
    missed.strictest = lowest(missed.strictest, change.limits);
    if (change.stamp <= version) return true;
    ++missed.changes;
    missed.newest = std::max(missed.newest, change.stamp);
    return false;
  };
  const Version last = record.at(resolved_at);
  bool known = look(last);
  if (!known && last.stamp != record.current.stamp) known = look(record.current);
  for (auto change = record.earlier.begin(); !known && change != record.earlier.end(); ++change)
    known = look(*change);
  // Before its first version a level had no limits, and versions that were dropped prove nothing.
  missed.always_there = missed.always_there && known;
  return missed;
}

}  // namespace

Resolution::Missed Resolution::missed_since(std::int64_t version) const {
  int changes = 0;
  Missed missed{0, false, {}};
  for (const LimitsRecordRef& level : levels) {
    if (!level) continue;
    const MissedOfLevel of_level = missed_of(*level, version, resolved_at);
    changes += of_level.changes;
    missed.moment = std::max(missed.moment, of_level.newest);
    missed.lowest = limits::lowest(missed.lowest, of_level.strictest);
    if (of_level.always_there) break;
  }
  missed.several = changes > 1;
  return missed;
}

}  // namespace weir::limits
