// Escapes untrusted text for a line of a log.
#pragma once

#include <string>
#include <string_view>

namespace weir::telemetry {

/// Appends the text with escapes for control characters (those of Unicode, too), backslashes, and bytes that
/// are not UTF-8.
void append_escaped(std::string& out, std::string_view text);

/// The same as the value of a field: in quotes if it is empty, or has spaces, quotes or = in it.
void append_value(std::string& out, std::string_view text);

/// Appends a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace weir::telemetry
