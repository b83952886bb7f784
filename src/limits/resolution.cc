#include "limits/resolution.h"

#include <algorithm>

#include "base/text.h"
#include "limits/names.h"

namespace weir::limits {

void Levels::set_plan(const PlanRecord* plan, std::string_view resource) {
  if (plan == nullptr) return;
  records[plan_on_resource] = plan->on(resource);
  records[plan_on_all] = plan->limits;
}

void Resolution::add(const LimitSetRef& of_level, Source level) {
  if (limits) {
    limits = inherited(limits, source, of_level, level, left_out);
  } else {
    limits = of_level;
    source = level;
  }
}

base::Ref<Resolution> resolve(const Levels& levels, const LimitSetRef& request_limits, Time now,
                              int multiplier) {
  auto resolution = base::make_ref<Resolution>();
  resolution->levels = levels;
  resolution->resolved_at = now;
  resolution->request_limits = request_limits;
  resolution->configured_multiplier = multiplier;
  resolution->stamp = levels.plan_stamp;
  bool open = true;           // no level so far replaces those below it
  std::optional<bool> usage;  // of the strongest level that says so
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (!levels[i]) continue;
    const LimitsRecord& record = *levels[i];
    const Version version = record.at(now);
    resolution->stamp = std::max(resolution->stamp, version.stamp);
    if (!version.limits) continue;
    resolution->valid_until = std::min(resolution->valid_until, record.expires_at);
    if (record.bucket_ttl_refill_multiplier) multiplier = *record.bucket_ttl_refill_multiplier;
    if (!usage) usage = record.usage;
    if (!open) continue;
    open = version.gap;
    resolution->add(version.limits, level_sources[i]);
    if (resolution->source == level_sources[i]) resolution->owner = record.owner;
  }
  resolution->open = open;
  if (open && request_limits) {
    resolution->add(request_limits, Source::request);
    resolution->request_in_force = true;
  } else if (open && !resolution->limits) {
    resolution->source = Source::request;
  }
  const bool kept_for_good = resolution->source == Source::entity && resolution->owner == Owner::operator_;
  resolution->multiplier = multiplier;
  resolution->counts_usage = usage.value_or(true);
  resolution->depends_on_request = open || resolution->valid_until != never;
  if (resolution->limits && !kept_for_good) {
    resolution->keep_for = resolution->limits->keep_for(multiplier);
    // When these limits expire, others come into force, and the bucket must not expire before it is full
    // under them.
    if (resolution->valid_until != never) {
      resolution->changes_at = std::max(now, resolution->valid_until);
      const auto after =
          resolve(levels, request_limits, resolution->changes_at, resolution->configured_multiplier);
      if (after->limits) {
        resolution->after = base::Ref<const Resolution>(after.get());
        resolution->keep_until =
            after->expiry_of(base::saturating_add(resolution->changes_at, after->keep_for));
      }
    }
  }
  return resolution;
}

base::Ref<Resolution> resolve_with(const Resolution& resolution, const LimitSetRef& request_limits,
                                   Time now) {
  auto made = resolve(resolution.levels, request_limits, now, resolution.configured_multiplier);
  made->catalog_generation = resolution.catalog_generation;
  made->parent = resolution.parent;
  made->parent_resolution = resolution.parent_resolution;
  return made;
}

Result<void> check_inherited(const Resolution& resolution) {
  if (resolution.left_out == 0)
    return resolution.limits ? check_concurrent(*resolution.limits) : Result<void>();
  return base::invalid("the limits that are inherited here are ",
                       std::to_string(max_limits + resolution.left_out),
                       " together, and a bucket holds at most ", std::to_string(max_limits),
                       "; set a level without inheritance, or name fewer limits");
}

