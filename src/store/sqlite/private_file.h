// Files that only their owner may read: a database file has the key that signs leases.
#pragma once

#include <string>

#include "weir/result.h"

namespace weir::sqlite {

/// Opens a file for reading and writing, or creates it for its owner alone, whatever the umask is. `flags`
/// are further ones of open(2). -1 and errno if that fails: ELOOP, or EEXIST with O_EXCL, if it is a symbolic
/// link.
int open_private(const std::string& path, int flags);

/// Fails if the path names a symbolic link: another user may have put it there to have another file read or
/// overwritten.
Result<void> check_no_link(const std::string& path);

/// The permissions of a file, as for chmod; 0 for a missing file.
unsigned mode_of(const std::string& path);

}  // namespace weir::sqlite
