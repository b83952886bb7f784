// Reads the catalog of a remote store for a copy.
#pragma once

#include <string>

#include "store/copy.h"
#include "store/remote/catalog.h"

namespace weir::remote {

/// Adds the limits, plans and entities of a namespace. Blocks. Fails on a record that cannot be used.
Result<void> copy_catalog(Catalog& catalog, const std::string& name_space, store::CopyPages& pages);
/// Adds its audit.
Result<void> copy_audit(Catalog& catalog, const std::string& name_space, store::CopyPages& pages);

}  // namespace weir::remote
