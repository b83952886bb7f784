#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace weir::base {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path, int how = O_RDONLY, unsigned mode = 0)
      : file_(::open(path.c_str(), how | O_CLOEXEC, mode)) {}
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

std::string reason_of(int problem) {
  switch (problem) {
    case ENOENT:
      return "no such file";
    case EACCES:
      return "permission denied";
    case EISDIR:
      return "it is a directory";
    default:
      return std::strerror(problem);
  }
}

/// Whether only this user and root choose what is in the folder of the file. A folder's group is trusted,
/// since its owner has chosen it.
bool is_in_own_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat found{};
  if (::stat(folder.c_str(), &found) != 0) return false;
  return (found.st_uid == 0 || found.st_uid == ::geteuid()) && (found.st_mode & S_IWOTH) == 0;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string why_unreadable(const std::string& path) {
  const OpenFile file(path);
  if (file.get() < 0) return reason_of(errno);
  struct stat status{};
  return ::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode) ? reason_of(EISDIR) : std::string();
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const auto unreadable = [&](const std::string& reason) {
    return invalid(path, " cannot be read: ", reason);
  };
  const OpenFile file(path);
  if (file.get() < 0) return unreadable(reason_of(errno));
  std::string text;
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unreadable(reason_of(errno));
    if (size == 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(size));
    if (text.size() > most) return unreadable(join("it has more than ", std::to_string(most), " bytes"));
  }
}

int open_to_append(const std::string& path, unsigned mode) {
  constexpr int usual = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
  const int file = ::open(path.c_str(), usual | O_NOFOLLOW, mode);
  if (file >= 0 || errno != ELOOP || !is_in_own_folder(path)) return file;
  // Such as /dev/stdout, and the links of container images that lead there.
  return ::open(path.c_str(), usual, mode);
}

Result<void> replace_file(const std::string& path, std::string_view text, unsigned mode) {
  const std::string next = path + ".next";
  const auto failed = [&] { return invalid(path, " cannot be written: ", reason_of(errno)); };
  // The file is always a new one: another user may have put a file or a link in its place.
  if (::unlink(next.c_str()) != 0 && errno != ENOENT) return failed();
  const OpenFile file(next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  if (file.get() < 0 || !write_all(file.get(), text)) return failed();
  if (::rename(next.c_str(), path.c_str()) != 0) return failed();
  return {};
}

std::string why_not_appended(int problem) {
  if (problem != ELOOP) return std::strerror(problem);
  return "it is a symbolic link in a folder that others can write to; name the file itself";
}

}  // namespace weir::base
