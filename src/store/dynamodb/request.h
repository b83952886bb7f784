// Requests to DynamoDB as JSON: reads of several items, single writes, transactions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/conditional/write.h"
#include "store/dynamodb/items.h"
#include "store/dynamodb/names.h"

namespace weir::dynamodb {

/// The names and values that expressions refer to, each by a short placeholder.
class Expression {
 public:
  /// "#0" for the attribute; the same placeholder for the same attribute.
  std::string name(std::string_view attribute);
  std::string value(Value value);
  std::string value(std::int64_t number) { return value(Value::of(number)); }

  void condition(std::string_view term);
  void set(std::string_view attribute, Value to);
  /// Sets a member of an attribute that is a map.
  void set_member(std::string_view attribute, std::string_view member, Value to);
  void add(std::string_view attribute, std::int64_t number);
  void remove(std::string_view attribute);

  /// Appends `,"ConditionExpression":...` with its names and values.
  void append_to(std::string& json) const;
  bool has_update() const { return !set_.empty() || !add_.empty() || !remove_.empty(); }

 private:
  std::vector<std::string> names_;
  std::vector<Value> values_;
  std::string condition_;
  std::string set_;
  std::string add_;
  std::string remove_;
};

struct ItemWrite;

/// Marks a write that renders one of the machines', or puts a bucket that a copy brings. No other code writes
/// to buckets.
class FromMachine {
  FromMachine() = default;
  friend ItemWrite render(const conditional::Write& write, const BucketName& name, Time now);
  friend ItemWrite copied_bucket(const BucketName& name, const bucket::State& state, bool counts_usage,
                                 Time now);
};
/// The number of writes to buckets in this process that no machine has made: always 0.
std::uint64_t foreign_bucket_writes();

/// One write, alone or as a part of a transaction.
struct ItemWrite {
  enum class Kind : unsigned char { put, update, erase, check };
  Kind kind = Kind::put;
  Key key = {};
  Item item = {};  ///< put
  Expression expression = {};
  std::optional<FromMachine> from_machine = {};
};

/// Renders a write of the machines to a bucket.
ItemWrite render(const conditional::Write& write, const BucketName& name, Time now);
/// Puts a bucket that a copy of another store brings, where there is none. What it has counted is no usage.
ItemWrite copied_bucket(const BucketName& name, const bucket::State& state, bool counts_usage, Time now);
/// Renders the condition on an entity's parent in the catalog.
ItemWrite render(const conditional::LinkCheck& check, const Key& meta);
/// Renders the marker of a transaction. An expired one counts as absent.
ItemWrite render(const conditional::MarkerWrite& write, const Key& key, Time now);

ItemWrite put(Item item);
ItemWrite erase(Key key);

/// The operation and the request for one write: PutItem, UpdateItem or DeleteItem.
struct Request {
  std::string operation;
  std::string json;
};
Request single_write(const std::string& table, const ItemWrite& write);
/// TransactWriteItems; `token` makes it happen once however often it is sent.
Request transaction(const std::string& table, std::span<const ItemWrite> writes, std::string_view token);
/// BatchGetItem with consistent reads.
Request batch_get(const std::string& table, std::span<const Key> keys);
/// BatchWriteItem of puts and deletes, at most 25.
Request batch_write(const std::string& table, std::span<const ItemWrite> writes);

/// A consistent Query of one partition.
struct QueryOf {
  std::string pk;
  std::string begins_with = {};  ///< of the sort key
  std::string after = {};        ///< sort keys after this one; with `backward`, up to and including it
  std::string until = {};        ///< sort keys up to and including this one; not with `backward`
  bool backward = false;
  std::size_t limit = 0;  ///< 0: as many as a page holds
};
Request query(const std::string& table, const QueryOf& query);
/// A Query of one partition of an index: sort keys from `from` up to and including `to`, from a key on.
struct QueryOfIndex {
  std::string_view index;
  std::string_view pk_name;
  std::string_view sk_name;
  std::string pk;
  std::string from;
  std::string to;
  Item after = {};
  std::size_t limit = 0;  ///< 0: as many as a page holds
};
Request query_index(const std::string& table, const QueryOfIndex& query);
/// A page of an index, from the key behind which it begins.
Request scan_index(const std::string& table, std::string_view index, const Item& after);

}  // namespace weir::dynamodb
