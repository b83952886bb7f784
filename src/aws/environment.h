// The configuration that all tools of AWS share: environment variables and two files.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::aws {

/// Injected, so that tests can replace it.
struct Environment {
  /// A variable of the environment; an empty one counts as missing.
  std::function<std::optional<std::string>(const std::string& name)> variable;
  /// A whole file; nothing if it cannot be read. Never more than a megabyte.
  std::function<std::optional<std::string>(const std::string& path)> file;

  /// The variables and files of this process.
  static Environment of_process();
};

/// One section of the files, by key.
using Profile = std::map<std::string, std::string, std::less<>>;

/// The profile that AWS_PROFILE names, or "default", from ~/.aws/config and ~/.aws/credentials (or the files
/// named by AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE); where both have a key, the latter wins. Fails
/// if AWS_PROFILE names a profile that is in neither.
Result<Profile> read_profile(const Environment& environment);

/// The sections of such a file: in `[profile NAME]`, or `[NAME]` for credentials and for default. Lines that
/// are nested under a key are skipped.
std::map<std::string, Profile, std::less<>> parse_profiles(std::string_view text, bool of_config);

/// The region: AWS_REGION, AWS_DEFAULT_REGION, or the profile's; nothing if none is set.
std::optional<std::string> region_of(const Environment& environment);

/// The endpoint of a service, if AWS_ENDPOINT_URL_DYNAMODB or AWS_ENDPOINT_URL overrides that of AWS.
std::optional<std::string> endpoint_of(const Environment& environment, std::string_view service_in_capitals);

}  // namespace weir::aws
