#include "telemetry/access_log.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace weir::telemetry {
namespace {

Result<int> open_file(const std::string& path) {
  if (path == "-") return STDOUT_FILENO;
  const int file = base::open_to_append(path, 0640);
  if (file < 0) {
    return base::invalid("--access-log: ", path, " cannot be written: ", base::why_not_appended(errno),
                         "; check that its folder exists and is yours to write to");
  }
  return file;
}

std::string milliseconds(std::chrono::nanoseconds took) {
  std::array<char, 32> text{};
  const double value = static_cast<double>(took.count()) / 1e6;
  const int size = std::snprintf(text.data(), text.size(), "%.3f", value);
  return {text.data(), static_cast<std::size_t>(size)};
}

void append_access(std::string& out, LogFormat format, const Access& access) {
  const std::string status = std::to_string(access.status);
  const std::string bytes = std::to_string(access.bytes);
  const std::string took = milliseconds(access.took);
  std::array<LogField, 13> fields = {{{"remote", access.remote},
                                      {"method", access.method},
                                      {"path", access.path},
                                      {"status", status, true},
                                      {"bytes", bytes, true},
                                      {"duration_ms", took, true},
                                      {"request_id", access.request_id}}};
  std::size_t count = 7;
  if (!access.principal.empty()) fields[count++] = {"principal", access.principal};
  if (!access.name_space.empty()) fields[count++] = {"namespace", access.name_space};
  if (!access.trace_id.empty()) fields[count++] = {"trace_id", access.trace_id};
  if (!access.client.empty()) fields[count++] = {"client", access.client};
  if (!access.route.empty()) fields[count++] = {"route", access.route};
  if (!access.upstream.empty()) fields[count++] = {"upstream", access.upstream};
  append_line(out, format, access.at, name_of(LogLevel::info), "request", {fields.data(), count});
}

}  // namespace

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& path, const AccessLogOptions& options) {
  auto file = open_file(path);
  if (!file) return file.error();
  return std::unique_ptr<AccessLog>(new AccessLog(path, *file, options));
}

AccessLog::AccessLog(std::string path, int file, const AccessLogOptions& options)
    : path_(std::move(path)), options_(options), file_(file), thread_([this] { run(); }) {}

AccessLog::~AccessLog() {
  {
    const base::Guard guard(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  thread_.join();
  const base::Guard guard(file_mutex_);
  if (file_ != STDOUT_FILENO) ::close(file_);
}

void AccessLog::add(const Access& access) {
  // Formatted before the lock is taken, in reused memory.
  thread_local std::string line;
  line.clear();
  append_access(line, options_.format, access);
  const base::Guard guard(mutex_);
  if (waiting_.size() + line.size() > options_.most) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  waiting_ += line;
  if (waiting_.size() < options_.flush_at || waked_) return;
  waked_ = true;
  wake_.notify_one();
}

void AccessLog::run() {
  // Blocks SIGPIPE: a pipe without a reader is an error like any other.
  sigset_t pipe{};
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  std::string lines;
  for (bool more = true; more;) {
    const auto end = std::chrono::steady_clock::now() + options_.flush_every;
    lines.clear();
    {
      const base::Guard guard(mutex_);
      while (!stopping_ && !waked_ && wake_.wait_until(mutex_, end)) {
      }
      more = !stopping_;
      waked_ = false;
      lines.swap(waiting_);
    }
    write(lines);
  }
}

void AccessLog::write(const std::string& lines) {
  const base::Guard guard(file_mutex_);
  for (std::size_t done = 0; done < lines.size();) {
    const ssize_t written = ::write(file_, lines.data() + done, lines.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const auto rest = lines.begin() + static_cast<std::ptrdiff_t>(done);
      lost_.fetch_add(static_cast<std::uint64_t>(std::count(rest, lines.end(), '\n')),
                      std::memory_order_relaxed);
      return;
    }
    done += static_cast<std::size_t>(written);
  }
}

Result<void> AccessLog::reopen() {
  if (path_ == "-") return {};
  auto file = open_file(path_);
  if (!file) return file.error();
  const base::Guard guard(file_mutex_);
  ::close(file_);
  file_ = *file;
  return {};
}

}  // namespace weir::telemetry
