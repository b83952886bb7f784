// One line for each request, in a file or on stdout.
//
//   2026-11-16T04:05:06.789Z info request remote=127.0.0.1:51324 method=POST path=/v1/acquire status=200 ...
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/lock.h"
#include "telemetry/log.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::telemetry {

/// The entry of a request. No secrets: the path without its query.
struct Access {
  Time at = 0;
  std::string_view remote = {};
  std::string_view method = {};
  std::string_view path = {};
  int status = 0;
  std::size_t bytes = 0;  ///< of the answer's body
  std::chrono::nanoseconds took{0};
  std::string_view request_id = {};
  std::string_view principal = {};  ///< empty: left out; so are the next two
  std::string_view name_space = {};
  std::string_view trace_id = {};
  std::string_view client = {};  ///< the client beyond the proxies; left out if empty, as are the next two
  std::string_view route = {};
  std::string_view upstream = {};
};

struct AccessLogOptions {
  LogFormat format = LogFormat::text;
  std::chrono::milliseconds flush_every{1000};
  std::size_t flush_at = std::size_t{64} * 1024;  ///< bytes that cause an earlier write
  std::size_t most =
      std::size_t{8} * 1024 * 1024;  ///< bytes that wait while the disk hangs; further lines are lost
};

/// Safe to use from any thread. Lines are written by a thread of its own, so that no request waits for a
/// disk.
class AccessLog {
 public:
  /// Appends to the file; "-" is stdout.
  static Result<std::unique_ptr<AccessLog>> open(const std::string& path, const AccessLogOptions& options);
  /// Writes the remaining lines.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void add(const Access& access);
  /// Continues in a new file of that name, after log rotation has moved the old one. On failure the old one
  /// stays in use.
  Result<void> reopen();
  /// Lines that could not be written.
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  AccessLog(std::string path, int file, const AccessLogOptions& options);
  void run();
  void write(const std::string& lines);

  const std::string path_;
  const AccessLogOptions options_;
  std::atomic<std::uint64_t> lost_{0};
  base::Mutex mutex_;
  base::Condition wake_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  bool waked_ WEIR_GUARDED_BY(mutex_) = false;
  std::string waiting_ WEIR_GUARDED_BY(mutex_);
  base::Mutex file_mutex_;  ///< held while writing; never together with the other mutex
  int file_ WEIR_GUARDED_BY(file_mutex_);
  std::thread thread_;
};

}  // namespace weir::telemetry
