// Reads the records of a table, for `weir store check`.
#include "base/json.h"
#include "base/text.h"
#include "store/bad_records.h"
#include "store/dynamodb/check.h"
#include "store/dynamodb/items.h"
#include "store/dynamodb/legacy.h"
#include "store/dynamodb/usage_items.h"

namespace weir::dynamodb {
namespace {

using base::join;
using store::Severity;

/// A page is 1 MB and costs 128 units of reading.
constexpr int most_pages = 100;

std::string scan(const std::string& table, const Item& after) {
  std::string json = join("{\"TableName\":", base::json_string(table));
  if (!after.empty()) {
    json += ",\"ExclusiveStartKey\":";
    wire::aws::append_json(json, after);
  }
  return json + "}";
}

/// The defect of an item; empty: none, or it is not one of those that are read here.
std::string wrong_in(const Item& item) {
  const Key key = key_of(item);
  const auto problem = [](const auto& read) { return read ? std::string() : read.error().message; };
  if (usage_name(key)) return problem(read_usage(item));
  if (legacy_name(key)) return problem(read_legacy(item));
  if (is_bucket(key)) return problem(read_bucket(item));
  if (key.sk == plan_sort_key) return problem(read_plan(item));
  if (key.sk.starts_with("#CONFIG")) {
    const auto read = read_limits(item);
    return read ? std::string() : bad_limits(item, read.error())->bad;
  }
  if (key.sk == "#META") return has_entity(item) ? problem(read_entity(item)) : std::string();
  if (key.sk.starts_with("#LEASE#")) return problem(read_marker(item));
  return key.sk.starts_with(audit_prefix) ? problem(read_event(item)) : std::string();
}

}  // namespace

void check_records(aws::DynamoClient& client, const std::string& table,
                   std::vector<store::Finding>& findings) {
  store::BadRecords bad;
  Item after;
  for (int page = 0; page < most_pages; ++page) {
    const auto asked = client.ask("Scan", scan(table, after), true);
    if (!asked.ok()) {
      findings.push_back(
          {Severity::warning, "records", join("could not be read: ", aws::error_of(*asked.failure).message)});
      break;
    }
    if (auto other = sharded_layout(table, asked.answer.items))
      return findings.push_back({Severity::failure, "layout", std::move(other->message)});
    for (const Item& item : asked.answer.items) {
      if (const std::string wrong = wrong_in(item); !wrong.empty()) bad.report(wrong);
    }
    after = asked.answer.last_key;
    if (after.empty()) break;
  }
  if (!after.empty())
    findings.push_back(
        {Severity::ok, "records",
         join("only the first ", std::to_string(most_pages), " MB were read, since reading costs")});
  bad.add_to(findings);
}

}  // namespace weir::dynamodb
