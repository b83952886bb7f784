// What both twins have stored: buckets, limits, entities and the audit.
#include <algorithm>
#include <thread>

#include "twins/words.h"
#include "twins/world.h"

namespace weir::twins {
namespace {

std::string difference(const char* what, const std::vector<std::string>& real,
                       const std::vector<std::string>& ideal) {
  if (real == ideal) return {};
  std::string out = std::string(what) + " of the store that the oracle does not have:";
  for (const std::string& line : real) {
    if (std::find(ideal.begin(), ideal.end(), line) == ideal.end()) out += "\n    " + line;
  }
  out += "\n  of the oracle that the store does not have:";
  for (const std::string& line : ideal) {
    if (std::find(real.begin(), real.end(), line) == real.end()) out += "\n    " + line;
  }
  return out;
}

}  // namespace

/// An exempt entity may ask for a limit that nobody has.
bool World::heard_exemption(Limiter& limiter, int entity, int resource) const {
  if (!has_rules_ || oracle_.block(entity, resource, now_)) return true;
  const auto real = limiter.available(entity_name(entity), resource_name(resource), {{"unheard", 1}});
  return real.ok() == oracle_.exempt(entity, resource, now_);
}

/// Whether a limiter resolves every bucket as the oracle does: the same chain under the same limits.
bool World::heard(Limiter& limiter) const {
  for (int entity = 0; entity < config_.oracle.entities; ++entity) {
    for (int resource = 0; resource < config_.oracle.resources; ++resource) {
      const auto real = limiter.available(entity_name(entity), resource_name(resource));
      const Answer answer = oracle_.look({entity, resource, {}, nullptr, {}, false}, now_);
      if (real.ok() == answer.error.has_value() || !heard_exemption(limiter, entity, resource)) return false;
      if (!real) continue;
      if (!twins::compare(real->block(), answer.block).empty()) return false;
      if (real->limits().size() != answer.lines.size()) return false;
      for (std::size_t i = 0; i < answer.lines.size(); ++i) {
        const LimitStatus status = real->limits()[i];
        const Line& line = answer.lines[i];
        if (status.entity != entity_name(line.entity) || status.name != limit_name(line.limit) ||
            status.capacity.millitokens() != line.terms.capacity ||
            status.burst.millitokens() != line.terms.burst || status.source != line.source ||
            status.owner != line.owner || status.mode != line.mode ||
            (status.kind == weir::Kind::concurrent) != line.terms.concurrent())
          return false;
      }
    }
  }
  return true;
}

/// Waits until every limiter has heard of the last change of limits and entities.
std::string World::hear() {
  if (!kind_.traits.hears_later) return {};
  for (int patience = 0; patience < 60'000; ++patience) {
    if (std::all_of(limiters_.begin(), limiters_.end(), [&](Limiter& limiter) { return heard(limiter); })) {
      hidden_until_ = oracle_.next_rule_end(now_);
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return "a limiter has not heard of a change within a minute";
}

std::string World::compare_entity(int entity, bool other) {
  const auto page = limiters_[other ? limiters_.size() - 1 : 0].buckets(entity_name(entity));
  if (!page) return "no buckets: " + page.error().message;
  std::size_t at = 0;
  for (int resource = 0; resource < config_.oracle.resources; ++resource) {
    const BucketState* const state = oracle_.bucket(entity, resource, now_);
    const Bucket* const real = at < page->items.size() && page->items[at].resource == resource_name(resource)
                                   ? &page->items[at++]
                                   : nullptr;
    if (state == nullptr && real == nullptr) continue;
    // The clock keeps clear of expiries, but one with a capacity of 0 expires as it is made.
    const Time blind = kind_.traits.blind_margin.value_or(0);
    if (state == nullptr && oracle_.bucket(entity, resource, now_ - blind) != nullptr) continue;
    const SetRef in_force = oracle_.effective(entity, resource, now_);
    if (state != nullptr && real != nullptr &&
        (kind_.traits.blind_margin ? same_at(*real, *state, now_) : same(*real, *state, in_force.get())))
      continue;
    return "bucket of " + entity_name(entity) + " on " + resource_name(resource) +
           "\n    store:  " + (real == nullptr ? "none" : describe(*real)) +
           "\n    oracle: " + (state == nullptr ? "none" : describe(*state));
  }
  return {};
}

std::string World::compare_limits() {
  const auto page = limiters_[0].list_limits({}, {.cursor = {}, .limit = 1000});
  if (!page) return "no listing of limits: " + page.error().message;
  const auto words = [](const Level& level, const std::vector<NamedLimit>& limits, Owner owner,
                        Time expires_at, bool inherit) {
    std::string out = std::string(name_of(level.kind())) + " " + level.entity() + " " + level.resource() +
                      " " + name_of(owner) + " " + std::to_string(expires_at) + (inherit ? " inherits" : "");
    for (const NamedLimit& limit : limits) out += " " + limit.name + limit.limit.to_json();
    return out;
  };
  std::vector<std::string> real;
  for (const StoredLimits& item : page->items)
    real.push_back(words(item.level, item.limits, item.owner, item.expires_at.value_or(never), item.inherit));
  std::vector<std::string> ideal;
  for (const Oracle::StoredLevel& item : oracle_.stored_levels(now_))
    ideal.push_back(
        words(level_of(item.level), named(*item.limits), item.owner, item.expires_at, item.inherit));
  std::sort(real.begin(), real.end());
  std::sort(ideal.begin(), ideal.end());
  return difference("limits", real, ideal);
}

std::string World::compare_entities() {
  const auto page = limiters_[0].entities({.cursor = {}, .limit = 1000});
  if (!page) return "no listing of entities: " + page.error().message;
  std::vector<Entity> ideal;
  for (const Oracle::StoredEntity& stored : oracle_.stored_entities()) {
    Entity entity = entity_of(stored.entity, stored.parent, stored.cascade, stored.plan);
    if (stored.access_only) entity = {.id = entity.id, .access_only = true};
    entity.created_at = stored.created_at;
    for (const Rule& rule : oracle_.rules(stored.entity)) entity.access.push_back(rule_of(rule));
    ideal.push_back(std::move(entity));
  }
  std::vector<Entity> real = page->items;
  // The version of a bucket tells of the stamp.
  for (Entity& entity : real) entity.plan_stamp = 0;
  for (std::vector<Entity>* const all : {&real, &ideal}) {
    for (Entity& entity : *all) entity.access = rules_at(entity.access, now_);
    // A record for rules that have all ended may stay.
    std::erase_if(*all, [](const Entity& one) { return one.access_only && one.access.empty(); });
  }
  return real == ideal ? std::string() : "the entities differ";
}

std::string World::compare_plans() {
  const auto page = limiters_[0].plans({.cursor = {}, .limit = 1000});
  if (!page) return "no listing of plans: " + page.error().message;
  const auto words = [](const LimitsPlan& plan) {
    std::string out = plan.name;
    const auto add = [&](const std::string& resource, const PlanLimits& set) {
      out += " " + resource + (set.inherit ? " inherits" : "");
      for (const NamedLimit& limit : set.limits) out += " " + limit.name + limit.limit.to_json();
    };
    add("all", plan.limits);
    for (const auto& [resource, set] : plan.resources) add(resource, set);
    return out;
  };
  std::vector<std::string> real;
  for (const LimitsPlan& plan : page->items) real.push_back(words(plan));
  std::vector<std::string> ideal;
  for (int plan = 0; plan < config_.oracle.plans; ++plan) {
    if (const auto sets = oracle_.stored_plan(plan)) ideal.push_back(words(plan_of(plan, *sets)));
    std::vector<std::string> members;
    for (const Oracle::StoredEntity& stored : oracle_.stored_entities()) {
      if (stored.plan == plan) members.push_back(entity_name(stored.entity));
    }
    const auto listed = limiters_[0].members(plan_name(plan));
    if (!listed || listed->items != members) return "the members of " + plan_name(plan) + " differ";
  }
  return difference("plans", real, ideal);
}

/// The newest events, as far as one page goes.
std::string World::compare_audit() {
  const auto page = limiters_[0].audit({}, {.cursor = {}, .limit = 1000});
  if (!page) return "no audit: " + page.error().message;
  std::vector<std::string> real;
  for (const AuditEvent& event : page->items)
    real.push_back(std::to_string(event.at) + " " + event.action + " " + event.subject + " " +
                   event.resource);
  std::vector<std::string> ideal;
  const auto& events = oracle_.events();
  const Time oldest = now_ - std::chrono::milliseconds(keep_audit_for).count();
  for (auto event = events.rbegin(); event != events.rend() && ideal.size() < 1000; ++event) {
    if (event->at <= oldest) continue;
    const LevelId& subject = event->subject;
    const std::string name = subject.plan >= 0       ? "$PLAN:" + plan_name(subject.plan)
                             : subject.entity >= 0   ? entity_name(subject.entity)
                             : subject.resource >= 0 ? "$RESOURCE:" + resource_name(subject.resource)
                                                     : "$SYSTEM";
    const bool on_resource = subject.entity >= 0 && subject.resource >= 0;
    ideal.push_back(std::to_string(event->at) + " " + event->action + " " + name + " " +
                    (on_resource ? resource_name(subject.resource) : ""));
  }
  return difference("events", real, ideal);
}

/// Every hour of an entity, in pages of a random length, and their sums by days.
std::string World::compare_usage(int entity) {
  std::vector<std::string> real;
  std::vector<std::string> ideal;
  const auto line = [](const std::string& resource, const char* window, Time start, const auto& amounts,
                       std::int64_t events) {
    std::string out =
        resource + " " + window + " " + std::to_string(start) + " events " + std::to_string(events);
    for (const auto& [limit, amount] : amounts)
      if (amount != 0) out += " " + limit + "=" + std::to_string(amount);
    return out;
  };
  for (const UsageWindow window : {UsageWindow::hour, UsageWindow::day}) {
    std::string cursor;
    do {
      const auto page =
          limiters_[0].usage({.entity = entity_name(entity), .window = window},
                             {.cursor = cursor, .limit = 1 + static_cast<std::size_t>(now_ % 7)});
      if (!page) return "no usage: " + page.error().message;
      for (const Usage& row : page->items) {
        std::map<std::string, std::int64_t> amounts;
        for (const UsedAmount& used : row.limits) amounts[used.limit] = used.amount.millitokens();
        real.push_back(line(row.resource, name_of(row.window), row.start, amounts, row.events));
      }
      cursor = page->next;
    } while (!cursor.empty());
    for (int resource = 0; resource < config_.oracle.resources; ++resource) {
      std::map<Time, std::pair<std::map<std::string, std::int64_t>, std::int64_t>> sums;
      for (const auto& [hour, used] : oracle_.usage(entity, resource)) {
        auto& sum = sums[hour / length_of(window) * length_of(window)];
        sum.second += used.events;
        for (const auto& [limit, amount] : used.amounts) sum.first[limit_name(limit)] += amount;
      }
      for (const auto& [start, sum] : sums)
        ideal.push_back(line(resource_name(resource), name_of(window), start, sum.first, sum.second));
    }
  }
  return difference("usage", real, ideal);
}

std::string World::compare_all() {
  if (kind_.traits.counts_usage) {
    if (std::string wrong = store_->collect_usage(); !wrong.empty()) return wrong;
  }
  for (int entity = 0; entity < config_.oracle.entities; ++entity) {
    if (std::string wrong = compare_entity(entity, entity % 2 == 1); !wrong.empty()) return wrong;
    if (!kind_.traits.counts_usage) continue;
    if (std::string wrong = compare_usage(entity); !wrong.empty()) return wrong;
  }
  if (std::string wrong = compare_limits(); !wrong.empty()) return wrong;
  if (std::string wrong = compare_entities(); !wrong.empty()) return wrong;
  if (std::string wrong = compare_plans(); !wrong.empty()) return wrong;
  return compare_audit();
}

}  // namespace weir::twins
