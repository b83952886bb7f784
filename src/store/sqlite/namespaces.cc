#include "store/sqlite/namespaces.h"

namespace weir::sqlite {
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
SELECT name FROM n WHERE name <> '' LIMIT ?1
)sql";

}  // namespace

Result<std::vector<std::string>> namespaces_in(Database& database, std::size_t most) {
  std::vector<std::string> names;
  Statement statement(database, select_namespaces);
  statement.begin().bind(static_cast<std::int64_t>(most));
  for (;;) {
    const auto row = statement.step();
    if (!row) return row.error();
    if (!*row) return names;
    names.emplace_back(statement.text(0));
  }
}

}  // namespace weir::sqlite
