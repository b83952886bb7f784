#include "limits/resolution.h"

#include <algorithm>

#include "base/wide.h"

namespace weir::limits {
namespace {

Time multiplied(Time fill, int multiplier) { return base::saturate(base::Int128{fill} * multiplier); }

}  // namespace

base::Ref<Resolution> resolve(const Levels& levels, const LimitSetRef& request_limits, Time now) {
  auto resolution = base::make_ref<Resolution>();
  resolution->levels = levels;
  int multiplier = default_ttl_multiplier;
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
  if (resolution->limits && !kept_for_good) {
    resolution->keep_for = multiplied(resolution->limits->longest_fill(), multiplier);
  }
  return resolution;
}

Resolution::Missed Resolution::missed_since(std::int64_t version) const {
  int changes = 0;
  LimitSetRef strictest;
  const auto look = [&](const Version& change) {
    if (change.stamp <= version) return;
    ++changes;
    strictest = limits::lowest(strictest, change.limits);
  };
  for (const LimitsRecordRef& level : levels) {
    if (!level) continue;
    // The record as it was resolved: what expired since then belongs to the next resolution.
    look(level->current);
    if (level->expires_at <= stamp) look({std::max(level->expires_at, level->current.stamp), {}});
    for (const Version& change : level->earlier) look(change);
  }
  const bool several = changes > 1;
  return {stamp, several, several ? strictest : LimitSetRef()};
}

}  // namespace weir::limits
