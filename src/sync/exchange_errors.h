// The errors that every exchange has.
#pragma once

#include <string_view>

#include "weir/result.h"

namespace weir::sync {

/// Another process has published for the same region.
Error in_use(std::string_view region);
/// `object`: a path or a URL.
Error too_large(std::string_view object);

}  // namespace weir::sync
