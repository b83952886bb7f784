// The namespaces that hold data, and the deletion of one. No index has them, so the keys of the whole table
// are read.
#include <functional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "limits/names.h"
#include "store/conditional/upkeep.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/dynamodb_store.h"

namespace weir::dynamodb {
namespace {

/// A page is 1 MB and costs 128 units of reading, so this is a gigabyte.
constexpr int most_key_pages = 1000;
constexpr std::size_t deletes_at_once = 100;

Request scan_keys(const std::string& table, const Item& after) {
  std::string json =
      base::join("{\"TableName\":", base::json_string(table), R"(,"ProjectionExpression":"PK,SK")");
  if (!after.empty()) {
    json += ",\"ExclusiveStartKey\":";
    wire::aws::append_json(json, after);
  }
  return {"Scan", json + R"(,"ReturnConsumedCapacity":"TOTAL"})"};
}

/// A key without the prefix of its namespace, which "default" does not have.
struct ScannedKey {
  std::string_view name_space = "default";
  std::string_view pk;
  std::string_view sk;
};

ScannedKey split(const Key& key) {
  ScannedKey split{.pk = key.pk, .sk = key.sk};
  const std::size_t slash = split.pk.find('/');
  if (slash < split.pk.find('#')) {
    split.name_space = split.pk.substr(0, slash);
    split.pk.remove_prefix(slash + 1);
  }
  return split;
}

bool is_of_system(const ScannedKey& key) { return key.pk == "SYSTEM#" && key.sk == "#CONFIG"; }

/// Whether an item is an entity's, a plan's or a resource's, or the limits of the system.
bool holds_data(const ScannedKey& key) {
  return is_of_system(key) || key.pk.starts_with("ENTITY#") || key.pk.starts_with("RESOURCE#") ||
         key.pk.starts_with("PLAN#");
}

/// Whether an item goes with its namespace. The head of the catalog stays, so that caches see later changes,
/// and so do the items of the table as a whole.
bool goes_with_namespace(const ScannedKey& key) {
  return holds_data(key) || key.pk.starts_with("AUDIT#") || key.pk.starts_with("LIST#");
}

ItemWrite deletion(const Key& key, const ScannedKey& split, Time now) {
  if (!is_bucket(key)) return erase(key);
  const auto entity = split.pk.substr(std::string_view("ENTITY#").size());
  const auto resource = split.sk.substr(bucket_prefix.size());
  return render(conditional::forget(0),
                {std::string(split.name_space), std::string(entity), std::string(resource)}, now);
}

/// Visits the key of every item of the table.
Result<void> for_each_key(Context& context, const std::function<Result<void>(const Key& key)>& visit) {
  BlockingCalls calls(context);
  if (auto may = calls.check_may_wait(); !may) return may.error();
  Item after;
  for (int page = 0; page < most_key_pages; ++page) {
    auto asked = calls.ask(scan_keys(context.table, after), true);
    if (!asked.ok()) return error_of_read(*asked.failure);
    for (const Item& item : asked.answer.items) {
      if (auto visited = visit(key_of(item)); !visited) return visited;
    }
    after = asked.answer.last_key;
    if (after.empty()) return {};
  }
  return base::error(ErrorCode::unavailable,
                     "the table is too large to look for namespaces in it: more than ",
                     std::to_string(most_key_pages), " MB");
}

/// Processes read the catalog again when its generation grows.
Result<void> raise_generation(Context& context, std::string_view name_space) {
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = head_key(name_space)};
  Expression& expression = write.expression;
  expression.condition(base::join("attribute_exists(", expression.name("generation"), ")"));
  expression.add("generation", 1);
  const auto raised = BlockingCalls(context).ask(single_write(context.table, write), true);
  if (raised.ok() || raised.failure->kind == aws::DynamoFailure::Kind::condition) return {};
  return aws::error_of(*raised.failure);
}

}  // namespace

Result<std::vector<std::string>> DynamoStore::namespaces() {
  std::set<std::string, std::less<>> found;
  auto scanned = for_each_key(context_, [&](const Key& key) -> Result<void> {
    const ScannedKey parts = split(key);
    if (holds_data(parts) && !found.contains(parts.name_space) && limits::check_namespace(parts.name_space))
      found.emplace(parts.name_space);
    return {};
  });
  if (!scanned) return scanned.error();
  return std::vector<std::string>(found.begin(), found.end());
}

Result<void> DynamoStore::erase_namespace(std::string_view name_space) {
  BlockingCalls calls(context_);
  std::vector<ItemWrite> deletes;
  auto scanned = for_each_key(context_, [&](const Key& key) -> Result<void> {
    const ScannedKey parts = split(key);
    // The limits of the system say that the namespace was purged: they go last.
    if (parts.name_space != name_space || !goes_with_namespace(parts) || is_of_system(parts)) return {};
    deletes.push_back(deletion(key, parts, context_.now()));
    if (deletes.size() < deletes_at_once) return {};
    const std::vector<ItemWrite> some = std::exchange(deletes, {});
    return calls.write_all(some);
  });
  if (!scanned) return scanned;
  deletes.push_back(erase(level_key(name_space, Level::system())));
  if (auto written = calls.write_all(deletes); !written) return written;
  if (auto raised = raise_generation(context_, name_space); !raised) return raised;
  context_.memory.distrust_all(name_space);
  return {};
}

}  // namespace weir::dynamodb
