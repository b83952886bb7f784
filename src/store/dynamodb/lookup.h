// Reads what a resolution needs: the limits and the parent of an entity, and its bucket along with them.
#pragma once

#include <string_view>

#include "store/catalog.h"
#include "store/dynamodb/context.h"

namespace weir::dynamodb {

/// Puts into the memory what it reads. Completes on the client's thread.
void look_up(Context& context, std::string_view name_space, std::string_view entity,
             std::string_view resource, store::Completion<store::Found> done);

}  // namespace weir::dynamodb
