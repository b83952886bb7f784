#include "app/list_namespaces.h"

#include <filesystem>

#include "app/url.h"
#include "store/sqlite/database.h"
#include "store/sqlite/namespaces.h"

namespace weir::app {
Result<std::vector<std::string>> list_namespaces(std::string_view url) {
  const auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  std::error_code none;
  if (parsed->kind != StoreKind::sqlite || !std::filesystem::is_regular_file(parsed->path, none))
    return std::vector<std::string>();
  const auto database = sqlite::Database::open(parsed->path, sqlite::Access::read);
  if (!database) return database.error();
  // Enough for a note to the user.
  return sqlite::namespaces_in(**database, 100);
}

}  // namespace weir::app
