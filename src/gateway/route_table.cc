#include "gateway/route_table.h"

#include <algorithm>

#include "wire/http_chars.h"

namespace weir::gateway {
namespace {

using wire::http::hex_char;
using wire::http::hex_value;
using wire::http::is;
using wire::http::lower;

std::string_view without_port(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string_view name = host.substr(0, colon);
  // "example.com." is the same host, fully qualified.
  if (name.ends_with('.')) name.remove_suffix(1);
  return name;
}

bool same_host(std::string_view sent, std::string_view of_route) {
  return std::equal(sent.begin(), sent.end(), of_route.begin(), of_route.end(),
                    [](char a, char b) { return lower(a) == b; });
}

/// Whether the path is that of the route, or below it.
bool is_below(std::string_view path, std::string_view of_route) {
  if (!path.starts_with(of_route)) return false;
  return path.size() == of_route.size() || of_route.ends_with('/') || path[of_route.size()] == '/';
}

/// Whether the path needs no normalization, as nearly every one.
bool is_plain(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%' || path[i] == '\\') return false;
    const bool after_slash = i > 0 && path[i - 1] == '/';
    if (after_slash && (path[i] == '/' || path[i] == '.')) return false;
  }
  return true;
}

}  // namespace

std::string normalized_path(std::string_view path) {
  std::string decoded;
  decoded.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool escape =
        path[i] == '%' && path.size() - i > 2 && is(path[i + 1], hex_char) && is(path[i + 2], hex_char);
    char c = path[i];
    if (escape) {
      c = static_cast<char>(hex_value(path[i + 1]) * 16 + hex_value(path[i + 2]));
      i += 2;
    }
    // Some servers take a backslash for a slash, so the gateway must too.
    decoded += c == '\\' ? '/' : c;
  }
  std::string out;
  out.reserve(decoded.size() + 1);
  bool directory = false;
  for (std::size_t start = 0; start <= decoded.size();) {
    const std::size_t end = std::min(decoded.find('/', start), decoded.size());
    const std::string_view segment = std::string_view(decoded).substr(start, end - start);
    start = end + 1;
    directory = segment.empty() || segment == "." || segment == "..";
    if (segment == "..") {
      out.resize(out.rfind('/') == std::string::npos ? 0 : out.rfind('/'));
    } else if (!directory) {
      out.append("/").append(segment);
    }
  }
  if (directory || out.empty()) out += '/';
  return out;
}

RouteTable::RouteTable(const std::vector<RouteSettings>& routes) {
  for (std::size_t i = 0; i < routes.size(); ++i) entries_.push_back({routes[i].host, routes[i].path, i});
  has_hosts_ = std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.host.empty(); });
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    if (a.host.empty() != b.host.empty()) return b.host.empty();
    return a.path.size() != b.path.size() ? a.path.size() > b.path.size() : a.index < b.index;
  });
}

std::size_t RouteTable::find(std::string_view host, std::string_view path) const {
  std::string rewritten;
  if (!is_plain(path)) {
    rewritten = normalized_path(path);
    path = rewritten;
  }
  const std::string_view name = has_hosts_ ? without_port(host) : std::string_view();
  for (const Entry& entry : entries_) {
    if (!entry.host.empty() && !same_host(name, entry.host)) continue;
    if (is_below(path, entry.path)) return entry.index;
  }
  return none;
}

}  // namespace weir::gateway
