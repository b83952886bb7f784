#include "gateway/route_table.h"

#include <algorithm>

#include "base/hash.h"
#include "wire/http_chars.h"

namespace weir::gateway {
namespace {

using wire::http::lower;
using wire::http::same_name;

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
bool is_below(std::string_view path, std::string_view of_route, bool any_case) {
  if (path.size() < of_route.size()) return false;
  const std::string_view start = path.substr(0, of_route.size());
  if (any_case ? !same_name(start, of_route) : !base::same(start, of_route)) return false;
  return path.size() == of_route.size() || of_route.ends_with('/') || path[of_route.size()] == '/';
}

}  // namespace

RouteTable::RouteTable(const std::vector<RouteSettings>& routes) {
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const RouteSettings& route = routes[i];
    entries_.push_back({route.host, route.path, i, route.paths, route.path_case, route.path_parameters,
                        route.llm.has_value()});
    has_hosts_ = has_hosts_ || !route.host.empty();
    all_plain_ = all_plain_ && is_plain(route.path);
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    if (a.host.empty() != b.host.empty()) return b.host.empty();
    return a.path.size() != b.path.size() ? a.path.size() > b.path.size() : a.index < b.index;
  });
}

const RouteTable::Entry* RouteTable::find(std::string_view host_name, const PathForms& path,
                                          MatchMode reading) const {
  const bool loosest = reading == MatchMode::loosest;
  for (const Entry& entry : entries_) {
    if (!entry.host.empty() && !same_host(host_name, entry.host)) continue;
    const bool bare = entry.path_parameters == PathRespect::same ||
                      (loosest && entry.path_parameters == PathRespect::unknown);
    const bool any_case =
        entry.path_case == PathRespect::same || (loosest && entry.path_case == PathRespect::unknown);
    const std::string_view text = bare                        ? path.without_parameters()
                                  : reading == MatchMode::raw ? path.raw()
                                                              : path.canonical();
    if (is_below(text, entry.path, any_case)) return &entry;
  }
  return nullptr;
}

/// The path determines the kind of call and so its cost. Therefore the upstream must read it in the same way.
std::string_view RouteTable::why_unclear_call(const Entry& entry, const PathForms& path) {
  if (entry.path_parameters != PathRespect::different &&
      !base::same(path.canonical(), path.without_parameters()))
    return "the path has parameters (;), which a call to a model cannot have";
  if (entry.paths != PathRule::canonical && !base::same(path.raw(), path.canonical()))
    return "the path of a call to a model must have single slashes and no unneeded escapes";
  return {};
}

RouteTable::Match RouteTable::find(std::string_view host, const PathForms& path) const {
  const std::string_view name = has_hosts_ ? without_port(host) : std::string_view();
  const Entry* const found = find(name, path, MatchMode::canonical);
  if (found == nullptr) return {};
  if (path.is_plain() && all_plain_) [[likely]]
    return {found->index};
  Match match{found->index};
  const bool canonical = found->paths == PathRule::canonical;
  const PathTrouble trouble = path.trouble();
  if (trouble != PathTrouble::none && (is_hopeless(trouble) || !canonical)) {
    match.refused = reason_of(trouble);
  } else if (find(name, path, MatchMode::loosest) != found) {
    match.refused = "the path differs from that of a route only in case or in parameters";
  } else if (!canonical && find(name, path, MatchMode::raw) != found) {
    match.refused = "the path takes another route once it is decoded";
  } else if (found->calls_models) {
    match.refused = why_unclear_call(*found, path);
  }
  match.rewrite = canonical;
  return match;
}

}  // namespace weir::gateway
