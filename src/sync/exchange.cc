#include "sync/exchange.h"

namespace weir::sync {

Result<std::unique_ptr<Exchange>> open_exchange(const std::string& name) {
  return name.starts_with("s3:") ? open_s3(name) : open_folder(name);
}

}  // namespace weir::sync
