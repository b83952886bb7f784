#include "gateway/route_reader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "base/text.h"
#include "config/limits_reader.h"
#include "limits/names.h"
#include "wire/http_chars.h"

namespace weir::gateway {
namespace {

using base::quoted;
using config::MappingReader;
using config::Subject;
using config::YamlNode;

/// "http://host:port", "https://[::1]" and the like.
std::optional<UpstreamUrl> parse_upstream(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  const auto url = wire::parse_http_url(text);
  if (!url || !url->path.empty() || !url->query.empty() || text.ends_with('?')) return std::nullopt;
  return UpstreamUrl{url->tls(), url->at()};
}

/// Turns the tree of a route into its settings.
class RouteReader {
 public:
  RouteReader(const config::YamlTree& tree, MappingReader& in) : tree_(tree), in_(in) {}

  std::optional<RouteSettings> read(std::uint32_t id) {
    constexpr std::array<std::string_view, 28> names{"path",
                                                     "upstream",
                                                     "name",
                                                     "host",
                                                     "limit_by",
                                                     "limits",
                                                     "cost",
                                                     "on_unavailable",
                                                     "timeout_ms",
                                                     "upstream_host",
                                                     "upgrade",
                                                     "unknown_clients",
                                                     "paths",
                                                     "path_case",
                                                     "path_parameters",
                                                     "mode",
                                                     "usage",
                                                     "headers",
                                                     "llm",
                                                     "models",
                                                     "charge",
                                                     "unknown_models",
                                                     "unpriced",
                                                     "prices",
                                                     "upstream_key",
                                                     "on_disconnect",
                                                     "on_exhausted",
                                                     "upstream_entity"};
    // The name of the route for messages, before its fields are read.
    const std::string called = name_in(id);
    const Subject subject{"route", called};
    const auto [path, upstream, name, host, limit_by, limits, cost, policy, timeout, upstream_host, upgrade,
                unknown, paths, path_case, path_parameters, mode, usage, headers, llm, models, charge,
                unknown_models, unpriced, prices, upstream_key, on_disconnect, on_exhausted,
                upstream_entity] = in_.fields(id, subject, names, route_example);
    if (in_.node(id).kind != config::NodeKind::mapping) return std::nullopt;
    RouteSettings route;
    bool good = path != 0 ? read_path(path, subject, route) : missing(id, subject, "path", "path: /api");
    if (host != 0) good = read_host(host, subject, route) && good;
    good = (upstream != 0 ? read_upstreams(upstream, subject, route)
                          : missing(id, subject, "upstream", "upstream: \"http://127.0.0.1:9000\"")) &&
           good;
    if (upstream_host != 0) good = read_upstream_host(upstream_host, subject, route.upstream_host) && good;
    if (limit_by != 0) good = read_limit_by(limit_by, subject, route.limit_by) && good;
    if (limits != 0 && !in_.is_empty(limits)) route.limits = config::read_limits(in_, limits, subject);
    route.mode = config::read_mode(in_, mode, subject);
    if (cost != 0) good = read_cost(cost, subject, route) && good;
    if (policy != 0) route.on_unavailable = read_policy(in_, policy, subject);
    if (timeout != 0) {
      constexpr std::int64_t a_day = 86'400'000;
      route.timeout =
          std::chrono::milliseconds(in_.number_of(timeout, subject, "timeout_ms", 1, a_day).value_or(60'000));
    }
    if (upgrade != 0) read_upgrade(upgrade, subject, route);
    using enum UnknownClients;
    if (unknown != 0)
      config::read_word(in_, unknown, subject, "unknown_clients",
                        config::Words<UnknownClients>{{"limit", limit}, {"share", share}, {"refuse", refuse}},
                        route.unknown_clients);
    if (paths != 0)
      config::read_word(
          in_, paths, subject, "paths",
          config::Words<PathRule>{{"strict", PathRule::strict}, {"canonical", PathRule::canonical}},
          route.paths);
    const config::Words<PathRespect> respects{
        {"refuse", PathRespect::unknown}, {"different", PathRespect::different}, {"same", PathRespect::same}};
    if (path_case != 0) config::read_word(in_, path_case, subject, "path_case", respects, route.path_case);
    if (path_parameters != 0)
      config::read_word(in_, path_parameters, subject, "path_parameters", respects, route.path_parameters);
    using Kind = LimitBy::Kind;
    route.usage = route.limit_by.kind != Kind::client_ip && route.limit_by.kind != Kind::client_net;
    if (usage != 0)
      config::read_word(in_, usage, subject, "usage", config::Words<bool>{{"on", true}, {"off", false}},
                        route.usage);
    route.llm = read_llm(in_,
                         {llm, models, charge, unknown_models, unpriced, prices, upstream_key, on_disconnect,
                          on_exhausted, upstream_entity},
                         subject);
    // Vendors choose the site by the host.
    if (route.llm && upstream_host == 0) route.upstream_host = {HostField::Kind::upstream};
    // The tokens of calls in a tunnel are not counted.
    if (route.llm && upgrade == 0) route.upgrade.clear();
    using Dialects = config::Words<std::optional<server::Dialect>>;
    using server::Dialect;
    if (headers != 0)
      config::read_word(in_, headers, subject, "headers",
                        Dialects{{"ietf", Dialect::ietf},
                                 {"openai", Dialect::openai},
                                 {"anthropic", Dialect::anthropic},
                                 {"x", Dialect::x},
                                 {"auto", std::nullopt}},
                        route.headers);
    if (!good || !read_name(name, path, subject, route)) return std::nullopt;
    return route;
  }

 private:
  void read_upgrade(std::uint32_t id, const Subject& subject, RouteSettings& route) {
    route.upgrade.clear();
    for (const std::uint32_t entry : in_.elements_of(id)) {
      const YamlNode* const node =
          in_.scalar(entry, subject, "upgrade", "a list of protocols, such as [websocket]");
      if (node == nullptr) continue;
      std::string name(in_.text(*node));
      std::transform(name.begin(), name.end(), name.begin(), wire::http::lower);
      // A tunnel to HTTP/2 carries any number of requests that the gateway cannot see.
      if (wire::http::is_token(name) && name != "h2c" && name != "h2") {
        route.upgrade.push_back(std::move(name));
      } else {
        in_.problem(
            node->place, "upgrade of ", subject.text(), " has ", quoted(name),
            "; name protocols such as websocket, but not HTTP/2, whose requests could not be limited");
      }
    }
  }

  std::string name_in(std::uint32_t id) const {
    std::string path;
    if (tree_[id].kind != config::NodeKind::mapping) return path;
    for (std::uint32_t key = id + 1; key < tree_[id].end;) {
      const std::uint32_t value = tree_[key].end;
      const YamlNode& node = tree_[tree_.target(value)];
      const bool is_text =
          tree_[tree_.target(key)].kind == config::NodeKind::scalar && node.kind == config::NodeKind::scalar;
      if (is_text && tree_.text(tree_[tree_.target(key)]) == "name") return std::string(tree_.text(node));
      if (is_text && tree_.text(tree_[tree_.target(key)]) == "path") path = tree_.text(node);
      key = tree_[value].end;
    }
    return path;
  }

  bool missing(std::uint32_t id, const Subject& subject, std::string_view what, std::string_view example) {
    in_.problem(in_.place(id), subject.text(), " has no ", what, "; add one, such as ", example);
    return false;
  }

  bool read_path(std::uint32_t id, const Subject& subject, RouteSettings& route) {
    const YamlNode* const node = in_.scalar(id, subject, "path", "a path, such as /api");
    if (node == nullptr) return false;
    route.path = in_.text(*node);
    const bool good = route.path.starts_with('/') && wire::http::all(route.path, wire::http::target_char) &&
                      route.path.find_first_of("?%;\\") == std::string::npos && route.path.size() <= 1024 &&
                      route.path.find("//") == std::string::npos &&
                      route.path.find("/./") == std::string::npos &&
                      route.path.find("/../") == std::string::npos;
    if (!good) {
      in_.problem(node->place, "path of ", subject.text(), " is ", quoted(route.path),
                  "; write a plain path that starts with /, without a query, escapes, parameters or dot "
                  "segments, such as /api");
    }
    return good;
  }

  bool read_name(std::uint32_t id, std::uint32_t path, const Subject& subject, RouteSettings& route) {
    route.name = route.path;
    if (id != 0) {
      auto name = in_.text_of(id, subject, "name", "a name");
      if (!name) return false;
      route.name = *std::move(name);
    }
    if (auto checked = limits::check_resource(route.name); !checked) {
      in_.problem(in_.place(id != 0 ? id : path), checked.error().message,
                  id != 0 ? "" : "; the path is the route's name, so give it another with \"name\"");
      return false;
    }
    return true;
  }

  bool read_host(std::uint32_t id, const Subject& subject, RouteSettings& route) {
    auto host = in_.text_of(id, subject, "host", "a host name");
    if (!host) return false;
    std::transform(host->begin(), host->end(), host->begin(), wire::http::lower);
    if (!wire::is_host_name(*host)) {
      in_.problem(in_.place(id), "host of ", subject.text(), " is ", quoted(*host),
                  "; write a host name without a port, such as api.example.com");
      return false;
    }
    route.host = *std::move(host);
    return true;
  }

  bool read_upstreams(std::uint32_t id, const Subject& subject, RouteSettings& route) {
    constexpr std::string_view must_be = "a URL such as http://127.0.0.1:9000, or a list of them";
    const auto entries = in_.elements_of(id);
    if (entries.empty() || entries.size() > 1024) {
      in_.problem(in_.place(id), "upstream of ", subject.text(), " must be ", must_be);
      return false;
    }
    bool good = true;
    for (const std::uint32_t entry : entries) {
      const YamlNode* const node = in_.scalar(entry, subject, "upstream", must_be);
      const auto url = node == nullptr ? std::nullopt : parse_upstream(in_.text(*node));
      if (url) {
        route.upstreams.push_back(*url);
        continue;
      }
      good = false;
      if (node == nullptr) continue;
      in_.problem(node->place, "upstream of ", subject.text(), " is ", quoted(in_.text(*node)),
                  "; write http://HOST:PORT or https://HOST:PORT, without a path");
    }
    return good;
  }

  bool read_upstream_host(std::uint32_t id, const Subject& subject, HostField& into) {
    const auto text = in_.text_of(id, subject, "upstream_host", "client, upstream or a host name");
    if (!text) return false;
    using Kind = HostField::Kind;
    if (*text == "client") return into = {Kind::client}, true;
    if (*text == "upstream") return into = {Kind::upstream}, true;
    if (wire::is_host_name(*text) || wire::parse_host_port(*text)) return into = {Kind::name, *text}, true;
    in_.problem(in_.place(id), "upstream_host of ", subject.text(), " is ", quoted(*text),
                "; write client, upstream or a host name, such as api.example.com");
    return false;
  }

  bool read_limit_by(std::uint32_t id, const Subject& subject, LimitBy& into) {
    constexpr std::string_view must_be = "client_ip, client_ip/64, header:NAME, path:N or bearer";
    const YamlNode* const node = in_.scalar(id, subject, "limit_by", must_be);
    if (node == nullptr) return false;
    const std::string_view text = in_.text(*node);
    using Kind = LimitBy::Kind;
    if (text == "client_ip") return into = {Kind::client_ip}, true;
    if (text == "client_ip/64") return into = {Kind::client_net}, true;
    if (text == "bearer") return into = {Kind::bearer}, true;
    if (text.starts_with("header:") && wire::http::is_token(text.substr(7)))
      return into = {Kind::header, std::string(text.substr(7))}, true;
    const auto segment = text.starts_with("path:") ? base::parse_digits(text.substr(5)) : std::nullopt;
    if (segment && *segment >= 1 && *segment <= 64)
      return into = {Kind::path, {}, static_cast<unsigned>(*segment)}, true;
    constexpr std::array<std::string_view, 5> words{"client_ip", "client_ip/64", "header:NAME", "path:N",
                                                    "bearer"};
    const std::string_view near = text == "ip" ? "client_ip" : text;
    in_.problem(node->place, "limit_by of ", subject.text(), " is ", quoted(text), "; use ", must_be,
                base::did_you_mean(near, words));
    return false;
  }

  bool read_cost(std::uint32_t id, const Subject& subject, RouteSettings& route) {
    const YamlNode* const node = in_.scalar(id, subject, "cost", "an amount, or header:NAME");
    if (node == nullptr) return false;
    const std::string_view text = in_.text(*node);
    if (text.starts_with("header:") && wire::http::is_token(text.substr(7))) {
      route.cost_header = text.substr(7);
      return true;
    }
    const auto amount = Amount::parse(text);
    if (amount && *amount >= Amount() && amount->in_range()) {
      route.cost = *amount;
      return true;
    }
    in_.problem(node->place, "cost of ", subject.text(), " is ", quoted(text),
                "; use an amount of 0 or more, or header:NAME");
    return false;
  }

  const config::YamlTree& tree_;
  MappingReader& in_;
};

}  // namespace

std::optional<OnUnavailable> read_policy(MappingReader& in, std::uint32_t id, const Subject& subject) {
  const YamlNode* const node = in.scalar(id, subject, "on_unavailable", "allow or deny");
  if (node == nullptr) return std::nullopt;
  if (in.text(*node) == "allow") return OnUnavailable::allow;
  if (in.text(*node) == "deny") return OnUnavailable::deny;
  in.problem(node->place, "on_unavailable of ", subject.text(), " is ", quoted(in.text(*node)),
             "; use allow or deny");
  return std::nullopt;
}

std::optional<RouteSettings> read_route(const config::YamlTree& tree, MappingReader& in, std::uint32_t id) {
  return RouteReader(tree, in).read(id);
}

}  // namespace weir::gateway
