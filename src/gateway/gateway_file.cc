#include "gateway/gateway_file.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/duration.h"
#include "base/maxima.h"
#include "base/text.h"
#include "config/limits_reader.h"
#include "config/mapping.h"
#include "config/problems.h"
#include "config/yaml_tree.h"
#include "decision_log/settings.h"
#include "limits/names.h"
#include "wire/http_chars.h"

namespace weir::gateway {
namespace {

using base::quoted;
using config::MappingReader;
using config::Subject;
using config::YamlNode;

constexpr const char* route_example =
    "{path: /api, upstream: \"http://127.0.0.1:9000\", limits: {rpm: 100/min}}";

/// "http://host:port", "https://[::1]" and the like.
std::optional<UpstreamUrl> parse_upstream(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  const auto url = wire::parse_http_url(text);
  if (!url || !url->path.empty() || !url->query.empty() || text.ends_with('?')) return std::nullopt;
  return UpstreamUrl{url->tls(), url->at()};
}

/// Turns a tree into settings.
class Reader {
 public:
  Reader(const config::YamlTree& tree, config::Problems& problems) : tree_(tree), in_(tree, problems) {}

  GatewaySettings read() {
    constexpr std::uint32_t root = 0;
    constexpr std::array<std::string_view, 16> names{"listen",
                                                     "admin_listen",
                                                     "admin_tokens",
                                                     "tls",
                                                     "store",
                                                     "namespace",
                                                     "threads",
                                                     "on_unavailable",
                                                     "trusted_proxies",
                                                     "bucket_ttl_refill_multiplier",
                                                     "access_log",
                                                     "max_new_clients",
                                                     "max_new_clients_per_address",
                                                     "max_connections_per_address",
                                                     "decision_log",
                                                     "routes"};
    if (in_.is_empty(root)) {
      in_.problem(in_.place(root), "the file is empty; write \"routes: [", route_example, "]\", for example");
      return {};
    }
    const auto found = in_.fields(root, file_, names, "{listen: \"127.0.0.1:8080\", routes: [...]}");
    const auto [listen, admin, tokens, tls, store, name_space, threads, policy, trusted, multiplier, log,
                clients, clients_per_address, connections, decisions, routes] = found;
    if (listen != 0) read_listen(listen, "listen", out_.listen);
    if (admin != 0) read_listen(admin, "admin_listen", out_.admin_listen.emplace());
    if (tokens != 0) {
      out_.admin_tokens = in_.text_of(tokens, file_, "admin_tokens", "a file of tokens").value_or("");
      if (admin == 0)
        in_.problem(in_.place(tokens), "admin_tokens is for the API on admin_listen; set admin_listen too");
    }
    if (tls != 0) read_tls(tls);
    if (store != 0) out_.store = in_.text_of(store, file_, "store", "a store's URL, such as memory");
    if (name_space != 0) read_namespace(name_space);
    if (threads != 0)
      out_.threads = static_cast<unsigned>(in_.number_of(threads, file_, "threads", 1, 256).value_or(1));
    if (policy != 0) out_.on_unavailable = policy_of(policy, file_);
    if (trusted != 0) read_trusted(trusted);
    if (multiplier != 0) {
      out_.bucket_ttl_refill_multiplier = static_cast<int>(
          in_.number_of(multiplier, file_, names[9], 1, std::numeric_limits<int>::max()).value_or(2));
    }
    if (log != 0)
      out_.access_log = in_.text_of(log, file_, "access_log", "a file, or - for stdout").value_or("");
    constexpr std::int64_t most_clients = 10'000'000;
    const auto read_bound = [&](std::uint32_t id, std::string_view what, unsigned& into) {
      if (id != 0)
        into = static_cast<unsigned>(in_.number_of(id, file_, what, 1, most_clients).value_or(into));
    };
    read_bound(clients, "max_new_clients", out_.new_clients.total);
    read_bound(clients_per_address, "max_new_clients_per_address", out_.new_clients.per_network);
    if (connections != 0)
      read_bound(connections, "max_connections_per_address", out_.max_connections_per_address.emplace(1));
    if (decisions != 0) read_decisions(decisions);
    if (routes == 0) {
      if (in_.node(root).kind == config::NodeKind::mapping)
        in_.problem(in_.place(root), "the file has no routes; write \"routes: [", route_example,
                    "]\", for example");
    } else {
      read_routes(routes);
    }
    return std::move(out_);
  }

 private:
  std::optional<OnUnavailable> policy_of(std::uint32_t id, const Subject& subject) {
    const YamlNode* const node = in_.scalar(id, subject, "on_unavailable", "allow or deny");
    if (node == nullptr) return std::nullopt;
    if (in_.text(*node) == "allow") return OnUnavailable::allow;
    if (in_.text(*node) == "deny") return OnUnavailable::deny;
    in_.problem(node->place, "on_unavailable of ", subject.text(), " is ", quoted(in_.text(*node)),
                "; use allow or deny");
    return std::nullopt;
  }

  void read_listen(std::uint32_t id, std::string_view what, HostPort& into) {
    const YamlNode* const node = in_.scalar(id, file_, what, "HOST:PORT");
    if (node == nullptr) return;
    const auto at = wire::parse_host_port(in_.text(*node));
    const bool literal = at && (at->host == "localhost" || net::Address::parse(at->host, 0).ok());
    if (literal) {
      into = *at;
      if (into.host == "localhost") into.host = "127.0.0.1";
    } else {
      in_.problem(node->place, what, " is ", quoted(in_.text(*node)),
                  "; write ADDRESS:PORT, such as 127.0.0.1:8080 or \"[::]:8080\"");
    }
  }

