#include "store/dynamodb/catalog_change.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "store/dynamodb/legacy.h"

namespace weir::dynamodb {

using base::join;
using wire::aws::integer_of;
using wire::aws::text_of;

namespace {

/// After this many failed attempts, busy buckets get the new limits after the change.
constexpr int attempts_with_buckets = 8;
/// In bytes: what DynamoDB accepts, with some room.
constexpr std::size_t largest_item = std::size_t{395} * 1024;

}  // namespace

Result<bool> CatalogChange::begin() {
  buckets_.clear();
  now_ = context_.now();
  if (auto read = read_head(); !read) return read.error();
  if (pending_.empty()) return true;
  if (auto rolled = roll_forward(pending_); !rolled) return rolled.error();
  return false;
}

Result<void> CatalogChange::read_head() {
  const Key key = head_key(name_space_);
  auto found = calls_.get(std::span(&key, 1));
  if (!found) return found.error();
  const Item item = found->empty() ? Item() : found->begin()->second;
  std::optional<Error> wrong;
  const auto number = [&](const char* name) -> std::int64_t {
    if (wire::aws::find(item, name) == nullptr) return 0;
    const auto read = integer_of(item, name);
    if (read && *read >= 0 && *read <= limits::latest_stamp) return *read;
    wrong =
        base::error(ErrorCode::unavailable, "the item ", base::quoted(key.pk), " ", base::quoted(key.sk),
                    " has in ", name, " no number that weir writes, so nothing can be changed; set it right");
    return 0;
  };
  head_ = {number("generation"), number("stamp"), number("sequence"), number("audited_to")};
  pending_ = text_of(item, "pending");
  if (wrong) return context_.report(*wrong);
  return {};
}

Time CatalogChange::stamp_at() const {
  // The stamp is taken after all reads: refill under the new limits counts from the stamp, and they are not
  // in force before they are written.
  return changes_.changes.size() < most_in_transaction ? context_.now() : now_;
}

Result<void> CatalogChange::fence(const table::Draft& draft) {
  std::set<std::string> ids(draft.erased().begin(), draft.erased().end());
  for (const std::string& id : draft.moved()) ids.insert(id);
  // Allows time for all of them: each is checked before the first is written.
  const Time since = now_ + static_cast<Time>(ids.size()) * 50;
  std::vector<ItemWrite> writes;
  const std::uint64_t mover = context_.entropy.next() >> 11U;
  for (const std::string& id : ids) {
    const bool alone = !tenant_.entities.contains(id);
    ItemWrite& write =
        writes.emplace_back(ItemWrite{.kind = ItemWrite::Kind::update, .key = meta_key(name_space_, id)});
    // A process that announced a move earlier finds this mover instead of its own, and starts over.
    write.expression.set("moving", Value::of(since));
    write.expression.set("mover", Value::of_unsigned(mover));
    write.expression.set("entity_id", Value::of(id));
    announced_[id] = {since, mover, alone};
  }
  for (std::size_t at = 0; at < writes.size(); at += most_in_transaction) {
    const std::size_t count = std::min(writes.size() - at, most_in_transaction);
    const std::string token = join(std::to_string(context_.entropy.next() >> 1U), "-a");
    const auto part = std::span(writes).subspan(at, count);
    for (int tries = 0;; ++tries) {
      const auto asked = count == 1 ? calls_.ask(single_write(context_.table, part[0]), true)
                                    : calls_.ask(transaction(context_.table, part, token), true);
      if (asked.ok()) break;
      // A charge that checks the same item at the same time causes a short conflict.
      if (asked.failure->kind != aws::DynamoFailure::Kind::conflict || tries == most_attempts)
        return aws::error_of(*asked.failure);
    }
  }
  return {};
}

void CatalogChange::unfence(bool starts_over) {
  // The next attempt announces them anew.
  if (starts_over) return;
  for (const auto& [id, moving] : std::exchange(announced_, {})) {
    // An announcement that cannot be withdrawn is ended by the next process that finds it.
    (void)calls_.ask(single_write(context_.table, unannounced(meta_key(name_space_, id), moving)), true);
  }
}

QueryOf CatalogChange::buckets_of(std::string_view entity) const {
  return {.pk = entity_pk(name_space_, entity), .begins_with = std::string(bucket_prefix)};
}

std::string CatalogChange::resource_of(const Item& item) {
  return key_of(item).sk.substr(bucket_prefix.size());
}

Result<bool> CatalogChange::has_bucket(const std::string& entity) {
  bool has = false;
  auto listed = calls_.for_each(buckets_of(entity), [&](const Item& item) {
    const auto ttl = integer_of(item, "ttl");
    // A process whose clock is behind may still charge a bucket that has just expired.
    const Time expires_at = ttl ? base::saturate(base::Int128{*ttl} * 1000) : limits::never;
    has = has || base::saturating_add(expires_at, context_.settings.margin) > now_;
    return !has;
  });
  if (!listed) return listed.error();
  return has;
}

Result<void> CatalogChange::read_buckets(const table::Draft& draft) {
  for (const auto& [entity, stamps] : new_stamps(draft)) {
    std::vector<Item>& items = buckets_[entity];
    std::vector<std::string> resources;
    auto listed = calls_.for_each(buckets_of(entity), [&](const Item& item) {
      const std::string resource = resource_of(item);
      // Legacy items adopt the limits when they are converted.
      if (legacy_name(key_of(item)) || !(stamps.contains("") || stamps.contains(resource))) return true;
      items.push_back(item);
      resources.push_back(resource);
      return true;
    });
    if (!listed) return listed.error();
    if (auto read = read_levels_of({{entity, resources}}); !read) return read;
  }
  return {};
}

Result<bool> CatalogChange::commit(const table::Draft& draft, const std::vector<store::AuditEvent>& events) {
  std::vector<ItemWrite> writes = writes_of(draft, events);
  for (const ItemWrite& write : writes) {
    if (write.key.sk == plan_sort_key && wire::aws::size_of(Value::of_map(write.item)) > largest_item)
      return base::invalid(
          "the plan of ", base::quoted(write.key.pk),
          " and its earlier versions do not fit into an item of DynamoDB; use several plans");
  }
  auto erased = buckets_of_erased(draft);
  if (!erased) return erased.error();
  auto altered = writes_to_buckets(draft);
  if (!altered) return altered.error();
  const std::size_t together = writes.size() + erased->size() + altered->size() + 1;
  const bool with_buckets = together <= most_in_transaction && attempts_ < attempts_with_buckets;
  Result<bool> sent = true;
  if (writes.size() < most_in_transaction) {
    writes.push_back(head_write(draft, events.size(), {}));
    if (with_buckets) {
      writes.insert(writes.end(), erased->begin(), erased->end());
      writes.insert(writes.end(), altered->begin(), altered->end());
    }
    sent = send(writes);
  } else {
    sent = send_by_journal(draft, events.size(), writes);
  }
  if (!sent || !*sent) return sent;
  for (const auto& [id, entity] : draft.entities()) {
    if (entity || tenant_.entities.contains(id)) announced_.erase(id);
  }
  if (!with_buckets) {
    if (auto gone = calls_.write_all(*erased); !gone) return gone.error();
    // A write that fails lost to one that knows the new limits, or whose process adopts them with its next
    // write.
    for (const ItemWrite& write : *altered) (void)calls_.ask(single_write(context_.table, write), true);
  }
  forget(draft);
  return true;
}

void CatalogChange::forget(const table::Draft& draft) {
  context_.memory.distrust_all(name_space_);
  for (const auto& [key, record] : draft.limits()) {
    const Level level = table::level_of(key);
    if (!level.entity().empty()) context_.memory.forget_images(name_space_, level.entity());
  }
  for (const std::string& id : draft.reassigned()) context_.memory.forget_images(name_space_, id);
  for (const std::string& id : draft.erased()) context_.memory.forget_images(name_space_, id);
}

Result<bool> CatalogChange::send(const std::vector<ItemWrite>& writes) {
  const std::string token = join(std::to_string(context_.entropy.next() >> 1U), "-w");
  const auto asked = calls_.ask(transaction(context_.table, writes, token), true);
  if (asked.ok()) return true;
  using Kind = aws::DynamoFailure::Kind;
  if (asked.failure->kind == Kind::condition || asked.failure->kind == Kind::conflict) return false;
  return aws::error_of(*asked.failure);
}

}  // namespace weir::dynamodb
