#include "cli/decision_file.h"

#include <filesystem>

#include "base/text.h"
#include "decision_log/settings.h"

namespace weir::cli {

Result<DecisionFile> DecisionFile::open(const std::string& path) {
  auto blocks = decision_log::FileBlocks::open_to_read(path);
  if (!blocks) return blocks.error();
  return DecisionFile(path, *std::move(blocks));
}

Result<DecisionFile> DecisionFile::of_store(const std::string& store_url) {
  const std::string path = decision_log::path_beside(store_url);
  std::error_code failure;
  if (!path.empty() && std::filesystem::exists(path, failure)) return open(path);
  const std::string missing = path.empty() ? std::string() : base::join(": there is no ", path);
  return base::error(ErrorCode::not_found, "decisions are not in a store but with the process that made them",
                     missing,
                     "; say --server URL, the service or the admin_listen of a gateway, or --log FILE");
}

}  // namespace weir::cli
