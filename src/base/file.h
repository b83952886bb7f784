// Reads files, and says why one cannot be read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::base {

/// "no such file", "permission denied", "it is a directory"; empty if the file can be read.
std::string why_unreadable(const std::string& path);

/// A whole file. The error begins with the path: `tokens cannot be read: no such file`. A file with more than
/// `most` bytes is an error too.
Result<std::string> read_file(const std::string& path, std::size_t most = std::size_t{1} << 30U);

/// Opens a file for writing at its end, or creates it with that mode. In a folder that others can write to it
/// opens no symbolic link: another user may have made the link, so that weir writes to another file. -1 and
/// errno if that fails; ELOOP if the path is such a link.
int open_to_append(const std::string& path, unsigned mode);
/// strerror(problem); for ELOOP, that the path is a symbolic link.
std::string why_not_appended(int problem);

/// Writes a file beside it, PATH.next, and renames that over it, so that no reader finds a part of the text.
/// Follows no link. The error begins with the path.
Result<void> replace_file(const std::string& path, std::string_view text, unsigned mode);

}  // namespace weir::base
