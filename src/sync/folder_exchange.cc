// A folder that all regions see: one folder for each region, and in it the snapshot, which is replaced by a
// rename.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "sync/exchange.h"
#include "sync/exchange_errors.h"
#include "sync/snapshot.h"

namespace weir::sync {
namespace {

namespace fs = std::filesystem;

Error failed(std::string_view what, const fs::path& path, int error = errno) {
  return base::error(ErrorCode::unavailable, "cannot ", what, " ", base::quoted(path.string()), ": ",
                     std::strerror(error));
}

/// An open file; closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }

 private:
  const int file_;
};

std::string tag_of(std::string_view bytes) {
  return base::join(std::to_string(bytes.size()), "-", std::to_string(std::hash<std::string_view>()(bytes)));
}

Result<void> write_whole(const fs::path& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (file.get() < 0) return failed("write", path);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  // Otherwise the new name could outlive a crash, and the content not.
  if (::fsync(file.get()) != 0) return failed("write", path);
  return {};
}

class FolderExchange final : public Exchange {
 public:
  explicit FolderExchange(fs::path folder) : folder_(std::move(folder)) {}

  Result<std::optional<Object>> read(std::string_view region) override {
    const fs::path path = folder_ / region / "snapshot.json";
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error == std::errc::no_such_file_or_directory) return std::optional<Object>();
    if (error) return failed("read", path, error.value());
    if (size > largest_snapshot) return too_large(path.string());
    auto bytes = base::read_file(path.string(), largest_snapshot);
    if (!bytes) return bytes.error();
    std::string tag = tag_of(*bytes);
    return std::optional(Object{*std::move(bytes), std::move(tag)});
  }

  Result<std::string> publish(std::string_view region, const std::string& bytes,
                              std::string_view expected) override {
    const fs::path folder = folder_ / region;
    std::error_code error;
    fs::create_directory(folder, error);
    if (error) return failed("create", folder, error.value());
    // Held until the rename, so that two processes cannot both find the tag that they expect.
    const Descriptor lock(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
    if (lock.get() < 0) return failed("open", folder / "lock");
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return in_use(region);
    auto present = read(region);
    if (!present) return present.error();
    if ((*present ? (*present)->tag : std::string()) != expected) return in_use(region);
    const fs::path next = folder / "snapshot.json.next";
    if (auto written = write_whole(next, bytes); !written) return written.error();
    fs::rename(next, folder / "snapshot.json", error);
    if (error) return failed("replace", folder / "snapshot.json", error.value());
    return tag_of(bytes);
  }

 private:
  const fs::path folder_;
};

}  // namespace

Result<std::unique_ptr<Exchange>> open_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return base::error(ErrorCode::invalid_argument, "exchange ", base::quoted(path),
                       " is no folder; create it, and make it the same folder in every region");
  }
  return std::unique_ptr<Exchange>(std::make_unique<FolderExchange>(path));
}

}  // namespace weir::sync
