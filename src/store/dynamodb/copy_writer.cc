// Writes records of a copy to a table.
#include <algorithm>
#include <iterator>
#include <map>

#include "base/hex.h"
#include "base/text.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/copy.h"
#include "store/dynamodb/usage_items.h"
#include "store/table/draft.h"

namespace weir::dynamodb {
namespace {

using base::join;

/// A transaction takes 100 writes; a record is at most 24 of them, the hours of a day.
constexpr std::size_t most_together = 75;

ItemWrite put_new(Item item) {
  ItemWrite write = put(std::move(item));
  write.expression.condition(join("attribute_not_exists(", write.expression.name("PK"), ")"));
  return write;
}

conditional::Marker marker_of(const decision::Marker& marker) {
  conditional::Marker next{.sequence = 1, .lease = marker.record};
  for (const decision::LeaseBucket& bucket : marker.buckets) {
    next.entities.push_back(bucket.entity);
    next.generations.push_back(bucket.generation);
  }
  next.deadline = marker.deadline;
  next.first_deadline = marker.first_deadline;
  return next;
}

/// The writes of a record, by its kind.
struct Writes {
  const std::string& name_space;
  const store::CopySettings& settings;
  Time now;

  std::vector<ItemWrite> operator()(const store::CopiedLimits& limits) const {
    const std::string key = table::level_key(limits.level);
    return {put_new(write_limits(name_space, key, *limits.record)),
            put(listed_limits_key(name_space, key).item())};
  }
  std::vector<ItemWrite> operator()(const store::CopiedPlan& plan) const {
    return {put_new(write_plan(name_space, plan.name, *plan.record)),
            put(listed_plan_key(name_space, plan.name).item())};
  }
  /// Without the hint of more distant ancestors, which the next put of the entity adds.
  std::vector<ItemWrite> operator()(const Entity& entity) const {
    std::vector<ItemWrite> writes{put_new(write_entity(name_space, entity, {})),
                                  put(listed_entity_key(name_space, entity.id).item())};
    if (!entity.parent.empty()) writes.push_back(put(child_key(name_space, entity.parent, entity.id).item()));
    if (!entity.plan.empty()) writes.push_back(put(member_key(name_space, entity.plan, entity.id).item()));
    return writes;
  }
  std::vector<ItemWrite> operator()(const store::CopiedBucket& bucket) const {
    return {
        copied_bucket({name_space, bucket.entity, bucket.resource}, bucket.state, bucket.counts_usage, now)};
  }
  std::vector<ItemWrite> operator()(const store::CopiedLease& lease) const {
    return {put_new(write_marker(lease_key(name_space, lease.entity, lease.nonce), marker_of(lease.marker)))};
  }
  std::vector<ItemWrite> operator()(const store::CopiedUsage& usage) const {
    std::vector<ItemWrite> writes;
    for (const Usage& row : usage.rows) {
      ItemWrite& write =
          writes.emplace_back(addition({name_space, usage.entity, usage.resource}, row, settings.keep_usage));
      write.expression.condition(join("attribute_not_exists(", write.expression.name("PK"), ")"));
    }
    return writes;
  }
  std::vector<ItemWrite> operator()(const store::AuditEvent& event) const {
    const Time keep = settings.keep_audit_for;
    return {put_new(write_event(audit_key(name_space, event.subject, event.id), event, keep)),
            put(write_event(listed_audit_key(name_space, event.id), event, keep))};
  }
};

}  // namespace

Result<std::unique_ptr<TableCopy>> TableCopy::open(StoreOptions options) {
  options.must_be_reachable = true;
  auto store = DynamoStore::open(options);
  if (!store) return store.error();
  return std::unique_ptr<TableCopy>(new TableCopy(*std::move(store)));
}

Result<std::string> TableCopy::unfinished() {
  const auto record = version_record();
  if (!record) return record.error();
  auto settings_now = settings();
  if (!settings_now) return settings_now.error();
  settings_ = *settings_now;
  return std::string(wire::aws::text_of(*record, "copy"));
}

Result<void> TableCopy::begin(const std::string& copy, const store::CopySettings& settings) {
  settings_ = settings;
  const std::string_view lease_key(reinterpret_cast<const char*>(settings.lease_key.data()),
                                   settings.lease_key.size());
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = version_key()};
  write.expression.set("lease_key", Value::of_bytes(std::string(lease_key)));
  write.expression.set("keep_audit_for", Value::of(settings.keep_audit_for));
  write.expression.set("keep_usage_hours", Value::of(settings.keep_usage.hours));
  write.expression.set("keep_usage_days", Value::of(settings.keep_usage.days));
  write.expression.set("copy", Value::of(copy));
  const auto set = BlockingCalls(context_).ask(single_write(context_.table, write), true);
  return set.ok() ? Result<void>() : aws::error_of(*set.failure);
}

