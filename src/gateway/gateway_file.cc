#include "gateway/gateway_file.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/duration.h"
#include "base/maxima.h"
#include "base/text.h"
#include "config/mapping.h"
#include "config/problems.h"
#include "config/yaml_tree.h"
#include "decision_log/settings.h"
#include "gateway/route_reader.h"
#include "limits/names.h"

namespace weir::gateway {
namespace {

using base::quoted;
using config::MappingReader;
using config::Subject;
using config::YamlNode;

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
    if (policy != 0) out_.on_unavailable = read_policy(in_, policy, file_);
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
      auto route = read_route(tree_, in_, entry);
      if (route && check_others(entry, *route)) out_.routes.push_back(*std::move(route));
    }
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
