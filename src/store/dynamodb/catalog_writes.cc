// The writes of a change of the catalog.
#include <algorithm>

#include "base/text.h"
#include "limits/names.h"
#include "store/conditional/upkeep.h"
#include "store/dynamodb/catalog_change.h"

namespace weir::dynamodb {

using base::join;

namespace {

void require(Expression& expression, const MoveAnnouncement& moving) {
  const std::string since = expression.name("moving");
  const std::string mover = expression.name("mover");
  expression.condition(join(since, "=", expression.value(moving.since)));
  expression.condition(join(mover, "=", expression.value(Value::of_unsigned(moving.mover))));
}

/// The entities of the chain above an entity's parent. Not updated when one of these moves later.
std::vector<std::string> beyond_parent(const table::Draft& draft, const Entity& entity) {
  std::vector<std::string> beyond;
  const Entity* at = entity.cascade ? draft.entity(entity.parent) : nullptr;
  while (at != nullptr && at->cascade && !at->parent.empty() && beyond.size() + 2 < limits::max_chain) {
    beyond.push_back(at->parent);
    at = draft.entity(at->parent);
  }
  return beyond;
}

}  // namespace

ItemWrite unannounced(const Key& meta, const MoveAnnouncement& moving) {
  ItemWrite write{.kind = moving.alone ? ItemWrite::Kind::erase : ItemWrite::Kind::update, .key = meta};
  Expression& expression = write.expression;
  require(expression, moving);
  if (moving.alone) {
    expression.condition(join("attribute_not_exists(", expression.name("created_at"), ")"));
  } else {
    expression.remove("moving");
    expression.remove("mover");
  }
  return write;
}

std::vector<ItemWrite> CatalogChange::writes_of(const table::Draft& draft,
                                                const std::vector<store::AuditEvent>& events) {
  std::vector<ItemWrite> writes;
  for (const auto& [key, record] : draft.limits()) {
    ItemWrite& write = writes.emplace_back(put(write_limits(name_space_, key, *record)));
    if (record->owner == Owner::sync && record->current.limits) {
      // The table checks ownership by the rule that other programs use too: an item without an expiry is an
      // operator's.
      Expression& expression = write.expression;
      const std::string pk = expression.name("PK");
      expression.condition(
          join("(attribute_not_exists(", pk, ") OR attribute_exists(", expression.name("ttl"), "))"));
    }
    if (!tenant_.limits.contains(key)) writes.push_back(put(listed_limits_key(name_space_, key).item()));
  }
  for (const auto& [id, entity] : draft.entities()) {
    const bool existed = tenant_.entities.contains(id);
    const std::string before = parent_before(id);
    const std::string after = entity ? entity->parent : std::string();
    // A move is written only if its announcement, made before the check for buckets, is still in place.
    const auto still_announced = [&](ItemWrite& write) {
      const auto announced = announced_.find(id);
      if (announced != announced_.end()) require(write.expression, announced->second);
    };
    if (entity) {
      still_announced(
          writes.emplace_back(put(write_entity(name_space_, *entity, beyond_parent(draft, *entity)))));
      if (!existed) writes.push_back(put(listed_entity_key(name_space_, id).item()));
    } else if (existed) {
      still_announced(writes.emplace_back(erase(meta_key(name_space_, id))));
      writes.push_back(erase(listed_entity_key(name_space_, id)));
    }
    if (before != after && !before.empty()) writes.push_back(erase(child_key(name_space_, before, id)));
    if (before != after && !after.empty()) writes.push_back(put(child_key(name_space_, after, id).item()));
    const std::string left = plan_before(id);
    const std::string plan = entity ? entity->plan : std::string();
    if (left != plan && !left.empty()) writes.push_back(erase(member_key(name_space_, left, id)));
    if (left != plan && !plan.empty()) writes.push_back(put(member_key(name_space_, plan, id).item()));
  }
  for (const auto& [name, plan] : draft.plans()) {
    const bool existed = tenant_.plans.contains(name);
    if (plan) {
      writes.push_back(put(write_plan(name_space_, name, *plan)));
      if (!existed) writes.push_back(put(listed_plan_key(name_space_, name).item()));
    } else if (existed) {
      writes.push_back(erase(plan_key(name_space_, name)));
      writes.push_back(erase(listed_plan_key(name_space_, name)));
      for (const std::string& id : not_members_[name])
        writes.push_back(erase(member_key(name_space_, name, id)));
    }
  }
  for (const store::AuditEvent& event : events) {
    writes.push_back(
        put(write_event(audit_key(name_space_, event.subject, event.id), event, keep_audit_for_)));
    writes.push_back(put(write_event(listed_audit_key(name_space_, event.id), event, keep_audit_for_)));
  }
  return writes;
}

Result<std::vector<ItemWrite>> CatalogChange::buckets_of_erased(const table::Draft& draft) {
  std::vector<ItemWrite> writes;
  for (const std::string& id : draft.erased()) {
    auto listed = calls_.for_each(buckets_of(id), [&](const Item& item) {
      const Key key = key_of(item);
      const std::string resource = resource_of(item);
      writes.push_back(is_bucket(key) ? render(conditional::forget(0), {name_space_, id, resource}, now_)
                                      : erase(key));
      return true;
    });
    if (!listed) return listed.error();
  }
  return writes;
}

Result<std::vector<ItemWrite>> CatalogChange::writes_to_buckets(const table::Draft& draft) {
  std::vector<ItemWrite> writes;
  for (const auto& [entity, items] : buckets_) {
    for (const Item& item : items) {
      if (auto added = add_alter(draft, entity, item, writes); !added) return added.error();
    }
  }
  return writes;
}

/// Claims refill under the old limits and adopts the new ones, in the transaction that stores them.
Result<void> CatalogChange::add_alter(const table::Draft& draft, const std::string& entity, const Item& item,
                                      std::vector<ItemWrite>& writes) {
  auto read = read_bucket(item);
  if (!read) {
    // Its own decisions fail. The limits can change.
    context_.bad.report(read.error().message);
    return {};
  }
  if (read->state.expires_at <= now_) return {};
  const std::string resource = resource_of(item);
  const auto resolution = resolve(draft, entity, resource, now_);
  if (!resolution->limits) return {};
  conditional::BucketPlan plan;
  plan.resolution = resolution;
  plan.resolved_after = read->state.version;
  const auto write = conditional::adopt(plan, read->state, context_.settings, now_);
  if (write) writes.push_back(render(*write, {name_space_, entity, resource}, now_));
  return {};
}

ItemWrite CatalogChange::head_write(const table::Draft& draft, std::size_t events,
                                    const std::string& pending) const {
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = head_key(name_space_)};
  Expression& expression = write.expression;
  const std::string generation = expression.name("generation");
  if (head_.generation == 0) {
    expression.condition(join("attribute_not_exists(", generation, ")"));
  } else {
    expression.condition(join(generation, "=", expression.value(head_.generation)));
    expression.condition(join("attribute_not_exists(", expression.name("pending"), ")"));
  }
  expression.set("generation", Value::of(head_.generation + 1));
  expression.set("stamp", Value::of(std::max(head_.stamp, draft.last_stamp())));
  expression.set("sequence", Value::of(head_.sequence + static_cast<std::int64_t>(events)));
  expression.set("audited_to", Value::of(std::max(head_.audited_to, now_)));
  if (!pending.empty()) expression.set("pending", Value::of(pending));
  return write;
}

std::vector<ItemWrite> CatalogChange::announced_still() const {
  std::vector<ItemWrite> checks;
  for (const auto& [id, moving] : announced_) {
    if (checks.size() + 1 == most_in_transaction) break;
    ItemWrite& check =
        checks.emplace_back(ItemWrite{.kind = ItemWrite::Kind::check, .key = meta_key(name_space_, id)});
    require(check.expression, moving);
  }
  return checks;
}

}  // namespace weir::dynamodb
