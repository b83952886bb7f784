#include "store/dynamodb/usage_reader.h"

#include <algorithm>

#include "base/text.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/usage_items.h"

namespace weir::dynamodb {
namespace {

/// As many keys as one BatchGetItem takes.
constexpr std::size_t most_keys = 100;

}  // namespace

bool DynamoUsage::add(const Item& item, const store::UsageQuery& query, usage::PageRows& rows) {
  const auto row = read_usage(item);
  if (!row) {
    context_.bad.report(row.error().message);
    return true;
  }
  // Expired means absent, whether or not DynamoDB has deleted it.
  const auto ttl = wire::aws::integer_of(item, "ttl");
  const bool expired = ttl && *ttl <= context_.now() / 1000;
  // A cursor that has moved on may leave an hour without events.
  const bool wanted = row->start >= query.from && row->start < query.to && row->events != 0 && !expired;
  if (wanted && rows.is_full_at(*row)) return false;
  if (wanted) rows.add(*row);
  return true;
}

void DynamoUsage::read(const store::UsageQuery& query, const store::Paging& paging,
                       store::Completion<store::Page<Usage>> done) {
  const auto after = usage::read_cursor(paging.cursor);
  if (!after) return done(after.error());
  usage::PageRows rows(*after, !query.entity.empty(), paging.limit);
  auto read = query.entity.empty() ? read_resource(query, *after, rows, paging.limit)
                                   : read_entity(query, *after, rows);
  if (!read) return done(read.error());
  done(rows.page());
}

Result<void> DynamoUsage::read_entity(const store::UsageQuery& query, const usage::Position& after,
                                      usage::PageRows& rows) {
  const usage::BucketId bucket{std::string(query.name_space), std::string(query.entity),
                               std::string(query.resource)};
  QueryOf wanted{.pk = entity_pk(query.name_space, query.entity), .begins_with = std::string(usage_prefix)};
  if (!query.resource.empty()) {
    // A day comes before its hours. The bounds are inclusive; add() cuts exactly.
    wanted.begins_with = usage_sort_prefix(query.resource);
    wanted.after = usage_key(bucket, UsageWindow::day, query.from).sk;
    wanted.after.pop_back();
    wanted.until = usage_key(bucket, UsageWindow::hour, query.to).sk;
  }
  if (!after.name.empty()) {
    const usage::BucketId last{bucket.name_space, bucket.entity, after.name};
    wanted.after = usage_key(last, UsageWindow::day, after.start).sk;
  }
  return BlockingCalls(context_).for_each(wanted, [&](const Item& item) { return add(item, query, rows); });
}

Result<void> DynamoUsage::read_resource(const store::UsageQuery& query, const usage::Position& after,
                                        usage::PageRows& rows, std::size_t limit) {
  BlockingCalls calls(context_);
  QueryOfIndex wanted{.index = "GSI2",
                      .pk_name = "GSI2PK",
                      .sk_name = "GSI2SK",
                      .pk = usage_index_pk(query.name_space, query.resource),
                      .from = usage_index_sk(query.from),
                      .to = usage_index_sk(query.to)};
  if (!after.name.empty()) wanted.from = usage_index_sk(after.start, after.name);
  if (wanted.from > wanted.to) return {};
  // Two more: the last of the page before comes again.
  wanted.limit = std::min(most_keys, limit + 2);
  for (;;) {
    auto asked = calls.ask(query_index(context_.table, wanted), true);
    if (!asked.ok()) return error_of_read(*asked.failure);
    std::vector<Key> keys;
    for (const Item& item : asked.answer.items) keys.push_back(key_of(item));
    auto items = calls.get(keys);
    if (!items) return items.error();
    bool more = true;
    for (const Key& key : keys) {
      const auto item = items->find(key);
      if (item != items->end() && more) more = add(item->second, query, rows);
    }
    if (!more || asked.answer.last_key.empty()) return {};
    wanted.after = asked.answer.last_key;
  }
}

}  // namespace weir::dynamodb
