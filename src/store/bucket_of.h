// A stored bucket in the public form.
#pragma once

#include <string_view>

#include "bucket/state.h"
#include "weir/catalog.h"

namespace weir::store {

/// The limits are in the order of their names.
Bucket bucket_of(std::string_view entity, std::string_view resource, const bucket::State& state);

}  // namespace weir::store
