// Reads files, and says why one cannot be read.
#pragma once

#include <cstddef>
#include <string>

#include "weir/result.h"

namespace weir::base {

/// "no such file", "permission denied", "it is a directory"; empty if the file can be read.
std::string why_unreadable(const std::string& path);

/// A whole file. The error begins with the path: `tokens cannot be read: no such file`. A file with more than
/// `most` bytes is an error too.
Result<std::string> read_file(const std::string& path, std::size_t most = std::size_t{1} << 30U);

}  // namespace weir::base
