#include "store/dynamodb/usage_folding.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "store/dynamodb/items.h"
#include "store/dynamodb/usage_items.h"
#include "usage/rows.h"

namespace weir::dynamodb {
namespace {

using base::join;
using wire::aws::find;
using wire::aws::integer_of;
using wire::aws::text_of;
using Kind = aws::DynamoFailure::Kind;

/// Up to which day a resource was folded.
constexpr std::string_view folded_attribute = "folded_until";

/// Days before it may have got hours since: a record of the stream is counted up to a day after it was made.
constexpr Time looks_back = 2 * usage::day;

/// A resource whose usage was counted.
struct CountedResource {
  Key key;
  std::string name_space;
  std::string resource;
  Time folded_until = 0;
};

class HourFolder {
 public:
  HourFolder(aws::DynamoClient& client, const std::string& table, Time now, const store::UsageKept& kept,
             const std::function<bool()>& stop)
      : client_(client), table_(table), now_(now), kept_(kept), stop_(stop) {}

  Result<FoldingReport> run() {
    auto resources = list();
    if (!resources) return resources.error();
    for (const CountedResource& resource : *resources) {
      if (auto folded = fold(resource); !folded) return folded.error();
    }
    return report_;
  }

 private:
  Result<aws::Asked> ask(Request request) {
    auto asked = client_.ask(std::move(request.operation), std::move(request.json), true);
    if (!asked.ok()) return aws::error_of(*asked.failure);
    return asked;
  }

  Result<std::vector<CountedResource>> list() {
    std::vector<CountedResource> resources;
    QueryOf wanted{.pk = std::string(aggregator_pk), .begins_with = std::string(resource_prefix)};
    do {
      auto asked = ask(query(table_, wanted));
      if (!asked) return asked.error();
      for (const Item& item : asked->answer.items) {
        resources.push_back({key_of(item), std::string(text_of(item, "name_space")),
                             std::string(text_of(item, "resource")),
                             integer_of(item, folded_attribute).value_or(0)});
      }
      wanted.after = asked->answer.last_key.empty() ? std::string() : key_of(asked->answer.last_key).sk;
    } while (!wanted.after.empty());
    return resources;
  }

  /// Folds the days of a resource, the oldest first.
  Result<void> fold(const CountedResource& resource) {
    const Time until = usage::retention_at(now_, kept_).first_hour;
    QueryOfIndex wanted{.index = "GSI2",
                        .pk_name = "GSI2PK",
                        .sk_name = "GSI2SK",
                        .pk = usage_index_pk(resource.name_space, resource.resource),
                        .from = usage_index_sk(std::max(resource.folded_until - looks_back, Time{0})),
                        .to = usage_index_sk(until)};
    if (resource.folded_until >= until) return {};
    const std::uint64_t later = report_.later;
    std::map<std::pair<Time, std::string>, std::vector<Key>> days;
    do {
      auto asked = ask(query_index(table_, wanted));
      if (!asked) return asked.error();
      for (const Item& item : asked->answer.items) {
        const auto name = usage_name(key_of(item));
        if (name && name->window == UsageWindow::hour)
          days[{start_of(UsageWindow::day, name->start), name->bucket.entity}].push_back(key_of(item));
      }
      wanted.after = asked->answer.last_key;
      // The index is ordered by time: all days but the last are complete.
      while (!days.empty() &&
             (wanted.after.empty() || days.begin()->first.first < days.rbegin()->first.first)) {
        if (stop_ && stop_()) return {};
        const auto day = days.extract(days.begin());
        if (auto folded = fold(resource, day.key(), day.mapped()); !folded) return folded;
      }
    } while (!wanted.after.empty());
    return report_.later == later ? set_folded(resource, until) : Result<void>();
  }

  Result<void> fold(const CountedResource& resource, const std::pair<Time, std::string>& day,
                    const std::vector<Key>& hours) {
    auto asked = ask(batch_get(table_, hours));
    if (!asked) return asked.error();
    if (!asked->answer.unprocessed.empty()) return ++report_.later, Result<void>();
    const usage::BucketId bucket{resource.name_space, day.second, resource.resource};
    Usage sum{day.second, resource.resource, UsageWindow::day, day.first};
    std::vector<ItemWrite> writes(1);
    for (const Item& item : asked->answer.items) {
      auto hour = read_usage(item);
      // One that cannot be used stays as it is.
      if (!hour) continue;
      usage::add(sum, *hour);
      writes.push_back(removal(item));
    }
    if (writes.size() == 1) return {};
    writes[0] = addition(bucket, sum, kept_);
    Request request = transaction(table_, writes, {});
    const auto written = client_.ask(std::move(request.operation), std::move(request.json), true);
    if (written.ok()) {
      ++report_.days;
      report_.hours += writes.size() - 1;
    } else if (written.failure->kind == Kind::condition || written.failure->kind == Kind::conflict) {
      ++report_.later;
    } else {
      return aws::error_of(*written.failure);
    }
    return {};
  }

  /// Deletes an hour that has not changed.
  static ItemWrite removal(const Item& item) {
    ItemWrite write = erase(key_of(item));
    Expression& expression = write.expression;
    const std::string events = expression.name("total_events");
    expression.condition(join(events, "=", expression.value(integer_of(item, "total_events").value_or(0))));
    const Value* const cursor = find(item, cursor_attribute);
    const std::string name = expression.name(cursor_attribute);
    expression.condition(cursor == nullptr ? join("attribute_not_exists(", name, ")")
                                           : join(name, "=", expression.value(*cursor)));
    return write;
  }

  Result<void> set_folded(const CountedResource& resource, Time until) {
    ItemWrite write{.kind = ItemWrite::Kind::update, .key = resource.key};
    write.expression.set(folded_attribute, Value::of(until));
    auto asked = ask(single_write(table_, write));
    if (!asked) return asked.error();
    return {};
  }

  aws::DynamoClient& client_;
  const std::string& table_;
  const Time now_;
  const store::UsageKept& kept_;
  const std::function<bool()>& stop_;
  FoldingReport report_;
};

}  // namespace

Result<FoldingReport> fold_usage(aws::DynamoClient& client, const std::string& table, Time now,
                                 const store::UsageKept& kept, const std::function<bool()>& stop) {
  return HourFolder(client, table, now, kept, stop).run();
}

Result<store::UsageKept> read_usage_kept(aws::DynamoClient& client, const std::string& table) {
  const Key key = version_key();
  Request request = batch_get(table, std::span(&key, 1));
  const auto asked = client.ask(std::move(request.operation), std::move(request.json), true);
  if (!asked.ok()) return aws::error_of(*asked.failure);
  store::UsageKept kept;
  if (asked.answer.items.empty()) return kept;
  kept.hours = integer_of(asked.answer.items[0], "keep_usage_hours").value_or(kept.hours);
  kept.days = integer_of(asked.answer.items[0], "keep_usage_days").value_or(kept.days);
  return kept;
}

}  // namespace weir::dynamodb
