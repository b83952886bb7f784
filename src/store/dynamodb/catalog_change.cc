#include "store/dynamodb/catalog_change.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "limits/names.h"
#include "store/audit.h"
#include "store/conditional/upkeep.h"
#include "store/dynamodb/legacy.h"

namespace weir::dynamodb {

using base::error;
using base::join;
using base::quoted;
using wire::aws::integer_of;
using wire::aws::text_of;

namespace {

/// After so many that failed, busy buckets are told afterwards.
constexpr int attempts_with_buckets = 8;

void require(Expression& expression, const Moving& moving) {
  const std::string since = expression.name("moving");
  const std::string mover = expression.name("mover");
  expression.condition(join(since, "=", expression.value(moving.since)));
  expression.condition(join(mover, "=", expression.value(Value::of_unsigned(moving.mover))));
}

}  // namespace

/// What is drafted twice is told once.
void CatalogChange::tell(std::size_t done) {
  if (done < told_) return;
  told_ = done;
  if (changes_.options.progress) changes_.options.progress(done, 2 * changes_.changes.size());
}

Result<std::vector<store::Changed>> CatalogChange::run() {
  for (attempts_ = 0; attempts_ < most_attempts; ++attempts_) {
    bool overtaken = false;
    auto changed = attempt(overtaken);
    if (overtaken) continue;
    unannounce();
    if (changed) tell(2 * changes_.changes.size());
    return changed;
  }
  unannounce();
  return error(ErrorCode::contention, "others changed limits or entities too often meanwhile; try again");
}

Result<std::vector<store::Changed>> CatalogChange::attempt(bool& overtaken) {
  tenant_ = {};
  looked_up_.clear();
  buckets_.clear();
  now_ = site_.now();
  auto head = read_head();
  if (!head) return head.error();
  head_ = *std::move(head);
  if (!head_.pending.empty()) {
    if (auto rolled = roll_forward(head_.pending); !rolled) return rolled.error();
    return overtaken = true, std::vector<store::Changed>();
  }
  if (auto ready = prepare(); !ready) return ready.error();
  // The stamp is taken after all that has to be read: under new limits refill counts from there, and they are
  // not in force before they are written.
  if (changes_.changes.size() < most_in_transaction) now_ = site_.now();
  table::Draft draft(tenant_, now_, head_.stamp);
  auto changed = draft_all(draft);
  if (!changed) return changed;

  const std::vector<store::AuditEvent> events = sign(draft);
  std::vector<ItemWrite> writes = writes_of(draft, events);
  auto erased = buckets_of_erased(draft);
  if (!erased) return erased.error();
  auto altered = writes_to_buckets(draft);
  if (!altered) return altered.error();
  const std::size_t together = writes.size() + erased->size() + altered->size() + 1;
  const bool with_buckets = together <= most_in_transaction && attempts_ < attempts_with_buckets;
  Result<Sent> sent = Sent::done;
  if (writes.size() < most_in_transaction) {
    std::vector<ItemWrite> all = writes;
    all.push_back(head_write(draft, events.size(), {}));
    if (with_buckets) {
      all.insert(all.end(), erased->begin(), erased->end());
      all.insert(all.end(), altered->begin(), altered->end());
    }
    sent = send(std::move(all));
  } else {
    sent = send_by_journal(draft, events.size(), writes);
  }
  if (!sent) return sent.error();
  if (*sent == Sent::overtaken) return overtaken = true, std::vector<store::Changed>();
  for (const auto& [id, entity] : draft.entities()) {
    if (entity || tenant_.entities.contains(id)) announced_.erase(id);
  }
  if (!with_buckets) {
    if (auto gone = asking_.write_all(*erased); !gone) return gone.error();
    // Whose write fails has been written by somebody else, who knows better, or takes the limits over next
    // time.
    for (const ItemWrite& write : *altered) (void)asking_.ask(single_write(site_.table, write), true);
  }
  site_.memory.forget_catalog(name_space_);
  for (const auto& [key, record] : draft.limits()) {
    const Level level = table::level_of(key);
    if (!level.entity().empty()) site_.memory.forget_images(name_space_, level.entity());
  }
  for (const std::string& id : draft.erased()) site_.memory.forget_images(name_space_, id);
  return changed;
}

/// Reads everything that the change depends on, and announces moves.
Result<void> CatalogChange::prepare() {
  if (auto read = read_concerned(); !read) return read;
  table::Draft draft(tenant_, now_, head_.stamp);
  if (auto changed = draft_all(draft); !changed) return changed.error();
  if (auto announced = announce(draft); !announced) return announced;
  if (auto still = check_moved(draft); !still) return still;
  return read_buckets(draft);
}

Result<CatalogChange::Head> CatalogChange::read_head() {
  const Key key = head_key(name_space_);
  auto found = asking_.get(std::span(&key, 1));
  if (!found) return found.error();
  Head head;
  if (found->empty()) return head;
  const Item& item = found->begin()->second;
  head.generation = integer_of(item, "generation").value_or(0);
  head.stamp = integer_of(item, "stamp").value_or(0);
  head.sequence = integer_of(item, "sequence").value_or(0);
  head.audited_to = integer_of(item, "audited_to").value_or(0);
  head.pending = text_of(item, "pending");
  return head;
}

Result<void> CatalogChange::read_levels(const std::set<std::string>& keys) {
  std::vector<Key> wanted;
  std::map<Key, std::string> which;
  for (const std::string& key : keys) {
    if (tenant_.limits.contains(key) || !looked_up_.insert(join("level ", key)).second) continue;
    wanted.push_back(level_key(name_space_, table::level_of(key)));
    which[wanted.back()] = key;
  }
  auto found = asking_.get(wanted);
  if (!found) return found.error();
  for (const auto& [key, item] : *found) {
    auto record = read_limits(item);
    if (!record) return record.error();
    tenant_.limits[which[key]] = limits::LimitsRecordRef(record->get());
  }
  return {};
}

Result<void> CatalogChange::read_entities(const std::set<std::string>& ids) {
  std::vector<Key> wanted;
  for (const std::string& id : ids) {
    if (looked_up_.insert(join("entity ", id)).second) wanted.push_back(meta_key(name_space_, id));
  }
  auto found = asking_.get(wanted);
  if (!found) return found.error();
  for (const auto& [key, item] : *found) {
    if (!has_entity(item)) continue;
    auto entity = read_entity(item);
    if (!entity) return entity.error();
    const std::string id = entity->id;
    tenant_.entities[id] = *std::move(entity);
  }
  return {};
}

/// Who is below an entity: its children, and theirs where chains may become longer.
Result<void> CatalogChange::read_children(const std::set<std::string>& of, bool all_below) {
  std::set<std::string> next;
  for (const std::string& id : of) {
    if (tenant_.children.contains(id)) continue;
    std::set<std::string>& children = tenant_.children[id];
    QueryOf wanted{.pk = entity_pk(name_space_, id), .begins_with = std::string(child_prefix)};
    auto listed = asking_.for_each(wanted, [&](const Item& item) {
      children.insert(key_of(item).sk.substr(child_prefix.size()));
      return true;
    });
    if (!listed) return listed.error();
    next.insert(children.begin(), children.end());
  }
  return all_below && !next.empty() ? read_children(next, true) : Result<void>();
}

Result<void> CatalogChange::read_ancestors() {
  for (std::size_t i = 0; i <= limits::max_chain; ++i) {
    std::set<std::string> above;
    for (const auto& [id, entity] : tenant_.entities) {
      if (!entity.parent.empty() && !looked_up_.contains(join("entity ", entity.parent)))
        above.insert(entity.parent);
    }
    if (above.empty()) break;
    if (auto read = read_entities(above); !read) return read;
  }
  return {};
}

Result<void> CatalogChange::read_concerned() {
  std::set<std::string> levels;
  std::set<std::string> entities;
  std::set<std::string> erased;
  for (const store::Change& change : changes_.changes) {
    if (const auto* write = std::get_if<store::LimitsWrite>(&change)) {
      levels.insert(table::level_key(write->level));
    } else if (const auto* put_one = std::get_if<store::EntityPut>(&change)) {
      entities.insert(put_one->entity.id);
      if (!put_one->entity.parent.empty()) entities.insert(put_one->entity.parent);
    } else {
      erased.insert(std::get<store::EntityErase>(change).id);
    }
  }
  for (const std::string& id : erased) {
    // Every key of the entity, and only those, has a space behind its name.
    QueryOf wanted{.pk = listed_limits_key(name_space_, "").pk, .begins_with = join("e ", id, " ")};
    auto listed =
        asking_.for_each(wanted, [&](const Item& item) { return levels.insert(key_of(item).sk), true; });
    if (!listed) return listed.error();
  }
  if (auto read = read_levels(levels); !read) return read;
  entities.insert(erased.begin(), erased.end());
  if (auto read = read_entities(entities); !read) return read;
  if (auto read = read_ancestors(); !read) return read;
  std::set<std::string> moving;
  for (const store::Change& change : changes_.changes) {
    const auto* const put_one = std::get_if<store::EntityPut>(&change);
    if (put_one == nullptr) continue;
    const auto old = tenant_.entities.find(put_one->entity.id);
    if (put_one->entity.parent != (old == tenant_.entities.end() ? std::string() : old->second.parent))
      moving.insert(put_one->entity.id);
  }
  if (auto read = read_children(moving, true); !read) return read;
  return read_children(erased, false);
}

Result<std::vector<store::Changed>> CatalogChange::draft_all(table::Draft& draft) {
  constexpr std::size_t now_and_then = 1000;
  std::vector<store::Changed> changed;
  for (const store::Change& change : changes_.changes) {
    auto one = draft.add(change);
    if (attempts_ == 0 && changed.size() % now_and_then == 0) tell(changed.size());
    if (!one) {
      const bool several = changes_.changes.size() > 1;
      const std::string which =
          several ? join("change ", std::to_string(changed.size() + 1), ": ") : std::string();
      return Error{one.error().code, which + one.error().message};
    }
    changed.push_back(*std::move(one));
  }
  return changed;
}

ItemWrite unannounced(const Key& meta, const Moving& moving) {
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

Result<void> CatalogChange::announce(const table::Draft& draft) {
  std::set<std::string> ids(draft.erased().begin(), draft.erased().end());
  for (const std::string& id : draft.moved()) ids.insert(id);
  // Time for all of them: each is looked at before the first is written.
  const Time since = now_ + static_cast<Time>(ids.size()) * 50;
  std::vector<ItemWrite> writes;
  const std::uint64_t mover = site_.entropy.next() >> 11U;
  for (const std::string& id : ids) {
    const bool alone = !tenant_.entities.contains(id);
    ItemWrite& write =
        writes.emplace_back(ItemWrite{.kind = ItemWrite::Kind::update, .key = meta_key(name_space_, id)});
    // A process that announced a move before finds this mover in its place, and starts over.
    write.expression.set("moving", Value::of(since));
    write.expression.set("mover", Value::of_unsigned(mover));
    write.expression.set("entity_id", Value::of(id));
    announced_[id] = {since, mover, alone};
  }
  for (std::size_t at = 0; at < writes.size(); at += most_in_transaction) {
    const std::size_t count = std::min(writes.size() - at, most_in_transaction);
    const std::string token = join(std::to_string(site_.entropy.next() >> 1U), "-a");
    const auto part = std::span(writes).subspan(at, count);
    for (int tries = 0;; ++tries) {
      const auto asked = count == 1 ? asking_.ask(single_write(site_.table, part[0]), true)
                                    : asking_.ask(transaction(site_.table, part, token), true);
      if (asked.ok()) break;
      // A charge that checks the same item at the same time is in the way for a moment.
      if (asked.failure->kind != aws::DynamoFailure::Kind::conflict || tries == most_attempts)
        return aws::error_of(*asked.failure);
    }
  }
  return {};
}

void CatalogChange::unannounce() {
  for (const auto& [id, moving] : std::exchange(announced_, {})) {
    // One that stays behind is ended by whoever meets it later.
    (void)asking_.ask(single_write(site_.table, unannounced(meta_key(name_space_, id), moving)), true);
  }
}

Result<void> CatalogChange::check_moved(const table::Draft& draft) {
  for (const std::string& id : draft.moved()) {
    bool has_bucket = false;
    QueryOf wanted{.pk = entity_pk(name_space_, id), .begins_with = std::string(bucket_prefix)};
    auto listed = asking_.for_each(wanted, [&](const Item& item) {
      const auto ttl = integer_of(item, "ttl");
      // A process whose clock is behind may still charge a bucket that has just expired.
      has_bucket = has_bucket || !ttl || *ttl * 1000 + site_.settings.margin > now_;
      return !has_bucket;
    });
    if (!listed) return listed.error();
    if (!has_bucket) continue;
    return error(ErrorCode::conflict, "entity ", quoted(id),
                 " has buckets, so its parent and cascade cannot change; delete it first, or wait until they "
                 "expire");
  }
  return {};
}

std::vector<store::AuditEvent> CatalogChange::sign(const table::Draft& draft) {
  std::vector<store::AuditEvent> events = draft.events();
  std::int64_t sequence = head_.sequence;
  for (store::AuditEvent& event : events) {
    // Ids sort by time even if a clock goes back.
    event.id = store::audit_id(std::max(head_.audited_to, now_), static_cast<std::uint64_t>(++sequence));
    event.at = now_;
    event.principal = changes_.principal;
  }
  return events;
}

namespace {

/// Who else is charged above an entity's parent. Where those above move later, it stays as it was.
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

std::vector<ItemWrite> CatalogChange::writes_of(const table::Draft& draft,
                                                const std::vector<store::AuditEvent>& events) {
  std::vector<ItemWrite> writes;
  for (const auto& [key, record] : draft.limits()) {
    ItemWrite& write = writes.emplace_back(put(write_limits(name_space_, key, *record)));
    if (record->owner == Owner::sync && record->current.limits) {
      // The seeds' own condition, checked by the table: what has no expiry is an operator's.
      Expression& expression = write.expression;
      const std::string pk = expression.name("PK");
      expression.condition(
          join("(attribute_not_exists(", pk, ") OR attribute_exists(", expression.name("ttl"), "))"));
    }
    if (!tenant_.limits.contains(key)) writes.push_back(put(listed_limits_key(name_space_, key).item()));
  }
  for (const auto& [id, entity] : draft.entities()) {
    const auto old = tenant_.entities.find(id);
    const bool existed = old != tenant_.entities.end();
    const std::string before = existed ? old->second.parent : std::string();
    const std::string after = entity ? entity->parent : std::string();
    // Of a move, only if nobody has taken back or replaced what was announced before the look for buckets.
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
    QueryOf wanted{.pk = entity_pk(name_space_, id), .begins_with = std::string(bucket_prefix)};
    auto listed = asking_.for_each(wanted, [&](const Item& item) {
      const Key key = key_of(item);
      const std::string resource = key.sk.substr(bucket_prefix.size());
      writes.push_back(is_bucket(key) ? render(conditional::forget(0), {name_space_, id, resource}, now_)
                                      : erase(key));
      return true;
    });
    if (!listed) return listed.error();
  }
  return writes;
}

Result<void> CatalogChange::read_buckets(const table::Draft& draft) {
  std::map<std::string, std::set<std::string>> resources;  // of entities; an empty one: all
  for (const auto& [key, record] : draft.limits()) {
    const Level level = table::level_of(key);
    if (!level.entity().empty() && !draft.erased().contains(level.entity()))
      resources[level.entity()].insert(level.resource());
  }
  for (const auto& [entity, of_entity] : resources) {
    std::vector<Item>& items = buckets_[entity];
    QueryOf wanted{.pk = entity_pk(name_space_, entity), .begins_with = std::string(bucket_prefix)};
    auto listed = asking_.for_each(wanted, [&](const Item& item) {
      const std::string resource = key_of(item).sk.substr(bucket_prefix.size());
      // Legacy items learn of it when they are converted.
      if (legacy_name(key_of(item))) return true;
      if (of_entity.contains("") || of_entity.contains(resource)) items.push_back(item);
      return true;
    });
    if (!listed) return listed.error();
    std::set<std::string> keys;
    for (const Item& item : items) {
      const std::string resource = key_of(item).sk.substr(bucket_prefix.size());
      for (std::size_t i = 0; i < 4; ++i)
        keys.insert(table::level_key(static_cast<Source>(i), entity, resource));
    }
    if (auto levels_read = read_levels(keys); !levels_read) return levels_read;
  }
  return {};
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

/// Claims refill under the old limits and takes the new ones over, in the same transaction as they are
/// stored.
Result<void> CatalogChange::add_alter(const table::Draft& draft, const std::string& entity, const Item& item,
                                      std::vector<ItemWrite>& writes) {
  auto read = read_bucket(item);
  if (!read) return read.error();
  if (read->state.expires_at <= now_) return {};
  const std::string resource = key_of(item).sk.substr(bucket_prefix.size());
  limits::Levels levels;
  for (std::size_t i = 0; i < levels.size(); ++i)
    levels[i] = draft.record(table::level_key(static_cast<Source>(i), entity, resource));
  const auto resolution = limits::resolve(levels, {}, now_, changes_.ttl_multiplier);
  if (!resolution->limits) return {};
  conditional::BucketPlan plan;
  plan.resolution = limits::ResolutionRef(resolution.get());
  plan.resolved_after = read->state.version;
  const auto write = conditional::adopt(plan, read->state, site_.settings, now_);
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

Result<CatalogChange::Sent> CatalogChange::send(std::vector<ItemWrite> writes) {
  const std::string token = join(std::to_string(site_.entropy.next() >> 1U), "-w");
  const auto asked = asking_.ask(transaction(site_.table, writes, token), true);
  if (asked.ok()) return Sent::done;
  using Kind = aws::DynamoFailure::Kind;
  if (asked.failure->kind == Kind::condition || asked.failure->kind == Kind::conflict) return Sent::overtaken;
  return aws::error_of(*asked.failure);
}

}  // namespace weir::dynamodb
