// One process owns a file. The lock lies beside it, in PATH-lock, and says who holds it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "weir/result.h"

namespace weir::sqlite {

/// Held while it lives. A process that dies lets go of it by itself.
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  /// Waits up to `patience` for whoever holds it.
  static Result<FileLock> acquire(const std::string& path, std::chrono::milliseconds patience);
  /// What others are told of the holder: how to reach it.
  void announce(const std::string& how);

 private:
  FileLock(int file, std::string path) : file_(file), path_(std::move(path)) {}

  int file_ = -1;
  std::string path_;
};

/// Who holds the file, in words; nothing if nobody does.
std::optional<std::string> holder_of(const std::string& path);

}  // namespace weir::sqlite
