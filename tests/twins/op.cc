#include "twins/op.h"

#include <array>

namespace weir::twins {
namespace {

template <std::size_t count>
std::array<std::string, count> numbered(char letter, int width) {
  std::array<std::string, count> names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    names[i] = letter + std::string(static_cast<std::size_t>(width) - number.size(), '0') + number;
  }
  return names;
}

std::string text(const std::vector<Asked>& amounts) {
  std::string out = "{";
  for (const Asked& asked : amounts)
    out += (out.size() == 1 ? "" : ", ") + limit_name(asked.limit) + " " + std::to_string(asked.amount);
  return out + "}";
}

std::string text(const LevelId& level) {
  std::string out = name_of(level.kind);
  if (level.entity >= 0) out += " " + entity_name(level.entity);
  if (level.resource >= 0) out += " " + resource_name(level.resource);
  return out;
}

std::string text(const Rule& rule, bool removed) {
  return (rule.access == Access::blocked ? " block" : " exemption") + std::string(" of ") +
         (rule.resource < 0 ? "all" : resource_name(rule.resource)) +
         (removed || rule.until == never ? "" : " until " + std::to_string(rule.until));
}

std::string text(const Request& request) {
  std::string out =
      entity_name(request.entity) + " " + resource_name(request.resource) + " " + text(request.consume);
  if (!request.key.empty()) out += " key " + request.key;
  if (request.shadow) out += " in shadow mode";
  if (request.lease_for > 0) out += " for " + std::to_string(request.lease_for) + "ms";
  if (request.limits) out += " limits " + text(*request.limits);
  return out;
}

}  // namespace

const std::string& entity_name(int entity) {
  static const auto names = numbered<most_entities>('e', 1);
  return names[static_cast<std::size_t>(entity)];
}
const std::string& resource_name(int resource) {
  static const auto names = numbered<resource_count>('r', 1);
  return names[static_cast<std::size_t>(resource)];
}
const std::string& limit_name(int limit) {
  static const auto names = numbered<most_limits>('l', 2);
  return names[static_cast<std::size_t>(limit)];
}

const std::string& plan_name(int plan) {
  static const auto names = numbered<plan_count>('p', 1);
  return names[static_cast<std::size_t>(plan)];
}

std::string text(const Terms& terms) {
  if (terms.concurrent()) return std::to_string(terms.capacity) + ":concurrent";
  return std::to_string(terms.capacity) + ":" + std::to_string(terms.burst) + "+" +
         std::to_string(terms.amount) + "/" + std::to_string(terms.period) + "ms";
}

std::string text(const Set& set) {
  std::string out = "{";
  for (const NamedTerms& named : set)
    out += (out.size() == 1 ? "" : ", ") + limit_name(named.limit) + " " + text(named.terms) +
           (named.mode == Mode::enforce ? "" : ":" + std::string(to_text(named.mode)));
  return out + "}";
}

std::string text(const Op& op) {
  std::string out = "#" + std::to_string(op.id) + (op.limiter == 0 ? " " : " (other) ");
  switch (op.kind) {
    case Kind::acquire:
      return out + "acquire " + text(op.request) +
             (op.hold == Hold::nothing ? ""
              : op.hold == Hold::id    ? " -> id"
                                       : " -> handle");
    case Kind::look:
      return out + "look " + text(op.request);
    case Kind::advance:
      return out + "clock " + std::to_string(op.by) + "ms";
    case Kind::change: {
      constexpr std::array<const char*, 4> verbs = {"adjust", "settle", "rollback", "extend"};
      return out + verbs[static_cast<std::size_t>(op.verb)] + " lease of #" + std::to_string(op.lease_of) +
             " " + (op.verb == Verb::extend ? std::to_string(op.by) + "ms" : text(op.amounts)) +
             (op.enforce ? " enforced" : "") + (op.key.empty() ? "" : " key " + op.key) +
             (op.hold == Hold::handle ? " by handle" : " by id");
    }
    case Kind::lower:
      return out + "lower " + entity_name(op.request.entity) + " " + resource_name(op.request.resource) +
             " " + text(op.amounts);
    case Kind::grant:
      return out + "grant " + entity_name(op.request.entity) + " " + resource_name(op.request.resource) +
             " " + text(op.amounts) + (op.by > 0 ? " for " + std::to_string(op.by) + "ms" : "") +
             (op.key.empty() ? "" : " with key " + op.key);
    case Kind::reset:
      return out + "reset " + entity_name(op.request.entity) + " " + resource_name(op.request.resource);
    case Kind::set_limits:
      return out + "set " + text(op.level) + " " + text(op.limits) +
             (op.options.owner == Owner::sync
                  ? " sync " + std::to_string(op.options.expires_in.value_or(0)) + "ms"
                  : "") +
             (op.options.inherit ? " inherits" : "") +
             (op.options.multiplier ? " multiplier " + std::to_string(*op.options.multiplier) : "");
    case Kind::delete_limits:
      return out + "delete " + text(op.level);
    case Kind::put_entity:
      return out + "put " + entity_name(op.entity) + " under " +
             (op.parent < 0 ? "nobody" : entity_name(op.parent)) + (op.cascade ? " cascading" : "") +
             (op.plan < 0 ? "" : " with plan " + plan_name(op.plan));
    case Kind::delete_entity:
      return out + "delete entity " + entity_name(op.entity);
    case Kind::put_plan:
      out += "put plan " + plan_name(op.plan);
      for (const auto& [resource, set] : op.sets) {
        out += " " + (resource < 0 ? std::string("all") : resource_name(resource)) + " " + text(set.limits) +
               (set.inherit ? " inherits" : "");
      }
      return out;
    case Kind::delete_plan:
      return out + "delete plan " + plan_name(op.plan);
    case Kind::set_access:
      return out + "set " + entity_name(op.entity) + text(op.rule, false);
    case Kind::remove_access:
      return out + "remove " + entity_name(op.entity) + text(op.rule, true);
    case Kind::reopen:
      return out + "reopen";
    case Kind::compare:
      return out + "compare buckets of " + entity_name(op.entity);
  }
  return out;
}

}  // namespace weir::twins
