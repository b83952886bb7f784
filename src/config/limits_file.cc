#include "config/limits_file.h"

#include "base/text.h"

namespace weir::config {

Result<Desired> read_limits_file(std::string_view /*text*/, const ReadOptions& options) {
  return base::invalid(options.file, ": limits files cannot be read yet");
}

}  // namespace weir::config
