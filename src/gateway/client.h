// Who a request comes from, and so who is charged.
#pragma once

#include <string>
#include <string_view>

#include "gateway/gateway_file.h"
#include "gateway/networks.h"
#include "wire/http_request.h"

namespace weir::gateway {

/// Where a request came from, as far as it can be known.
struct Origin {
  net::Address client;   ///< the address beyond all trusted proxies
  bool trusted = false;  ///< whether the peer is a trusted proxy, so that what it says of others counts
};

/// The peer, or if that is a trusted proxy, whom X-Forwarded-For names: read from the right, past further
/// trusted proxies. What cannot be read as an address ends the walk at the hop before it.
Origin origin_of(const net::Address& peer, const wire::http::Fields& fields, const Networks& trusted);

/// Sets the entity that the request is charged to. A header, a path or a token that is not there is replaced
/// by the client's address; a value that is no name of an entity by "h:" and its SHA-256.
void name_client(std::string& entity, const LimitBy& by, const Origin& origin,
                 const wire::http::RequestHead& request);

/// The token of "Authorization: Bearer TOKEN"; empty without one.
std::string_view bearer_token(const wire::http::Fields& fields);

}  // namespace weir::gateway
