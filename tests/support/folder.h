// A folder for the files of one test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

namespace weir::tests {

/// Goes with its owner, and everything in it.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
    std::string name = (in / "weir-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() {
    // What a program that was ended has started may be about to leave its last file.
    std::error_code failed;
    for (int attempts = 0; attempts < 1000; ++attempts) {
      std::filesystem::remove_all(path_, failed);
      if (!failed) return;
      std::this_thread::yield();
    }
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace weir::tests
