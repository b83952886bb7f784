#include "sync/exchange_errors.h"

#include "base/text.h"

namespace weir::sync {

Error in_use(std::string_view region) {
  return base::error(ErrorCode::conflict, "another process publishes for region ", base::quoted(region),
                     "; run one sync for each region, and give each region its own name");
}

Error too_large(std::string_view object) {
  return base::error(ErrorCode::unavailable, base::quoted(object), " is larger than a snapshot can be");
}

}  // namespace weir::sync
