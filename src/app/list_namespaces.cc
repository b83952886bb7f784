#include "app/list_namespaces.h"

#include <filesystem>

#include "app/url.h"
#include "store/sqlite/database.h"

namespace weir::app {
namespace {

// Each step seeks the next namespace in the primary key, so the cost does not grow with the tables.
constexpr const char* select_namespaces = R"sql(
WITH RECURSIVE
  n(name) AS (
    SELECT ''
    UNION ALL
    SELECT (SELECT min(next) FROM (
        SELECT min(namespace) AS next FROM limits WHERE namespace > n.name
        UNION ALL SELECT min(namespace) FROM entities WHERE namespace > n.name
        UNION ALL SELECT min(namespace) FROM buckets WHERE namespace > n.name))
      FROM n WHERE n.name IS NOT NULL
  )
SELECT name FROM n WHERE name <> '' LIMIT 100
)sql";

}  // namespace

Result<std::vector<std::string>> list_namespaces(std::string_view url) {
  const auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  std::error_code none;
  std::vector<std::string> names;
  if (parsed->kind != StoreKind::sqlite || !std::filesystem::is_regular_file(parsed->path, none))
    return names;
  const auto database = sqlite::Database::open(parsed->path, sqlite::Access::read);
  if (!database) return database.error();
  sqlite::Statement statement(**database, select_namespaces);
  statement.begin();
  for (;;) {
    const auto row = statement.step();
    if (!row) return row.error();
    if (!*row) return names;
    names.emplace_back(statement.text(0));
  }
}

}  // namespace weir::app
