// Parses the gateway's file into settings. No I/O; the caller reads the file.
//
//   listen: 0.0.0.0:8080
//   store: redis://127.0.0.1:6379
//   trusted_proxies: [10.0.0.0/8]
//   routes:
//     - path: /api
//       upstream: http://127.0.0.1:9000
//       limit_by: header:X-Api-Key
//       limits: {rpm: 100/min}
//
// docs/gateway.md describes it for users.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decision_log/decision_log.h"
#include "gateway/llm_settings.h"
#include "gateway/networks.h"
#include "gateway/new_clients.h"
#include "server/header_dialect.h"
#include "weir/amount.h"
#include "weir/catalog.h"
#include "weir/limit.h"
#include "weir/result.h"
#include "wire/url.h"

namespace weir::gateway {

using wire::HostPort;

/// How the entity of a request is chosen.
struct LimitBy {
  enum class Kind : std::uint8_t { client_ip, client_net, header, path, bearer };
  Kind kind = Kind::client_ip;
  std::string header = {};  ///< its name
  unsigned segment = 0;     ///< of the path, from 1
  friend bool operator==(const LimitBy&, const LimitBy&) = default;
};

/// An upstream: http://HOST:PORT.
struct UpstreamUrl {
  bool tls = false;
  HostPort at;
  /// "http://127.0.0.1:9000": always with the port.
  std::string text() const;
  /// The value of Host: "127.0.0.1:9000", or "api.example.com" if the port is the default one.
  std::string authority() const { return wire::authority_of(at, tls); }
  friend bool operator==(const UpstreamUrl&, const UpstreamUrl&) = default;
};

/// The Host field for the upstream.
struct HostField {
  enum class Kind : std::uint8_t { client, upstream, name };
  Kind kind = Kind::client;
  std::string name = {};
  friend bool operator==(const HostField&, const HostField&) = default;
};

/// How requests are limited whose client has no record in the store: no limits of its own, no parent, no
/// entity.
enum class UnknownClients : std::uint8_t {
  limit,   ///< each in a bucket of its own, as known ones; too many from one address share one
  share,   ///< all that come from one address share one bucket
  refuse,  ///< answered 403
};

/// What happens to a path that programs read differently (request_path.h).
enum class PathRule : std::uint8_t {
  strict,     ///< it is refused
  canonical,  ///< its canonical form is forwarded
};

/// Whether the upstream tells apart paths that differ in one respect only: in case, or in ";" parameters.
enum class PathRespect : std::uint8_t {
  unknown,    ///< a path that leads to another route without the difference is refused
  different,  ///< such paths are different
  same,       ///< such paths are the same, and take the same route
};

struct RouteSettings {
  std::string name;       ///< the resource that is charged
  std::string path;       ///< the route covers everything below it
  std::string host = {};  ///< in lower case, without a port; empty: any
  std::vector<UpstreamUrl> upstreams = {};
  HostField upstream_host = {};
  LimitBy limit_by = {};
  UnknownClients unknown_clients = UnknownClients::limit;
  PathRule paths = PathRule::strict;
  PathRespect path_case = PathRespect::unknown;
  PathRespect path_parameters = PathRespect::unknown;
  std::vector<std::string> upgrade = {
      "websocket"};                     ///< the protocols that a client may change to, in lower case
  std::vector<NamedLimit> limits = {};  ///< the lowest level; may be empty
  Mode mode = Mode::enforce;            ///< shadow: no limit refuses; off: nothing is decided
  bool usage = true;                    ///< whether usage is counted; the file's default is off for addresses
  Amount cost = 1;                      ///< of a request, for each limit
  std::string cost_header = {};         ///< accepted from trusted proxies only; empty: none
  std::optional<OnUnavailable> on_unavailable = {};
  std::chrono::milliseconds timeout{60'000};
  std::optional<server::Dialect> headers = {};  ///< nothing: the vendor's on a route to a model, else ietf
  std::optional<LlmSettings> llm = {};          ///< of a route to language models
};

struct TlsSettings {
  std::string cert = {};  ///< files, as PEM; both or none
  std::string key = {};
  std::string ca = {};  ///< the trusted CA certificates of https upstreams; empty: those of the system
  friend bool operator==(const TlsSettings&, const TlsSettings&) = default;
};

struct GatewaySettings {
  HostPort listen{"127.0.0.1", 8080};
  std::optional<HostPort> admin_listen = {};
  std::string admin_tokens = {};  ///< a file; empty: the API on admin_listen asks for none
  TlsSettings tls = {};
  std::optional<std::string> store = {};
  std::optional<std::string> name_space = {};
  std::optional<unsigned> threads = {};
  std::optional<OnUnavailable> on_unavailable = {};
  Networks trusted_proxies = {};
  int bucket_ttl_refill_multiplier = 2;
  std::string access_log = {};  ///< a file, or - for stdout; empty: none
  decision_log::DecisionLogOptions decisions = {};
  std::optional<unsigned> max_connections_per_address = {};
  NewClientBounds new_clients = {};
  std::vector<RouteSettings> routes = {};
};

/// Reads a gateway's file: YAML, and so JSON. The error has a line for each mistake:
/// `gateway.yaml:12:7: unknown field "limts" of route "/api"; did you mean "limits"?`.
Result<GatewaySettings> read_gateway_file(std::string_view text, std::string_view file = "gateway.yaml");

}  // namespace weir::gateway
