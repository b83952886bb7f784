// One process owns a file. The lock is PATH-lock beside it, which also describes the holder.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "weir/result.h"

namespace weir::sqlite {

/// Held during the life of the object. The kernel releases the lock of a process that dies.
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  /// Waits up to `patience` for the holder to release it.
  static Result<FileLock> acquire(const std::string& path, std::chrono::milliseconds patience);
  /// Stores how to reach the holder, for the error messages of other processes.
  void announce(const std::string& how);

 private:
  FileLock(int file, std::string path) : file_(file), path_(std::move(path)) {}

  int file_ = -1;
  std::string path_;
};

/// A description of the process that holds the file; nothing if none does.
std::optional<std::string> holder_of(const std::string& path);

}  // namespace weir::sqlite
