// The namespaces of a file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/sqlite/database.h"

namespace weir::sqlite {

/// The first namespaces, by name, that have limits, plans, entities or buckets; at most `most`.
Result<std::vector<std::string>> namespaces_in(Database& database, std::size_t most);

}  // namespace weir::sqlite
