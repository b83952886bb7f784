#include "telemetry/log.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <ostream>

#include "telemetry/escape.h"

namespace weir::telemetry {
namespace {

constexpr std::array level_names = {"debug", "info", "warning", "error"};

/// RFC 3339 in UTC, with milliseconds.
void append_time(std::string& out, Time at) {
  const Time milliseconds = at % 1000 < 0 ? at % 1000 + 1000 : at % 1000;
  const std::time_t seconds = (at - milliseconds) / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 80> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                                 parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                                 parts.tm_min, parts.tm_sec, static_cast<int>(milliseconds));
  out.append(text.data(), static_cast<std::size_t>(size));
}

void append_text(std::string& out, Time at, std::string_view level, std::string_view message,
                 std::span<const LogField> fields) {
  append_time(out, at);
  out.append(" ").append(level).append(" ");
  append_escaped(out, message);
  for (const LogField& field : fields) {
    out.append(" ").append(field.name).append("=");
    append_value(out, field.value);
  }
}

void append_json(std::string& out, Time at, std::string_view level, std::string_view message,
                 std::span<const LogField> fields) {
  out += R"({"time":")";
  append_time(out, at);
  out.append(R"(","level":")").append(level).append(R"(","message":)");
  append_json_string(out, message);
  for (const LogField& field : fields) {
    out.append(",\"").append(field.name).append("\":");
    if (field.number) {
      out.append(field.value);
    } else {
      append_json_string(out, field.value);
    }
  }
  out += '}';
}

}  // namespace

const char* name_of(LogLevel level) { return level_names[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> parse_log_level(std::string_view text) {
  for (std::size_t i = 0; i < level_names.size(); ++i) {
    if (text == level_names[i]) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::optional<LogFormat> parse_log_format(std::string_view text) {
  if (text == "text") return LogFormat::text;
  if (text == "json") return LogFormat::json;
  return std::nullopt;
}

void append_line(std::string& out, LogFormat format, Time at, std::string_view level,
                 std::string_view message, std::span<const LogField> fields) {
  if (format == LogFormat::json) {
    append_json(out, at, level, message, fields);
  } else {
    append_text(out, at, level, message, fields);
  }
  out += '\n';
}

void Log::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (level < options_.level) return;
  std::string line;
  append_line(line, options_.format, clock_.now(), name_of(level), message, {fields.begin(), fields.size()});
  const base::Guard guard(mutex_);
  out_ << line << std::flush;
}

void warn_of_new(Log& log, std::span<const std::string> warnings, std::size_t& logged) {
  for (; logged < warnings.size(); ++logged) log.warning(warnings[logged]);
}

}  // namespace weir::telemetry
