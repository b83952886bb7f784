// Heads on their way through: what is meant for one connection is taken out, what a proxy has to say is put
// in. Each is written in one pass into a buffer that is used again.
#pragma once

#include <string_view>

#include "gateway/client.h"
#include "net/address.h"
#include "wire/buffer.h"
#include "wire/http_request.h"
#include "wire/http_response.h"

namespace weir::gateway {

/// Where a request came from, in text, for the fields that say so.
struct Sender {
  std::string_view peer;  ///< the address on the other end of the connection
  bool v6 = false;
  bool trusted = false;  ///< a proxy whose own words about the client are passed on
  bool tls = false;
};

/// Appends the head of the request as the upstream gets it.
///  - Host is as told; the target is a path, even if the client sent a URL.
///  - Connection and what it names, Keep-Alive, Proxy-Connection, TE, Upgrade and the lengths are for the
///    client's connection and not passed on; an upgrade that the client asks for is asked for again.
///  - X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host and Forwarded say who the client is. What it said
///    of itself is dropped, unless it is a trusted proxy.
void write_upstream_head(wire::Buffer& out, const wire::http::RequestHead& request, const Sender& sender,
                         std::string_view host);

/// What the fields of an answer were found to say.
struct AnswerFields {
  bool dated = false;
};

/// Appends the fields of an answer as the client gets them, without those for the upstream's connection and
/// without lengths. `for_upgrade`: with Connection and Upgrade.
AnswerFields write_answer_fields(wire::Buffer& out, const wire::http::ResponseHead& answer,
                                 bool for_upgrade = false);

/// Appends trailer fields, without those that must not come so late.
void write_trailers(wire::Buffer& out, const wire::http::Fields& trailers);

/// Whether the client understands trailers (TE: trailers).
bool takes_trailers(const wire::http::RequestHead& request);

}  // namespace weir::gateway
