#include "store/dynamodb/check.h"

#include "base/json.h"
#include "base/text.h"
#include "store/dynamodb/description.h"
#include "store/dynamodb/migrate.h"
#include "store/dynamodb/request.h"
#include "store/dynamodb/schema.h"

namespace weir::dynamodb {
namespace {

using base::join;
using base::json_string;
using Kind = aws::DynamoFailure::Kind;
using store::Severity;

}  // namespace

store::Finding check_rights(aws::DynamoClient& client, const std::string& table) {
  // No item has this key: writes fail on their condition, and a delete without one finds nothing.
  const Key nobody{"LIST#CHECK", "nobody"};
  const auto write = [&](ItemWrite::Kind kind) {
    ItemWrite one{.kind = kind, .key = nobody, .item = nobody.item()};
    one.expression.condition(join("attribute_exists(", one.expression.name("PK"), ")"));
    if (kind == ItemWrite::Kind::update) one.expression.set("at", Value::of(std::int64_t{0}));
    return one;
  };
  const ItemWrite check = write(ItemWrite::Kind::check);
  const ItemWrite erased = erase(nobody);
  const std::pair<std::string_view, Request> requests[] = {
      {"BatchGetItem", batch_get(table, std::span(&nobody, 1))},
      {"Query", query(table, {.pk = nobody.pk, .limit = 1})},
      {"Scan", {"Scan", join("{\"TableName\":", json_string(table), ",\"Limit\":1}")}},
      {"PutItem", single_write(table, write(ItemWrite::Kind::put))},
      {"UpdateItem", single_write(table, write(ItemWrite::Kind::update))},
      {"DeleteItem", single_write(table, write(ItemWrite::Kind::erase))},
      {"ConditionCheckItem", transaction(table, std::span(&check, 1), {})},
      {"BatchWriteItem", batch_write(table, std::span(&erased, 1))}};
  std::string missing;
  for (const auto& [right, request] : requests) {
    const auto asked = client.ask(request.operation, request.json, true);
    if (asked.ok() || asked.failure->kind == Kind::condition) continue;
    if (asked.failure->kind != Kind::denied)
      return {Severity::failure, "rights", join(right, ": ", aws::error_of(*asked.failure).message)};
    missing += join(missing.empty() ? "" : ", ", "dynamodb:", right);
  }
  if (missing.empty()) return {Severity::ok, "rights", "all that decisions and changes take"};
  return {Severity::failure, "rights",
          join(missing, " not allowed; `weir store init --template iam` prints what is needed")};
}

std::vector<store::Finding> check_table(aws::DynamoClient& client, const std::string& table_name,
                                        Time clock_bound) {
  std::vector<store::Finding> findings;
  const auto find = [&](Severity severity, std::string what, std::string detail) {
    findings.push_back({severity, std::move(what), std::move(detail)});
  };
  const auto described = client.ask("DescribeTable", named(table_name), true);
  if (!described.ok()) {
    find(Severity::failure, "table", aws::error_of(*described.failure).message);
    return findings;
  }
  const TableDescription table = read_table(described.body);
  find(table.status == "ACTIVE" ? Severity::ok : Severity::failure, "table",
       join(table_name, " is ", table.status));
  if (!table.key_is_ours)
    find(Severity::failure, "keys",
         "the keys are not PK and SK: this is not a table of weir; use another name");
  for (const Index& index : indexes) {
    const auto found = table.indexes.find(std::string(index.name));
    if (found == table.indexes.end()) {
      find(Severity::warning, join("index ", index.name), "is missing; `weir store init` adds it");
    } else if (!index.all && found->second.second == "ALL") {
      find(Severity::warning, join("index ", index.name),
           "projects all attributes, which doubles the cost of every charge; KEYS_ONLY is enough");
    } else {
      find(Severity::ok, join("index ", index.name), found->second.second);
    }
  }
  if (table.billing == "PAY_PER_REQUEST") {
    find(Severity::ok, "billing", "by request");
  } else {
    find(Severity::warning, "billing", "provisioned capacity: decisions fail while it is used up");
  }
  find(table.stream == "NEW_AND_OLD_IMAGES" ? Severity::ok : Severity::warning, "stream",
       table.stream.empty() ? "is off: usage cannot be collected; `weir store init` switches it on"
                            : table.stream);
  const auto ttl_asked = client.ask("DescribeTimeToLive", named(table_name), true);
  if (!ttl_asked.ok()) {
    find(Severity::warning, "expiry", aws::error_of(*ttl_asked.failure).message);
  } else {
    const TimeToLive ttl = read_ttl(ttl_asked.body);
    const bool on = (ttl.status == "ENABLED" || ttl.status == "ENABLING") && ttl.attribute == "ttl";
    find(on ? Severity::ok : Severity::warning, "expiry",
         on ? "by ttl" : "is off: unused buckets stay and cost storage; `weir store init` switches it on");
  }
  findings.push_back(check_rights(client, table_name));
  const Key key = version_key();
  const auto version = client.ask("BatchGetItem", batch_get(table_name, std::span(&key, 1)).json, true);
  if (!version.ok()) {
    find(Severity::failure, "version", aws::error_of(*version.failure).message);
  } else if (version.answer.items.empty()) {
    find(Severity::warning, "version",
         "there is no version record yet; the first program that opens it writes one");
  } else {
    const auto number = wire::aws::integer_of(version.answer.items[0], "schema_version").value_or(0);
    find(number == schema_version ? Severity::ok : Severity::failure, "version",
         join("schema ", std::to_string(number),
              number == schema_version ? "" : ", which this weir does not know"));
    const std::string_view state = wire::aws::text_of(version.answer.items[0], "migration");
    if (state == migration::pending || state == migration::running) {
      find(Severity::warning, "migration",
           join("is ", state,
                ": buckets that are not found are looked for as legacy items, which costs a read; ",
                "see `weir store migrate`"));
    } else {
      find(Severity::ok, "migration", std::string(state));
    }
  }
  check_records(client, table_name, findings);
  const Time skew = client.skew();
  const Time differ = skew < 0 ? -skew : skew;
  find(differ <= clock_bound ? Severity::ok : Severity::failure, "clock",
       differ == 0 ? "agrees with DynamoDB's"
                   : join("differs from DynamoDB's by at least ", std::to_string(differ), " ms",
                          differ > clock_bound ? "; set it right" : ""));
  find(Severity::warning, "guarantee",
       join("clocks of all programs on the table must agree to ", std::to_string(clock_bound),
            " ms; by what they differ, and a write takes, a burst can grow"));
  return findings;
}

}  // namespace weir::dynamodb
