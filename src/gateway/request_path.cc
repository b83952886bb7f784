#include "gateway/request_path.h"

#include <algorithm>

#include "wire/http_chars.h"

namespace weir::gateway {
namespace {

using wire::http::hex_char;
using wire::http::hex_value;
using wire::http::is;
using wire::http::plain_char;

/// Letters, digits and -._~ mean the same whether they are encoded or not (RFC 3986, 2.3).
bool is_unreserved(char c) {
  return wire::http::detail::is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

bool is_escape(std::string_view path, std::size_t at) {
  return path.size() - at > 2 && is(path[at + 1], hex_char) && is(path[at + 2], hex_char);
}

void put_escape(std::string& out, char c) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += digits[byte >> 4U];
  out += digits[byte & 15U];
}

/// Decodes into `out` what needs no escape. A trouble that no canonical form repairs wins over others, else
/// the first.
PathTrouble decode(std::string_view path, std::string& out) {
  PathTrouble trouble = PathTrouble::none;
  const auto note = [&](PathTrouble found) {
    if (trouble == PathTrouble::none || is_hopeless(found)) trouble = found;
  };
  out.clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    const bool escaped = c == '%';
    if (escaped) {
      if (!is_escape(path, i)) {
        note(PathTrouble::escape);
        out += c;
        continue;
      }
      c = static_cast<char>(hex_value(path[i + 1]) * 16 + hex_value(path[i + 2]));
      i += 2;
    }
    if (c == '\\' || (escaped && c == '/')) {
      note(PathTrouble::slash);
      out += '/';
    } else if (escaped && !is_unreserved(c)) {
      // Programs may end a path at %00, and the $ of a regular expression also matches before a last %0A.
      if (is_control(c)) note(PathTrouble::control);
      put_escape(out, c);
    } else {
      out += c;
    }
  }
  return trouble;
}

/// The segment up to its parameters. Servers that decode first also see parameters behind an encoded
/// semicolon.
std::string_view name_of(std::string_view segment) {
  return segment.substr(0, std::min(segment.find(';'), segment.find("%3B")));
}

/// Appends the segments of `path` to `out`, with dot segments resolved. True if there was one.
bool resolve(std::string_view path, bool parameters, std::string& out) {
  bool dots = false;
  bool directory = false;
  out.clear();
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view segment = path.substr(start, end - start);
    const std::string_view name = name_of(segment);
    start = end + 1;
    const bool dot = name == "." || name == "..";
    dots = dots || dot;
    // A segment that is parameters only is as good as none.
    directory = dot || (parameters ? segment : name).empty();
    if (name == "..") {
      out.resize(out.rfind('/') == std::string::npos ? 0 : out.rfind('/'));
    } else if (!directory) {
      out.append("/").append(parameters ? segment : name);
    }
  }
  if (directory || out.empty()) out += '/';
  return dots;
}

}  // namespace

bool is_hopeless(PathTrouble trouble) {
  return trouble == PathTrouble::escape || trouble == PathTrouble::control;
}

std::string_view reason_of(PathTrouble trouble) {
  switch (trouble) {
    case PathTrouble::none:
      return {};
    case PathTrouble::escape:
      return "the path has a % that two hexadecimal digits do not follow";
    case PathTrouble::control:
      return "the path has an encoded control character";
    case PathTrouble::slash:
      return "the path has an encoded slash or a backslash";
    case PathTrouble::dot_segment:
      return "the path has a segment . or ..";
  }
  return {};
}

bool is_plain(std::string_view path) {
  char before = 0;
  for (const char c : path) {
    if (!is(c, plain_char) && (before == '/' || (c != '/' && c != '.'))) return false;
    before = c;
  }
  return true;
}

void PathForms::set(std::string_view path) {
  raw_ = path;
  trouble_ = PathTrouble::none;
  plain_ = gateway::is_plain(path);
  if (plain_) return;
  trouble_ = decode(path, decoded_);
  const bool dots = resolve(decoded_, /*parameters=*/true, canonical_);
  resolve(decoded_, /*parameters=*/false, bare_);
  if (dots && trouble_ == PathTrouble::none) trouble_ = PathTrouble::dot_segment;
}

}  // namespace weir::gateway
