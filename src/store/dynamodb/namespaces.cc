// The namespaces that hold data. No index has them, so the keys of the whole table are read.
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "limits/names.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/dynamodb_store.h"

namespace weir::dynamodb {
namespace {

/// A page is 1 MB and costs 128 units of reading, so this is a gigabyte.
constexpr int most_key_pages = 1000;

Request scan_keys(const std::string& table, const Item& after) {
  std::string json =
      base::join("{\"TableName\":", base::json_string(table), R"(,"ProjectionExpression":"PK,SK")");
  if (!after.empty()) {
    json += ",\"ExclusiveStartKey\":";
    wire::aws::append_json(json, after);
  }
  return {"Scan", json + R"(,"ReturnConsumedCapacity":"TOTAL"})"};
}

/// The namespace of an item that is an entity's, a plan's or a resource's, or the limits of the system;
/// nothing: it is another one. The prefix of "default" is empty.
std::optional<std::string_view> namespace_of(const Key& key) {
  std::string_view pk = key.pk;
  std::string_view name = "default";
  const std::size_t slash = pk.find('/');
  if (slash < pk.find('#')) {
    name = pk.substr(0, slash);
    pk.remove_prefix(slash + 1);
  }
  const bool of_system = pk == "SYSTEM#" && key.sk == "#CONFIG";
  if (!of_system && !pk.starts_with("ENTITY#") && !pk.starts_with("RESOURCE#") && !pk.starts_with("PLAN#"))
    return std::nullopt;
  return name;
}

}  // namespace

Result<std::vector<std::string>> DynamoStore::namespaces() {
  BlockingCalls calls(context_);
  if (auto may = calls.check_may_wait(); !may) return may.error();
  std::set<std::string, std::less<>> found;
  Item after;
  for (int page = 0; page < most_key_pages; ++page) {
    auto asked = calls.ask(scan_keys(context_.table, after), true);
    if (!asked.ok()) return error_of_read(*asked.failure);
    for (const Item& item : asked.answer.items) {
      const Key key = key_of(item);
      const auto name = namespace_of(key);
      if (name && !found.contains(*name) && limits::check_namespace(*name)) found.emplace(*name);
    }
    after = asked.answer.last_key;
    if (after.empty()) return std::vector<std::string>(found.begin(), found.end());
  }
  return base::error(ErrorCode::unavailable,
                     "the table is too large to look for namespaces in it: more than ",
                     std::to_string(most_key_pages), " MB");
}

}  // namespace weir::dynamodb
