#include "base/json.h"

namespace weir::base {

std::string json_string(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

JsonWriter& JsonWriter::raw(std::string_view name, std::string_view value) {
  separate();
  text_ += json_string(name);
  text_ += ':';
  text_ += value;
  return *this;
}

JsonWriter& JsonWriter::add(std::string_view value) {
  separate();
  text_ += value;
  return *this;
}

}  // namespace weir::base
