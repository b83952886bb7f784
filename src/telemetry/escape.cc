#include "telemetry/escape.h"

#include "base/hex.h"
#include "base/text.h"

namespace weir::telemetry {
namespace {

void append_byte(std::string& out, std::string_view prefix, unsigned char byte) {
  out.append(prefix);
  out += base::hex_digits[byte >> 4U];
  out += base::hex_digits[byte & 15U];
}

/// The size of the UTF-8 character at `at`; 0 if it is malformed.
std::size_t character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead >= 0x80 && lead < 0xc2) return 0;
  if (at + size > text.size()) return 0;
  return base::is_utf8(text.substr(at, size)) ? size : 0;
}

/// U+0080 to U+009F, which some terminals interpret; U+2028 and U+2029, which some readers take for the end
/// of a line; and the marks that reverse the direction of text (U+202A to U+202E, U+2066 to U+2069).
bool is_unseen(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (character.size() != 3 || byte(0) != 0xe2) return false;
  if (byte(1) == 0x80) return byte(2) >= 0xa8 && byte(2) <= 0xae;
  return byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
}

void append_bytes(std::string& out, std::string_view bytes) {
  for (const char c : bytes) append_byte(out, "\\x", static_cast<unsigned char>(c));
}

/// An ASCII character.
void append_plain(std::string& out, char c, bool quoted) {
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c < 0x20 || c == 0x7f) {
    append_byte(out, "\\x", static_cast<unsigned char>(c));
  } else {
    if (c == '\\' || (quoted && c == '"')) out += '\\';
    out += c;
  }
}

void append_text(std::string& out, std::string_view text, bool quoted) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_at(text, at);
    const std::string_view character = text.substr(at, size == 0 ? 1 : size);
    if (size == 1) {
      append_plain(out, character[0], quoted);
    } else if (size == 0 || is_unseen(character)) {
      append_bytes(out, character);
    } else {
      out.append(character);
    }
    at += character.size();
  }
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) { append_text(out, text, false); }

void append_value(std::string& out, std::string_view text) {
  const bool bare = !text.empty() && text.find_first_of(" \"=") == std::string_view::npos;
  if (!bare) out += '"';
  append_text(out, text, !bare);
  if (!bare) out += '"';
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_at(text, at);
    const std::string_view character = text.substr(at, size == 0 ? 1 : size);
    const char c = character[0];
    if (size == 0) {
      out += "\xef\xbf\xbd";
    } else if (size == 1 && (c == '"' || c == '\\')) {
      out += '\\';
      out += c;
    } else if (size == 1 && (c < 0x20 || c == 0x7f)) {
      append_byte(out, "\\u00", static_cast<unsigned char>(c));
    } else if (is_unseen(character)) {
      // Two bytes: the second is the code point. Three: U+2000 and the low bits.
      const auto last = static_cast<unsigned char>(character.back());
      const auto middle = static_cast<unsigned char>(character[1]);
      if (size == 2) {
        append_byte(out, "\\u00", last);
      } else {
        append_byte(out, "\\u20", static_cast<unsigned char>((middle & 0x03U) << 6U | (last & 0x3fU)));
      }
    } else {
      out.append(character);
    }
    at += character.size();
  }
  out += '"';
}

}  // namespace weir::telemetry