Result<void> TableCopy::end() {
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = version_key()};
  write.expression.remove("copy");
  const auto removed = BlockingCalls(context_).ask(single_write(context_.table, write), true);
  return removed.ok() ? Result<void>() : aws::error_of(*removed.failure);
}

bool TableCopy::fit(store::CopyRecord& record) const {
  if (auto* const bucket = std::get_if<store::CopiedBucket>(&record.content))
    bucket->state.expires_at = limits::whole_seconds(bucket->state.expires_at);
  const auto* const lease = std::get_if<store::CopiedLease>(&record.content);
  return lease == nullptr || !lease->entity.empty();
}

Result<void> TableCopy::put(const std::vector<store::CopyRecord>& page) {
  if (auto prepared = prepare(page); !prepared) return prepared;
  std::vector<ItemWrite> together;
  const store::CopyRecord* first = nullptr;
  for (const store::CopyRecord& record : page) {
    std::vector<ItemWrite> writes =
        std::visit(Writes{record.name_space, settings_, context_.now()}, record.content);
    if (together.size() + writes.size() > most_together) {
      if (auto done = write_together(together, *first); !done) return done;
      together.clear();
    }
    if (together.empty()) first = &record;
    std::move(writes.begin(), writes.end(), std::back_inserter(together));
  }
  return together.empty() ? Result<void>() : write_together(together, *first);
}

/// What must be there before the records: an interrupted copy does not come back to records that it finds.
Result<void> TableCopy::prepare(const std::vector<store::CopyRecord>& page) {
  std::map<std::string, store::CopyNeeds> needs;
  for (const store::CopyRecord& record : page) {
    needs[record.name_space].add(record);
    const auto* const usage = std::get_if<store::CopiedUsage>(&record.content);
    if (usage == nullptr || !registered_.emplace(record.name_space, usage->resource).second) continue;
    const auto write = registration({record.name_space, usage->entity, usage->resource});
    const auto done = BlockingCalls(context_).ask(single_write(context_.table, write), true);
    if (!done.ok()) return aws::error_of(*done.failure);
  }
  for (const auto& [name_space, need] : needs) {
    if (auto raised = store_->require_client(need.client); !raised) return raised;
    if (auto raised = raise_head(name_space, need); !raised) return raised;
  }
  return {};
}

Result<void> TableCopy::raise_head(const std::string& name_space, const store::CopyNeeds& needs) {
  if (needs.stamp == 0 && needs.audited_to == 0) return {};
  const Key key = head_key(name_space);
  auto found = BlockingCalls(context_).get(std::span(&key, 1));
  if (!found) return found.error();
  const Item head = found->empty() ? Item() : found->begin()->second;
  const auto number = [&](std::string_view name) { return wire::aws::integer_of(head, name).value_or(0); };
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = key};
  write.expression.set("generation", Value::of(number("generation") + 1));
  write.expression.set("stamp", Value::of(std::max(number("stamp"), needs.stamp)));
  write.expression.set("sequence", Value::of(std::max(number("sequence"), needs.sequence)));
  write.expression.set("audited_to", Value::of(std::max(number("audited_to"), needs.audited_to)));
  const auto done = BlockingCalls(context_).ask(single_write(context_.table, write), true);
  return done.ok() ? Result<void>() : aws::error_of(*done.failure);
}

/// `first`: one of the records, for the message.
Result<void> TableCopy::write_together(const std::vector<ItemWrite>& writes, const store::CopyRecord& first) {
  const std::string token = join(base::hex(context_.entropy.next()), base::hex(context_.entropy.next()));
  const auto done = BlockingCalls(context_).ask(transaction(context_.table, writes, token), true);
  if (done.ok()) return {};
  if (done.failure->kind == aws::DynamoFailure::Kind::condition) return store::in_the_way(first);
  return aws::error_of(*done.failure);
}

}  // namespace weir::dynamodb
