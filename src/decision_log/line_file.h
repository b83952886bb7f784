// A file that lines are appended to, or stdout.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/lock.h"
#include "weir/result.h"

namespace weir::decision_log {

/// Safe to use from any thread.
class LineFile {
 public:
  /// Creates a missing file for its owner alone; "-" is stdout.
  static Result<std::unique_ptr<LineFile>> open(const std::string& path);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  struct Written {
    std::size_t bytes = 0;  ///< fewer than there are: see below
    bool failed = false;    ///< false: the reader of a pipe is slow, and the rest can be written later
  };
  /// Waits for a slow reader for at most this long in all.
  Written write(std::string_view lines, std::chrono::milliseconds patience);
  /// Continues in a new file of that name, after log rotation has moved the old one.
  Result<void> reopen();

 private:
  LineFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  base::Mutex mutex_;
  int file_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::decision_log
