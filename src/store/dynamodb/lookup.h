// Reads the input of a resolution: the limits and the parent of an entity, and with the same request its
// bucket.
#pragma once

#include <string_view>

#include "store/catalog.h"
#include "store/dynamodb/context.h"

namespace weir::dynamodb {

/// Stores what it reads in the cache (memory.h). Completes on the client's thread.
void look_up(Context& context, std::string_view name_space, std::string_view entity,
             std::string_view resource, store::Completion<store::Found> done);

}  // namespace weir::dynamodb
