// Access rules in a draft: entities that are blocked or exempt.
#include <algorithm>

#include "base/maxima.h"
#include "base/text.h"
#include "limits/access.h"
#include "store/audit.h"
#include "store/table/draft.h"

namespace weir::table {

using base::error;
using base::quoted;

namespace {

std::string described(const AccessRule& rule) {
  return rule.resource.empty() ? std::string(name_of(rule.access))
                               : base::join(name_of(rule.access), " on resource ", quoted(rule.resource));
}

void remove_rule(Entity& entity, const AccessRule& rule) {
  std::erase_if(entity.access, [&](const AccessRule& one) {
    return one.access == rule.access && one.resource == rule.resource;
  });
}

}  // namespace

Result<void> Draft::set_rule(Entity& next, const AccessRule& rule) {
  if (rule.until && *rule.until <= now_)
    return error(ErrorCode::invalid_argument, "the end of the rule must be in the future");
  remove_rule(next, rule);
  // Rules that have ended make room.
  std::erase_if(next.access, [&](const AccessRule& one) { return one.until && *one.until <= now_; });
  if (next.access.size() == maxima::access_rules) {
    return error(ErrorCode::conflict, "entity ", quoted(next.id), " has ",
                 std::to_string(maxima::access_rules),
                 " rules already; remove some, or set one for every "
                 "resource");
  }
  next.access.push_back(rule);
  next.access.back().since = now_;
  return {};
}

Result<store::Changed> Draft::apply(const store::AccessWrite& write) {
  if (tenant_.bad_entities.contains(write.entity)) {
    return error(ErrorCode::conflict, "the record of entity ", quoted(write.entity),
                 " cannot be used; put the entity first");
  }
  const Entity* const old = entity(write.entity);
  const AccessRule* const found =
      old == nullptr ? nullptr : limits::find_rule(old->access, write.rule.access, write.rule.resource);
  const std::optional<AccessRule> before = found == nullptr ? std::nullopt : std::optional(*found);
  Entity next = old == nullptr ? Entity{.id = write.entity, .created_at = now_, .access_only = true} : *old;
  if (write.removes) {
    if (!before || (before->until && *before->until <= now_)) {
      return error(ErrorCode::not_found, "entity ", quoted(write.entity), " is not ", described(write.rule));
    }
    remove_rule(next, write.rule);
  } else if (auto set = set_rule(next, write.rule); !set) {
    return set.error();
  }
  const AccessRule* const after =
      write.removes ? nullptr : limits::find_rule(next.access, write.rule.access, write.rule.resource);
  events_.push_back(store::access_event(write.entity, before ? &*before : nullptr, after));
  if (next.access_only && next.access.empty()) {
    entities_[write.entity].reset();
  } else {
    entities_[write.entity] = next;
  }
  return store::Changed{.entity = std::move(next)};
}

Result<store::Changed> Draft::apply(const store::AuditNote& note) {
  store::AuditEvent event;
  event.action = note.action;
  event.subject = note.subject;
  event.resource = note.resource;
  event.after = note.after;
  events_.push_back(std::move(event));
  return store::Changed{};
}

}  // namespace weir::table
