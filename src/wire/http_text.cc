#include "wire/http_text.h"

#include <algorithm>

#include "wire/http_chars.h"

namespace weir::wire::http {
namespace {

bool decode(std::string_view text, bool plus_is_space, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (text.size() - i < 3 || !is(text[i + 1], hex_char) || !is(text[i + 2], hex_char)) return false;
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return true;
}

/// Where the element that starts the text ends: at a comma outside quotes.
std::size_t element_end(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\') ++i;
    if (!quoted && text[i] == ',') return i;
  }
  return text.size();
}

}  // namespace

bool percent_decode(std::string_view text, std::string& out) { return decode(text, false, out); }

std::string percent_encode(std::string_view text, std::string_view also) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view marks = "-._~";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       marks.find(c) != std::string_view::npos || also.find(c) != std::string_view::npos;
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

bool PathSegments::next(std::string_view& segment) {
  if (!rest_.starts_with('/')) return false;
  rest_.remove_prefix(1);
  segment = rest_.substr(0, rest_.find('/'));
  rest_.remove_prefix(segment.size());
  return true;
}

QueryParameters::Next QueryParameters::next(std::string& name, std::string& value) {
  while (rest_.starts_with('&')) rest_.remove_prefix(1);
  if (rest_.empty()) return Next::end;
  if (++seen_ > most) return Next::malformed;
  const std::string_view parameter = rest_.substr(0, rest_.find('&'));
  rest_.remove_prefix(parameter.size());
  const std::size_t equals = std::min(parameter.find('='), parameter.size());
  const std::string_view behind = parameter.substr(std::min(equals + 1, parameter.size()));
  const bool good = decode(parameter.substr(0, equals), true, name) && decode(behind, true, value);
  return good ? Next::parameter : Next::malformed;
}

bool ListElements::next(std::string_view& element) {
  while (!rest_.empty()) {
    const std::size_t end = element_end(rest_);
    element = trim(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (!element.empty()) return true;
  }
  return false;
}

std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer";
  if (authorization.size() <= scheme.size() || !same_name(authorization.substr(0, scheme.size()), scheme))
    return {};
  const std::string_view rest = authorization.substr(scheme.size());
  return rest[0] == ' ' || rest[0] == '\t' ? trim(rest) : std::string_view();
}

bool list_has(std::string_view value, std::string_view token) {
  ListElements elements(value);
  for (std::string_view element; elements.next(element);) {
    if (same_name(element, token)) return true;
  }
  return false;
}

}  // namespace weir::wire::http
