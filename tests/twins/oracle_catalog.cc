// The oracle's levels, plans and entities, and the limits that they resolve to.
#include <algorithm>

#include "twins/oracle.h"

namespace weir::twins {

Oracle::Oracle(const Config& config) : config_(config) {
  const auto entities = static_cast<std::size_t>(config.entities);
  const auto resources = static_cast<std::size_t>(config.resources);
  records_.resize(1 + resources + entities + entities * resources);
  plan_records_.resize(static_cast<std::size_t>(config.plans) * (resources + 1));
  plans_.resize(static_cast<std::size_t>(config.plans));
  entities_.resize(entities);
  buckets_.resize(entities * resources);
  usage_.resize(entities * resources);
}

Oracle::Record& Oracle::record(const LevelId& level) {
  int index = 0;
  switch (level.kind) {
    case Source::resource:
      index = 1 + level.resource;
      break;
    case Source::entity_default:
      index = 1 + config_.resources + level.entity;
      break;
    case Source::entity:
      index = 1 + config_.resources + config_.entities + level.entity * config_.resources + level.resource;
      break;
    default:
      break;
  }
  return records_[static_cast<std::size_t>(index)];
}

/// A record that has expired says nothing from the moment of its expiry on.
Oracle::Version Oracle::version_at(const Record& record, Time now) {
  if (!record.current.limits || record.expires_at > now) return record.current;
  return {std::max(record.expires_at, record.current.stamp), nullptr, false};
}

SetRef Oracle::limits_at(const LevelId& level, Time now) const {
  return version_at(record(level), now).limits;
}

std::vector<Oracle::StoredLevel> Oracle::stored_levels(Time now) const {
  std::vector<StoredLevel> levels;
  const auto look = [&](const LevelId& level) {
    const Record& found = record(level);
    if (!found.written || !version_at(found, now).limits) return;
    levels.push_back({level, found.current.gap, found.current.limits, found.owner, found.expires_at});
  };
  look({});
  for (int r = 0; r < config_.resources; ++r) look({Source::resource, -1, r});
  for (int e = 0; e < config_.entities; ++e) {
    look({Source::entity_default, e, -1});
    for (int r = 0; r < config_.resources; ++r) look({Source::entity, e, r});
  }
  return levels;
}

void Oracle::write(const LevelId& level, SetRef limits, const SetOptions& options, Time now) {
  // The audit leaves out that sync renews its limits.
  const Record& before = record(level);
  const SetRef held = version_at(before, now).limits;
  const bool renewed = before.written && held && limits && before.owner == Owner::sync &&
                       options.owner == Owner::sync && before.current.gap == options.inherit &&
                       *held == *limits;
  if (!renewed) events_.push_back({now, limits ? "limits.set" : "limits.delete", level});
  last_stamp_ = std::max(now, last_stamp_ + 1);
  replace(record(level), std::move(limits), options, now, last_stamp_);
}

void Oracle::replace(Record& record, SetRef limits, const SetOptions& options, Time now, Time& stamp) {
  std::optional<int> multiplier;
  if (record.written) {
    const Version last = version_at(record, now);
    stamp = std::max(stamp, last.stamp + 1);
    if (last.stamp != record.current.stamp) record.earlier.insert(record.earlier.begin(), record.current);
    record.earlier.insert(record.earlier.begin(), last);
    while (record.earlier.size() > remembered_versions) {
      const Version oldest = record.earlier.back();
      record.earlier.pop_back();
      Version& kept = record.earlier.back();
      kept.gap = kept.gap || oldest.gap || !kept.limits || !oldest.limits;
      Set both = kept.limits ? *kept.limits : Set();
      tighten(both, oldest.limits);
      if (kept.limits || oldest.limits) kept.limits = std::make_shared<const Set>(std::move(both));
    }
    if (last.limits && limits) multiplier = record.multiplier;
  }
  record.written = true;
  record.current = {stamp, std::move(limits), options.inherit};
  record.owner = options.owner;
  record.multiplier = options.multiplier ? options.multiplier : multiplier;
  record.expires_at = options.expires_in ? now + *options.expires_in : never;
  // Rounded up, on every store.
  if (options.expires_in) record.expires_at = (record.expires_at + 999) / 1000 * 1000;
}

Oracle::Outcome Oracle::set_limits(const LevelId& level, Set limits, const SetOptions& options, Time now) {
  Record& at = record(level);
  const bool there = at.written && version_at(at, now).limits;
  if (options.owner == Owner::sync && there && at.owner == Owner::operator_) return ErrorCode::operator_owned;
  write(level, std::make_shared<const Set>(std::move(limits)), options, now);
  if (level.entity >= 0) adopt(level, now);
  return {};
}

Oracle::Outcome Oracle::delete_limits(const LevelId& level, Time now) {
  Record& at = record(level);
  if (!at.written || !version_at(at, now).limits) return ErrorCode::not_found;
  write(level, nullptr, {}, now);
  if (level.entity >= 0) adopt(level, now);
  return {};
}

/// The buckets of an entity take over its new limits at once.
void Oracle::adopt(const LevelId& level, Time now, int left) {
  const int entity = level.entity;
  for (int resource = 0; resource < config_.resources; ++resource) {
    if (level.resource >= 0 && level.resource != resource) continue;
    auto& state = buckets_[bucket_index(entity, resource)];
    if (!state || state->expires_at <= now) continue;
    Link link;
    link.entity = entity;
    if (!resolve(entity, resource, nullptr, now).limits) continue;
    link.state = &*state;
    link.resolution = resolve_as_stored(entity, resource, link.state, now, left);
    link.claims = claim(link.state, link.resolution, now);
    if (!link.claims.changed && link.claims.version == state->version) continue;
    put(link, resource, claimed_state(link), now);
  }
}

Oracle::Outcome Oracle::put_entity(int entity, int parent, bool cascade, int plan, Time now) {
  EntityState& at = entities_[static_cast<std::size_t>(entity)];
  const bool assigned = at.plan != plan;
  if (assigned && plan >= 0 && !plans_[static_cast<std::size_t>(plan)]) return ErrorCode::invalid_argument;
  const bool moves = at.parent != parent || at.cascade != cascade;
  for (int resource = 0; moves && resource < config_.resources; ++resource) {
    if (bucket(entity, resource, now) != nullptr) return ErrorCode::conflict;
  }
  const EntityState before = at;
  if (assigned) last_stamp_ = std::max(now, last_stamp_ + 1);
  at = {true,        parent,
        cascade,     at.stored ? at.created_at : now,
        plan,        assigned ? last_stamp_ : at.plan_stamp,
        before.rules};
  events_.push_back({now, "entity.put", {Source::entity_default, entity, -1}});
  if (!assigned) return {};
  // Where nothing holds without the plan, the buckets follow what they missed of it: nobody knows it later.
  for (int resource = 0; resource < config_.resources; ++resource) {
    if (resolve(entity, resource, nullptr, now).limits) continue;
    const EntityState after = at;
    at = before;
    adopt({Source::entity, entity, resource}, now);
    at = after;
  }
  adopt({Source::entity_default, entity, -1}, now, before.plan);
  return {};
}

const Oracle::Record* Oracle::plan_record(int plan, int resource) const {
  const int place = resource < 0 ? config_.resources : resource;
  const int index = plan * (config_.resources + 1) + place;
  const Record& found = plan_records_[static_cast<std::size_t>(index)];
  return found.written ? &found : nullptr;
}

/// All sets that differ change at one moment; those that do not are left alone.
Oracle::Outcome Oracle::put_plan(int plan, const PlanSets& sets, Time now) {
  plans_[static_cast<std::size_t>(plan)] = true;
  events_.push_back({now, "plan.put", {Source::plan, -1, -1, plan}});
  bool stamped = false;
  for (int resource = -1; resource < config_.resources; ++resource) {
    const int place = resource < 0 ? config_.resources : resource;
    const int index = plan * (config_.resources + 1) + place;
    Record& record = plan_records_[static_cast<std::size_t>(index)];
    const auto wanted = sets.find(resource);
    const bool has = record.written && record.current.limits;
    if (wanted == sets.end() && !has) continue;
    if (wanted != sets.end() && has && *record.current.limits == wanted->second.limits &&
        record.current.gap == wanted->second.inherit)
      continue;
    if (!stamped) last_stamp_ = std::max(now, last_stamp_ + 1);
    stamped = true;
    SetRef limits = wanted == sets.end() ? nullptr : std::make_shared<const Set>(wanted->second.limits);
    replace(record, std::move(limits), {.inherit = wanted != sets.end() && wanted->second.inherit}, now,
            last_stamp_);
  }
  return {};
}

Oracle::Outcome Oracle::delete_plan(int plan, Time now) {
  if (!plans_[static_cast<std::size_t>(plan)]) return ErrorCode::not_found;
  for (const EntityState& at : entities_) {
    if (at.stored && at.plan == plan) return ErrorCode::conflict;
  }
  for (int place = 0; place <= config_.resources; ++place) {
    const int index = plan * (config_.resources + 1) + place;
    plan_records_[static_cast<std::size_t>(index)] = {};
  }
  plans_[static_cast<std::size_t>(plan)] = false;
  events_.push_back({now, "plan.delete", {Source::plan, -1, -1, plan}});
  return {};
}

std::optional<PlanSets> Oracle::stored_plan(int plan) const {
  if (!plans_[static_cast<std::size_t>(plan)]) return std::nullopt;
  PlanSets sets;
  for (int resource = -1; resource < config_.resources; ++resource) {
    const Record* const record = plan_record(plan, resource);
    if (record != nullptr && record->current.limits)
      sets[resource] = {*record->current.limits, record->current.gap};
  }
  return sets;
}

Oracle::Outcome Oracle::delete_entity(int entity, Time now) {
  EntityState& at = entities_[static_cast<std::size_t>(entity)];
  if (!at.stored) return ErrorCode::not_found;
  for (const EntityState& other : entities_) {
    if (other.stored && other.parent == entity) return ErrorCode::conflict;
  }
  // A deletion would end the rules.
  for (const Rule& rule : at.rules) {
    if (now < rule.until) return ErrorCode::conflict;
  }
  const auto forget = [&](const LevelId& level) {
    const Record& limits = record(level);
    if (limits.written && version_at(limits, now).limits) write(level, nullptr, {}, now);
  };
  const LevelId by_default{Source::entity_default, entity, -1};
  const bool had_default = record(by_default).written && version_at(record(by_default), now).limits;
  forget(by_default);
  for (int resource = 0; resource < config_.resources; ++resource) {
    forget({Source::entity, entity, resource});
    buckets_[bucket_index(entity, resource)].reset();
  }
  // The stamp of its plan goes with the entity, so that a later one stays.
  if (at.plan_stamp != 0 && !had_default) {
    last_stamp_ = std::max(now, last_stamp_ + 1);
    replace(record(by_default), nullptr, {}, now, last_stamp_);
  }
  at = {};
  events_.push_back({now, "entity.delete", {Source::entity_default, entity, -1}});
  return {};
}

std::vector<Oracle::StoredEntity> Oracle::stored_entities() const {
  std::vector<StoredEntity> stored;
  for (std::size_t i = 0; i < entities_.size(); ++i) {
    const EntityState& at = entities_[i];
    if (!at.stored) continue;
    stored.push_back({static_cast<int>(i), at.parent, at.cascade, at.plan, at.created_at, at.access_only});
  }
  return stored;
}

std::vector<int> Oracle::chain(int entity) const {
  std::vector<int> chain{entity};
  for (;;) {
    const EntityState& at = entities_[static_cast<std::size_t>(chain.back())];
    if (!at.cascade || at.parent < 0 || chain.size() == 8) return chain;
    chain.push_back(at.parent);
  }
}

Time Oracle::keep(const Terms& terms, int multiplier) {
  const Time fill = time_to_grant(terms, terms.capacity);
  const Time above = terms.burst > terms.capacity ? time_to_grant(terms, terms.burst) + fill : 0;
  return std::max(fill * multiplier, above);
}

/// The first level that has limits wins whole, unless it inherits: then the next ones add limits that it does
/// not name. Those of the request are the lowest.
Oracle::Resolution Oracle::resolve(int entity, int resource, const SetRef& request_limits, Time now,
                                   int depth) const {
  Resolution resolution;
  resolution.multiplier = config_.multiplier;
  bool open = true;
  Set merged;
  const auto add = [&](const SetRef& set, Source source) {
    for (const NamedTerms& named : *set) {
      if (resolution.sources.emplace(named.limit, source).second) merged.push_back(named);
    }
  };
  const EntityState& of = entities_[static_cast<std::size_t>(entity)];
  resolution.plan_stamp = resolution.stamp = of.plan_stamp;
  const std::array<std::pair<Source, const Record*>, 6> levels = {
      {{Source::entity, &record({Source::entity, entity, resource})},
       {Source::entity_default, &record({Source::entity_default, entity, -1})},
       {Source::plan, of.plan < 0 ? nullptr : plan_record(of.plan, resource)},
       {Source::plan, of.plan < 0 ? nullptr : plan_record(of.plan, -1)},
       {Source::resource, &record({Source::resource, -1, resource})},
       {Source::system, &record({Source::system, -1, -1})}}};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Source kind = levels[i].first;
    if (levels[i].second == nullptr || !levels[i].second->written) continue;
    const Record& at = *levels[i].second;
    resolution.records[i] = &at;
    const Version version = version_at(at, now);
    resolution.stamp = std::max(resolution.stamp, version.stamp);
    if (!version.limits) continue;
    resolution.until = std::min(resolution.until, at.expires_at);
    if (at.multiplier) resolution.multiplier = *at.multiplier;
    if (!open) continue;
    open = version.gap;
    if (merged.empty()) {
      resolution.source = kind;
      resolution.owner = at.owner;
    }
    add(version.limits, kind);
  }
  resolution.open = open;
  if (open && request_limits) {
    add(request_limits, Source::request);
    resolution.request_in_force = true;
  }
  if (!merged.empty()) {
    std::sort(merged.begin(), merged.end(), [](const auto& a, const auto& b) { return a.limit < b.limit; });
    resolution.limits = std::make_shared<const Set>(std::move(merged));
  }
  resolution.kept_for_good =
      resolution.source == Source::entity && resolution.owner == Owner::operator_ && resolution.limits;
  if (resolution.until != never && depth < 4) {
    Resolution next = resolve(entity, resource, request_limits, std::max(now, resolution.until), depth + 1);
    if (next.limits) resolution.next = std::make_shared<const Resolution>(std::move(next));
  }
  return resolution;
}

}  // namespace weir::twins
