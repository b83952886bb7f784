// Rewrites heads that pass the gateway: hop-by-hop fields are removed, forwarding fields added. Each head is
// written in one pass into a reused buffer.
#pragma once

#include <string_view>

#include "gateway/client.h"
#include "net/address.h"
#include "wire/buffer.h"
#include "wire/http_request.h"
#include "wire/http_response.h"

namespace weir::gateway {

/// The origin of a request as text, for the forwarding fields.
struct Sender {
  std::string_view peer;  ///< the address on the other end of the connection
  bool v6 = false;
  bool trusted = false;  ///< a proxy whose forwarding fields are passed on
  bool tls = false;
};

/// Appends the head of the request for the upstream.
///  - Host is `host`; the target is a path, even if the client sent a URL.
///  - Connection and the fields it names, Keep-Alive, Proxy-Connection, TE, Upgrade and the lengths are
///    hop-by-hop and not passed on; the client's request for an upgrade is written again.
///  - X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host and Forwarded describe the client. The client's
///  own
///    are dropped, unless it is a trusted proxy.
void write_upstream_head(wire::Buffer& out, const wire::http::RequestHead& request, const Sender& sender,
                         std::string_view host);

/// Fields that write_answer_fields() found in an answer.
struct AnswerFields {
  bool dated = false;
};

/// Appends the fields of an answer for the client, without hop-by-hop fields and lengths. `for_upgrade`: with
/// Connection and Upgrade.
AnswerFields write_answer_fields(wire::Buffer& out, const wire::http::ResponseHead& answer,
                                 bool for_upgrade = false);

/// Appends trailer fields, without those that are forbidden in a trailer.
void write_trailers(wire::Buffer& out, const wire::http::Fields& trailers);

/// Whether the client understands trailers (TE: trailers).
bool takes_trailers(const wire::http::RequestHead& request);

}  // namespace weir::gateway
