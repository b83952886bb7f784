#include "store/sqlite/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace weir::sqlite {
namespace {

constexpr mode_t owner_only = 0600;

}  // namespace

int open_private(const std::string& path, int flags) {
  constexpr int usual = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
  const int made = ::open(path.c_str(), usual | flags | O_CREAT | O_EXCL, owner_only);
  // The umask may have removed permissions of the owner.
  if (made >= 0) static_cast<void>(::fchmod(made, owner_only));
  if (made >= 0 || errno != EEXIST || (flags & O_EXCL) != 0) return made;
  return ::open(path.c_str(), usual | flags | O_CREAT, owner_only);
}

Result<void> check_no_link(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISLNK(found.st_mode)) return {};
  return base::error(ErrorCode::unavailable, path,
                     ": is a symbolic link; name the file itself, or remove the link");
}

unsigned mode_of(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 0777U : 0;
}

}  // namespace weir::sqlite
