// Where regions leave their snapshots for each other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aws/environment.h"
#include "weir/result.h"

namespace weir::sync {

/// One object `{region}/snapshot.json` for each region. Calls block. Not safe for concurrent use.
class Exchange {
 public:
  virtual ~Exchange() = default;

  struct Object {
    std::string bytes;
    std::string tag;  ///< changes with the content
  };
  /// The snapshot of a region; nothing: there is none. Larger than largest_snapshot: an error.
  virtual Result<std::optional<Object>> read(std::string_view region) = 0;
  /// Replaces the snapshot of a region as one step, if its tag is still `expected` (empty: there is none).
  /// Otherwise the error is conflict: another process publishes for the same region. Returns the new tag.
  virtual Result<std::string> publish(std::string_view region, const std::string& bytes,
                                      std::string_view expected) = 0;
};

/// By its name: a folder, or s3://BUCKET/PREFIX.
Result<std::unique_ptr<Exchange>> open_exchange(const std::string& name);
/// A folder that all regions see. The error names what to do if it is not there.
Result<std::unique_ptr<Exchange>> open_folder(const std::string& path);

/// A bucket of S3, or of a server with the same API (s3_url.h). Region, endpoint and credentials that the URL
/// does not have are those of the environment. Nothing is sent yet.
Result<std::unique_ptr<Exchange>> open_s3(std::string_view url,
                                          const aws::Environment& machine = aws::Environment::of_process());

}  // namespace weir::sync
