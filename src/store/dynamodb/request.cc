#include "store/dynamodb/request.h"

#include <algorithm>
#include <atomic>

#include "base/json.h"
#include "base/text.h"

namespace weir::dynamodb {
namespace {

using base::join;
using base::json_string;
using conditional::LimitWrite;
using conditional::Write;
using Effect = LimitWrite::Effect;

void append_clause(std::string& clauses, std::string_view clause) {
  if (!clauses.empty()) clauses += ", ";
  clauses += clause;
}

std::string item_json(const Item& item) {
  std::string text;
  wire::aws::append_json(text, item);
  return text;
}

std::atomic<std::uint64_t> foreign_writes{0};

/// Called for every write that becomes part of a request.
void check_origin(const ItemWrite& write) {
  if (!write.from_machine && is_bucket(write.key)) foreign_writes.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

std::uint64_t foreign_bucket_writes() { return foreign_writes.load(std::memory_order_relaxed); }

std::string Expression::name(std::string_view attribute) {
  auto found = std::find(names_.begin(), names_.end(), attribute);
  if (found == names_.end()) found = names_.insert(names_.end(), std::string(attribute));
  return join("#", std::to_string(found - names_.begin()));
}

std::string Expression::value(Value value) {
  values_.push_back(std::move(value));
  return join(":", std::to_string(values_.size() - 1));
}

void Expression::condition(std::string_view term) {
  if (!condition_.empty()) condition_ += " AND ";
  condition_ += term;
}

void Expression::set(std::string_view attribute, Value to) {
  const std::string left = name(attribute);
  append_clause(set_, join(left, "=", value(std::move(to))));
}

void Expression::set_member(std::string_view attribute, std::string_view member, Value to) {
  const std::string map = name(attribute);
  const std::string inside = name(member);
  append_clause(set_, join(map, ".", inside, "=", value(std::move(to))));
}

void Expression::add(std::string_view attribute, std::int64_t number) {
  const std::string left = name(attribute);
  append_clause(add_, join(left, " ", value(number)));
}

void Expression::remove(std::string_view attribute) { append_clause(remove_, name(attribute)); }

void Expression::append_to(std::string& json) const {
  if (!condition_.empty()) json += join(",\"ConditionExpression\":", json_string(condition_));
  std::string update;
  const auto section = [&](std::string_view verb, const std::string& clauses) {
    if (clauses.empty()) return;
    if (!update.empty()) update += ' ';
    update += join(verb, " ", clauses);
  };
  section("SET", set_);
  section("ADD", add_);
  section("REMOVE", remove_);
  if (!update.empty()) json += join(",\"UpdateExpression\":", json_string(update));
  if (!names_.empty()) {
    auto names = base::JsonWriter::object();
    for (std::size_t i = 0; i < names_.size(); ++i) names.text(join("#", std::to_string(i)), names_[i]);
    json += join(",\"ExpressionAttributeNames\":", names.str());
  }
  if (!values_.empty()) {
    json += ",\"ExpressionAttributeValues\":{";
    for (std::size_t i = 0; i < values_.size(); ++i) {
      json += join(i == 0 ? "" : ",", "\":", std::to_string(i), "\":");
      wire::aws::append_json(json, values_[i]);
    }
    json += '}';
  }
}

namespace {

/// A missing attribute, which other programs may leave out, counts as 0.
void equals(Expression& expression, std::string_view attribute, const Value& value, bool is_zero) {
  const std::string name = expression.name(attribute);
  const std::string same = join(name, "=", expression.value(value));
  expression.condition(is_zero ? join("(attribute_not_exists(", name, ") OR ", same, ")") : same);
}

void render_condition(Expression& expression, const LimitWrite& limit) {
  const std::string tokens = limit_attribute(limit.name, "tk");
  if (limit.absent) expression.condition(join("attribute_not_exists(", expression.name(tokens), ")"));
  if (limit.exists) expression.condition(join("attribute_exists(", expression.name(tokens), ")"));
  if (limit.is_rate) {
    const std::string refill = expression.name(limit_attribute(limit.name, "ra"));
    expression.condition(join(refill, ">", expression.value(0)));
  }
  if (limit.at_least) {
    const std::string name = expression.name(tokens);
    expression.condition(join(name, ">=", expression.value(*limit.at_least)));
  }
  if (limit.dormant) {
    // A missing list counts as empty.
    const std::string list = expression.name("dm");
    expression.condition(join(*limit.dormant ? "contains(" : "NOT contains(", list, ",",
                              expression.value(Value::of(limit.name)), ")"));
  }
  if (limit.at_most) {
    const std::string name = expression.name(tokens);
    expression.condition(join(name, "<=", expression.value(*limit.at_most)));
  }
  if (limit.holds) {
    const std::string name = expression.name(limit_attribute(limit.name, holds_field));
    expression.condition(
        limit.holds->empty()
            ? join("attribute_not_exists(", name, ")")
            : join(name, "=", expression.value(Value::of_bytes(bucket::encode(*limit.holds)))));
  }
  if (limit.grants) {
    const std::string name = expression.name(limit_attribute(limit.name, grants_field));
    expression.condition(
        limit.grants->empty()
            ? join("attribute_not_exists(", name, ")")
            : join(name, "=", expression.value(Value::of_bytes(bucket::encode(*limit.grants)))));
  }
}

void render_effect(Expression& expression, const LimitWrite& limit) {
  const bool is_concurrent = limit.parameters && limit.parameters->kind() == weir::Kind::concurrent;
  const auto attribute = [&](std::string_view field) { return limit_attribute(limit.name, field); };
  switch (limit.effect) {
    case Effect::none:
      return;
    case Effect::remove:
      for (const char* const field : {"tk", "cp", "bx", "ra", "rp", "tc"})
        expression.remove(attribute(field));
      if (limit.holds && !limit.holds->empty()) expression.remove(attribute(holds_field));
      if (limit.grants && !limit.grants->empty()) expression.remove(attribute(grants_field));
      return;
    case Effect::add:
      if (limit.tokens != 0) expression.add(attribute("tk"), limit.tokens);
      if (limit.consumed != 0) expression.add(attribute("tc"), limit.consumed);
      break;
    case Effect::set:
      expression.set(attribute("tk"), Value::of(limit.tokens));
      if (limit.consumed != 0) expression.add(attribute("tc"), limit.consumed);
      break;
    case Effect::insert:
      expression.set(attribute("tk"), Value::of(limit.tokens));
      if (!is_concurrent) expression.set(attribute("tc"), Value::of(limit.consumed));
      break;
  }
  if (limit.set_holds && !limit.set_holds->empty()) {
    expression.set(attribute(holds_field), Value::of_bytes(bucket::encode(*limit.set_holds)));
  } else if (limit.set_holds && limit.holds && !limit.holds->empty()) {
    expression.remove(attribute(holds_field));
  }
  if (limit.set_grants && !limit.set_grants->empty()) {
    expression.set(attribute(grants_field), Value::of_bytes(bucket::encode(*limit.set_grants)));
  } else if (limit.set_grants && limit.grants && !limit.grants->empty()) {
    expression.remove(attribute(grants_field));
  }
  if (!limit.parameters) return;
  expression.set(attribute("cp"), Value::of(limit.parameters->capacity));
  if (is_concurrent) {
    // Of a limit that was a rate. Removing a missing attribute costs nothing.
    for (const char* const field : {"bx", "ra", "rp"}) expression.remove(attribute(field));
    return;
  }
  // A limit that was concurrent may have no counter.
  if (limit.set_holds && limit.consumed == 0) expression.add(attribute("tc"), 0);
  expression.set(attribute("bx"), Value::of(limit.parameters->burst));
  expression.set(attribute("ra"), Value::of(limit.parameters->refill_amount));
  expression.set(attribute("rp"), Value::of(limit.parameters->refill_period));
}

void render_conditions(Expression& expression, const Write& write) {
  if (write.absent_at) {
    const std::string ttl = expression.name("ttl");
    expression.condition(join("(attribute_not_exists(", expression.name("PK"), ") OR ", ttl,
                              "<=", expression.value(*write.absent_at / 1000), ")"));
  }
  if (write.refilled_at) equals(expression, "rf", Value::of(*write.refilled_at), false);
  if (write.refilled_since) {
    const std::string name = expression.name("rf");
    expression.condition(join(name, ">=", expression.value(*write.refilled_since)));
  }
  if (write.version) equals(expression, "pv", Value::of(*write.version), *write.version == 0);
  if (write.version_since) {
    const std::string name = expression.name("pv");
    expression.condition(join(name, ">=", expression.value(*write.version_since)));
  }
  if (write.generation)
    equals(expression, "gen", Value::of_unsigned(*write.generation), *write.generation == 0);
  if (write.expires_since) {
    const std::string ttl = expression.name("ttl");
    expression.condition(join("(attribute_not_exists(", ttl, ") OR ", ttl,
                              ">=", expression.value(to_ttl(*write.expires_since)), ")"));
  }
  for (const LimitWrite& limit : write.limits) render_condition(expression, limit);
  // Require that the item exists, even if no other term does: an update must not create one.
  if (!write.absent_at) expression.condition(join("attribute_exists(", expression.name("PK"), ")"));
}

}  // namespace

ItemWrite copied_bucket(const BucketName& name, const bucket::State& state, bool counts_usage, Time now) {
  // Without the parent: the next charge checks it in the catalog, and adds it.
  const conditional::Record record{state, std::nullopt, counts_usage};
  std::vector<std::string> dormant;
  for (const bucket::LimitState& limit : state.limits) {
    if (limit.dormant) dormant.push_back(limit.name);
  }
  Item item = write_bucket(name, record, dormant, now);
  item.push_back({std::string(migration_mark), Value::of(now)});
  ItemWrite write{.key = name.key(), .item = std::move(item), .from_machine = FromMachine()};
  write.expression.condition(join("attribute_not_exists(", write.expression.name("PK"), ")"));
  return write;
}

ItemWrite render(const Write& write, const BucketName& name, Time now) {
  ItemWrite rendered{.key = name.key(), .from_machine = FromMachine()};
  if (write.path == Write::Path::forget) {
    rendered.kind = ItemWrite::Kind::erase;
    return rendered;
  }
  Expression& expression = rendered.expression;
  render_conditions(expression, write);
  if (write.item) {
    rendered.item = write_bucket(name, *write.item, *write.dormant, now);
    if (write.path == Write::Path::convert)
      rendered.item.push_back({std::string(migration_mark), Value::of(now)});
    return rendered;
  }
  rendered.kind = ItemWrite::Kind::update;
  if (write.set_refilled_at) expression.set("rf", Value::of(*write.set_refilled_at));
  if (write.set_version) expression.set("pv", Value::of(*write.set_version));
  if (write.set_expires_at == bucket::never) {
    expression.remove("ttl");
  } else if (write.set_expires_at) {
    expression.set("ttl", Value::of(to_ttl(*write.set_expires_at)));
  }
  if (write.set_parent) {
    expression.set("pa", Value::of(*write.set_parent));
    expression.set("fv", Value::of(item_format));
  }
  if (write.set_counts_usage == false) expression.set(no_usage_mark, Value::of_flag(true));
  if (write.set_counts_usage == true) expression.remove(no_usage_mark);
  if (write.path == Write::Path::absorb) expression.set(migration_mark, Value::of(now));
  expression.set("at", Value::of(now));
  if (write.dormant && !write.dormant->empty()) {
    std::vector<Value> names;
    for (const std::string& one : *write.dormant) names.push_back(Value::of(one));
    expression.set("dm", Value::of_list(std::move(names)));
  } else if (write.dormant) {
    // Whether or not the image had any: removing a missing attribute costs nothing.
    expression.remove("dm");
  }
  for (const LimitWrite& limit : write.limits) render_effect(expression, limit);
  return rendered;
}

ItemWrite render(const conditional::LinkCheck& check, const Key& meta) {
  ItemWrite rendered{.kind = ItemWrite::Kind::check, .key = meta};
  Expression& expression = rendered.expression;
  const std::string parent = expression.name("parent_id");
  const std::string cascade = expression.name("cascade");
  expression.condition(join("attribute_not_exists(", expression.name("moving"), ")"));
  if (check.parent.empty()) {
    expression.condition(join("(attribute_not_exists(", parent, ") OR attribute_not_exists(", cascade,
                              ") OR ", cascade, "=", expression.value(Value::of_flag(false)), ")"));
  } else {
    expression.condition(join(parent, "=", expression.value(Value::of(check.parent))));
    expression.condition(join(cascade, "=", expression.value(Value::of_flag(true))));
  }
  return rendered;
}

ItemWrite render(const conditional::MarkerWrite& write, const Key& key, Time now) {
  ItemWrite rendered = put(write_marker(key, write.next));
  Expression& expression = rendered.expression;
  const std::string until = expression.name("deadline");
  if (write.sequence) {
    const std::string name = expression.name("seq");
    expression.condition(join(name, "=", expression.value(*write.sequence)));
    expression.condition(join(until, "=", expression.value(write.deadline)));
    return rendered;
  }
  expression.condition(join("(attribute_not_exists(", expression.name("PK"), ") OR ", until,
                            "<=", expression.value(now), ")"));
  return rendered;
}

ItemWrite put(Item item) {
  ItemWrite rendered{.kind = ItemWrite::Kind::put, .key = key_of(item)};
  rendered.item = std::move(item);
  return rendered;
}

ItemWrite erase(Key key) { return {.kind = ItemWrite::Kind::erase, .key = std::move(key)}; }

namespace {

/// `"TableName":...` and all members of a write, without braces.
std::string body_of(const std::string& table, const ItemWrite& write) {
  check_origin(write);
  std::string json = join("\"TableName\":", json_string(table));
  if (write.kind == ItemWrite::Kind::put) {
    json += join(",\"Item\":", item_json(write.item));
  } else {
    json += join(",\"Key\":", item_json(write.key.item()));
  }
  write.expression.append_to(json);
  json += R"(,"ReturnValuesOnConditionCheckFailure":"ALL_OLD")";
  return json;
}

std::string_view name_of(ItemWrite::Kind kind) {
  switch (kind) {
    case ItemWrite::Kind::put:
      return "Put";
    case ItemWrite::Kind::update:
      return "Update";
    case ItemWrite::Kind::erase:
      return "Delete";
    default:
      return "ConditionCheck";
  }
}

}  // namespace

Request single_write(const std::string& table, const ItemWrite& write) {
  const bool shows_new = write.kind == ItemWrite::Kind::update;
  return {join(name_of(write.kind), "Item"),
          join("{", body_of(table, write), shows_new ? R"(,"ReturnValues":"ALL_NEW")" : "",
               R"(,"ReturnConsumedCapacity":"TOTAL"})")};
}

Request transaction(const std::string& table, std::span<const ItemWrite> writes, std::string_view token) {
  std::string json = R"({"TransactItems":[)";
  for (std::size_t i = 0; i < writes.size(); ++i)
    json += join(i == 0 ? "" : ",", "{\"", name_of(writes[i].kind), "\":{", body_of(table, writes[i]), "}}");
  json += ']';
  if (!token.empty()) json += join(",\"ClientRequestToken\":", json_string(token));
  json += R"(,"ReturnConsumedCapacity":"TOTAL"})";
  return {"TransactWriteItems", std::move(json)};
}

Request batch_get(const std::string& table, std::span<const Key> keys) {
  std::string json = join("{\"RequestItems\":{", json_string(table), ":{\"Keys\":[");
  for (std::size_t i = 0; i < keys.size(); ++i) json += join(i == 0 ? "" : ",", item_json(keys[i].item()));
  json += R"(],"ConsistentRead":true}},"ReturnConsumedCapacity":"TOTAL"})";
  return {"BatchGetItem", std::move(json)};
}

Request batch_write(const std::string& table, std::span<const ItemWrite> writes) {
  std::string json = join("{\"RequestItems\":{", json_string(table), ":[");
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const bool puts = writes[i].kind == ItemWrite::Kind::put;
    check_origin(writes[i]);
    json += join(i == 0 ? "" : ",", puts ? R"({"PutRequest":{"Item":)" : R"({"DeleteRequest":{"Key":)",
                 item_json(puts ? writes[i].item : writes[i].key.item()), "}}");
  }
  json += R"(]},"ReturnConsumedCapacity":"TOTAL"})";
  return {"BatchWriteItem", std::move(json)};
}

Request query(const std::string& table, const QueryOf& query) {
  Expression expression;
  std::string condition = join(expression.name("PK"), "=", expression.value(Value::of(query.pk)));
  std::string json = join("{\"TableName\":", json_string(table));
  // One term for the sort key. Names are printable ASCII, so the bounds are outside of them.
  if (!query.after.empty() || !query.begins_with.empty()) {
    const std::string sort = expression.name("SK");
    const std::string low = query.backward || query.after.empty() ? query.begins_with : query.after + '\x01';
    const std::string high = query.backward && !query.after.empty() ? query.after
                             : !query.until.empty()                 ? query.until
                                                                    : query.begins_with + "\x7f";
    const std::string from = expression.value(Value::of(low.empty() ? " " : low));
    condition += join(" AND ", sort, " BETWEEN ", from, " AND ", expression.value(Value::of(high)));
  }
  json += join(",\"KeyConditionExpression\":", json_string(condition));
  expression.append_to(json);
  if (query.limit > 0) json += join(",\"Limit\":", std::to_string(query.limit));
  json += join(",\"ScanIndexForward\":", query.backward ? "false" : "true",
               R"(,"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"})");
  return {"Query", std::move(json)};
}

Request query_index(const std::string& table, const QueryOfIndex& query) {
  Expression expression;
  const std::string pk = expression.name(query.pk_name);
  std::string condition = join(pk, "=", expression.value(Value::of(query.pk)), " AND ");
  condition += join(expression.name(query.sk_name), " BETWEEN ", expression.value(Value::of(query.from)));
  condition += join(" AND ", expression.value(Value::of(query.to)));
  std::string json = join("{\"TableName\":", json_string(table), ",\"IndexName\":", json_string(query.index),
                          ",\"KeyConditionExpression\":", json_string(condition));
  expression.append_to(json);
  if (query.limit > 0) json += join(",\"Limit\":", std::to_string(query.limit));
  if (!query.after.empty()) {
    json += ",\"ExclusiveStartKey\":";
    wire::aws::append_json(json, query.after);
  }
  return {"Query", json + R"(,"ReturnConsumedCapacity":"TOTAL"})"};
}

Request scan_index(const std::string& table, std::string_view index, const Item& after) {
  std::string json = join("{\"TableName\":", json_string(table), ",\"IndexName\":", json_string(index));
  if (!after.empty()) {
    json += ",\"ExclusiveStartKey\":";
    wire::aws::append_json(json, after);
  }
  return {"Scan", json + R"(,"ReturnConsumedCapacity":"TOTAL"})"};
}

}  // namespace weir::dynamodb