  void read_tls(std::uint32_t id) {
    constexpr std::array<std::string_view, 3> names{"cert", "key", "ca"};
    const Subject subject{"tls"};
    const auto [cert, key, ca] = in_.fields(id, subject, names, "{cert: cert.pem, key: key.pem}");
    if (cert != 0) out_.tls.cert = in_.text_of(cert, subject, "cert", "a file").value_or("");
    if (key != 0) out_.tls.key = in_.text_of(key, subject, "key", "a file").value_or("");
    if (ca != 0) out_.tls.ca = in_.text_of(ca, subject, "ca", "a file").value_or("");
    if ((cert == 0) != (key == 0))
      in_.problem(in_.place(id), "cert and key of tls belong together; give both or none");
  }

  void read_decisions(std::uint32_t id) {
    constexpr std::array<std::string_view, 5> names{"mode", "path", "size", "keep", "lines"};
    const Subject subject{"decision_log"};
    const auto [mode, path, size, keep, lines] =
        in_.fields(id, subject, names, "{mode: refusals, path: decisions.db, size: 256MB, keep: 30d}");
    decision_log::DecisionLogOptions& options = out_.decisions;
    const auto take = [&](std::uint32_t at, std::string_view name, std::string_view what) {
      return at == 0 ? std::nullopt : in_.text_of(at, subject, name, what);
    };
    if (const auto text = take(mode, "mode", "off, refusals or all")) {
      const auto keeps = decision_log::parse_keeps("mode", *text);
      if (!keeps) return in_.problem(in_.place(mode), keeps.error().message);
      options.keeps = *keeps;
    }
    options.path = take(path, "path", "a file").value_or("");
    options.lines = take(lines, "lines", "a file, or - for stdout").value_or("");
    if (const auto text = take(size, "size", "a size, such as 256MB")) {
      const auto bytes = decision_log::parse_size("size", *text);
      if (!bytes) return in_.problem(in_.place(size), bytes.error().message);
      options.most_bytes = *bytes;
    }
    if (const auto text = take(keep, "keep", "a duration, such as 30d")) {
      const auto time = base::parse_duration(*text);
      if (!time)
        return in_.problem(in_.place(keep), "keep of decision_log: write a duration, such as 12h or 30d");
      options.keep_for = std::chrono::milliseconds(*time);
    }
  }

  void read_namespace(std::uint32_t id) {
    const YamlNode* const node = in_.scalar(id, file_, "namespace", "a name");
    if (node == nullptr) return;
    if (auto checked = limits::check_namespace(in_.text(*node)); !checked)
      return in_.problem(node->place, checked.error().message);
    out_.name_space = in_.text(*node);
  }

  void read_trusted(std::uint32_t id) {
    if (in_.node(id).kind == config::NodeKind::nothing) return;
    for (const std::uint32_t entry : in_.elements_of(id)) {
      const YamlNode* const node =
          in_.scalar(entry, file_, "trusted_proxies", "networks, such as [10.0.0.0/8]");
      if (node == nullptr) continue;
      if (const auto network = Network::parse(in_.text(*node))) {
        out_.trusted_proxies.add(*network);
      } else {
        in_.problem(node->place, "trusted_proxies has ", quoted(in_.text(*node)),
                    "; write a network whose other bits are 0, such as 10.0.0.0/8, or an address");
      }
    }
  }

  void read_routes(std::uint32_t id) {
    if (in_.node(id).kind != config::NodeKind::list || in_.elements_of(id).empty()) {
      return in_.problem(in_.place(id), "routes must be a list with at least one route, such as [",
                         route_example, "]");
    }
    // More than is written by hand; a list of YAML aliases could expand beyond the size of the file.
    constexpr std::size_t most_routes = maxima::routes;
    const auto entries = in_.elements_of(id);
    if (entries.size() > most_routes)
      return in_.problem(in_.place(id), "there are more than ", std::to_string(most_routes), " routes");
    for (const std::uint32_t entry : entries) {
      if (in_.exhausted()) return;
      read_route(entry);
    }
  }

  void read_route(std::uint32_t id) {
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
    if (in_.node(id).kind != config::NodeKind::mapping) return;
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
    if (policy != 0) route.on_unavailable = policy_of(policy, subject);
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
    if (good && read_name(name, path, subject, route) && check_others(id, route))
      out_.routes.push_back(std::move(route));
  }

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

  /// Refuses two routes for the same requests, and one resource with different limits.
  bool check_others(std::uint32_t id, const RouteSettings& route) {
    return std::all_of(out_.routes.begin(), out_.routes.end(),
                       [&](const RouteSettings& other) { return check_other(id, route, other); });
  }

  bool check_other(std::uint32_t id, const RouteSettings& route, const RouteSettings& other) {
    if (other.path == route.path && other.host == route.host) {
      in_.problem(in_.place(id), "route ", quoted(route.name), " has the path and the host of route ",
                  quoted(other.name), "; keep one of them");
      return false;
    }
    if (other.name == route.name && other.limits != route.limits) {
      in_.problem(in_.place(id), "two routes are named ", quoted(route.name),
                  " and have different limits; rename one, or give both the same");
      return false;
    }
    return true;
  }

  const Subject file_{"the file"};
  const config::YamlTree& tree_;
  MappingReader in_;
  GatewaySettings out_;
};

}  // namespace

std::string UpstreamUrl::text() const { return base::join(tls ? "https://" : "http://", at.to_string()); }

Result<GatewaySettings> read_gateway_file(std::string_view text, std::string_view file) {
  config::Problems problems{std::string(file)};
  const auto tree = config::YamlTree::read(text, problems, {});
  if (!tree) return problems.error();
  GatewaySettings settings = Reader(*tree, problems).read();
  if (!problems.empty()) return problems.error();
  return settings;
}

}  // namespace weir::gateway
