// The log of a program, for its operators, a line at a time:
//
//   2026-11-16T04:05:06.789Z warning the store is unavailable error="disk is full"
//   {"time":"2026-11-16T04:05:06.789Z","level":"warning","message":"the store is unavailable","error":"disk
//   is full"}
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/lock.h"
#include "weir/clock.h"

namespace weir::telemetry {

enum class LogLevel : unsigned char { debug, info, warning, error };
enum class LogFormat : unsigned char { text, json };

/// Such as "info"; nothing for a word that is no level.
const char* name_of(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view text);
std::optional<LogFormat> parse_log_format(std::string_view text);

/// A fixed name and an untrusted value. Never a secret: no tokens, no lease ids.
struct LogField {
  std::string_view name;
  std::string_view value;
  bool number = false;  ///< without quotes in JSON
};

/// Appends a line, with its end. It is one line, and in JSON one object, for every message and all values:
/// line ends, escape sequences and invisible characters are escaped.
void append_line(std::string& out, LogFormat format, Time at, std::string_view level,
                 std::string_view message, std::span<const LogField> fields);

struct LogOptions {
  LogFormat format = LogFormat::text;
  LogLevel level = LogLevel::info;  ///< lower levels are left out
};

/// Safe to use from any thread. Each line is written at once.
class Log {
 public:
  /// Both must outlive the log.
  Log(std::ostream& out, const Clock& clock, LogOptions options)
      : clock_(clock), options_(options), out_(out) {}

  void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::info, message, fields);
  }
  void warning(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::warning, message, fields);
  }

 private:
  const Clock& clock_;
  const LogOptions options_;
  base::Mutex mutex_;
  std::ostream& out_ WEIR_GUARDED_BY(mutex_);
};

/// Logs the new ones of a store's warnings (store::Store::warnings). `logged`: how many were logged before.
void warn_of_new(Log& log, std::span<const std::string> warnings, std::size_t& logged);

}  // namespace weir::telemetry
