// The client of a request, and the entity that is charged.
#pragma once

#include <string>
#include <string_view>

#include "gateway/gateway_file.h"
#include "gateway/networks.h"
#include "gateway/request_path.h"
#include "wire/http_request.h"

namespace weir::gateway {

/// The origin of a request, as far as it is known.
struct Origin {
  net::Address client;   ///< the address beyond all trusted proxies
  bool trusted = false;  ///< whether the peer is a trusted proxy, so that its forwarding fields are believed
};

/// The peer, or if that is a trusted proxy, the client in X-Forwarded-For: read from the right, past further
/// trusted proxies. A malformed address ends the walk at the hop before it.
Origin origin_of(const net::Address& peer, const wire::http::Fields& fields, const Networks& trusted);

/// Sets the entity that the request is charged to: "ip:" and an address, or a value. A missing header, path
/// segment or token is replaced by the client's address. A value that is no valid name of an entity, or that
/// could be taken for an address or a hash, is replaced by "h:" and its SHA-256; so names of different kinds
/// never meet.
void name_client(std::string& entity, const RouteSettings& route, const Origin& origin,
                 const wire::http::RequestHead& request, const PathForms& path);

/// Sets the entity of all unknown clients at this address: "ip:" and the address, for IPv6 the /64 network,
/// which one customer usually has.
void name_network(std::string& entity, const Origin& origin);

/// Why the request is refused: it hides, or gives twice, a field that decides what is charged. Empty: it does
/// not.
std::string_view hidden_client(const LimitBy& by, const wire::http::RequestHead& request);

}  // namespace weir::gateway