namespace {

/// The limits of `set` that `others` names, or those that it does not name. Either may be empty.
LimitSetRef select(const LimitSetRef& set, const LimitSetRef& others, bool named) {
  std::vector<NamedParameters> selected;
  for (std::size_t i = 0; set && i < set->size(); ++i) {
    const bool is_named = others && others->find(set->name(i)) >= 0;
    if (is_named == named) selected.push_back({std::string(set->name(i)), (*set)[i], {}});
  }
  return selected.empty() ? LimitSetRef() : LimitSetRef(new LimitSet(std::move(selected)));
}

/// The changes of one level that a bucket has not followed yet.
struct MissedOfLevel {
  int changes = 0;
  Time newest = 0;
  LimitSetRef strictest;
  bool always_there = true;  ///< the level had limits all the time, so that no weaker one was ever in force
  LimitSetRef always_named;  ///< limits that it had all the time, so that those of weaker levels were not
};

MissedOfLevel missed_of(const LimitsRecord& record, std::int64_t version, Time resolved_at) {
  MissedOfLevel missed;
  bool first = true;
  // True if the version was in force before the bucket's last write, so that older ones do not matter.
  const auto look = [&](const Version& change, bool merged) {
    missed.always_there = missed.always_there && change.limits && !change.gap;
    // Among merged versions with a gap one may have had no limits.
    const LimitSetRef had = merged && change.gap ? LimitSetRef() : change.limits;
    missed.always_named = first ? had : select(missed.always_named, had, true);
    first = false;
    // This includes the version that was in force at the bucket's last write: during a gap of a stronger
    // level it was in force again.
    missed.strictest = lowest(missed.strictest, change.limits);
    if (change.stamp <= version) return true;
    ++missed.changes;
    missed.newest = std::max(missed.newest, change.stamp);
    return false;
  };
  const Version last = record.at(resolved_at);
  bool known = look(last, false);
  if (!known && last.stamp != record.current.stamp) known = look(record.current, false);
  for (std::size_t i = 0; !known && i < record.earlier.size(); ++i)
    known = look(record.earlier[i], i + 1 == remembered_versions);
  // Before its first version a level had no limits, and versions that were dropped prove nothing.
  missed.always_there = missed.always_there && known;
  if (!known) missed.always_named = {};
  return missed;
}

/// The changes of a level of a plan. Where the bucket missed the change of the entity's plan, the plan that
/// it left was in force before it, and the present plan after it. The change itself is not counted here.
MissedOfLevel missed_of_plan(const Levels& levels, std::size_t level, std::int64_t version,
                             Time resolved_at) {
  const auto of = [&](const LimitsRecordRef& record, std::int64_t since) {
    return record ? missed_of(*record, since, resolved_at) : MissedOfLevel{.always_there = false};
  };
  MissedOfLevel missed = of(levels[level], std::max(version, levels.plan_stamp));
  if (levels.plan_stamp <= version) return missed;
  const MissedOfLevel left = of(levels.left[level - Levels::plan_on_resource], version);
  missed.changes += left.changes;
  missed.newest = std::max(missed.newest, left.newest);
  missed.strictest = lowest(missed.strictest, left.strictest);
  missed.always_there = missed.always_there && left.always_there;
  missed.always_named = select(missed.always_named, left.always_named, true);
  return missed;
}

}  // namespace

Resolution::Missed Resolution::missed_since(std::int64_t version) const {
  int changes = 0;
  Missed missed{0, false, {}};
  // The names that stronger levels had limits for all the time. Weaker limits with these names were not in
  // force.
  LimitSetRef named_above;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const bool of_plan = level_sources[i] == Source::plan;
    if (i == Levels::plan_on_resource && levels.plan_stamp > version) {
      ++changes;
      missed.moment = std::max(missed.moment, levels.plan_stamp);
    }
    if (!levels[i] && !(of_plan && levels.left[i - Levels::plan_on_resource])) continue;
    const MissedOfLevel of_level = of_plan ? missed_of_plan(levels, i, version, resolved_at)
                                           : missed_of(*levels[i], version, resolved_at);
    // One change of a plan may concern both of its sets.
    const bool counted =
        i == Levels::plan_on_all && of_level.changes == 1 && of_level.newest == missed.moment;
    if (!counted) changes += of_level.changes;
    missed.moment = std::max(missed.moment, of_level.newest);
    missed.lowest = limits::lowest(
        missed.lowest, named_above ? select(of_level.strictest, named_above, false) : of_level.strictest);
    if (of_level.always_there) break;
    named_above = limits::lowest(named_above, of_level.always_named);
  }
  missed.several = changes > 1;
  return missed;
}

}  // namespace weir::limits
