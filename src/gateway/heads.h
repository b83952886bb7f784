// Rewrites heads that pass the gateway: hop-by-hop fields are removed, forwarding fields added. Each head is
// written in one pass into a reused buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  std::string_view host = {};  ///< the host that the client asked for
};

/// What differs in the head of a call to a language model.
struct ModelCallHead {
  bool is_call = false;  ///< then the answer is asked for without a content coding, since its usage is read
  bool counts_tokens = false;  ///< then nothing is passed on that would hide the usage in the answer
  /// The body was read, at least its begin: the client expects no 100 any more.
  bool body_begun = false;
  std::optional<std::uint64_t> length = {};  ///< of the body, where it was changed or all of it is known
  /// The field with the gateway's own key and its value; then all keys of the client are dropped, also from
  /// the query, and the fields that choose an account.
  std::string_view key_field = {};
  std::string_view key = {};
};

/// The parts of the head for the upstream that are not those of the client.
struct UpstreamHead {
  std::string_view path;
  std::string_view host;
  std::string_view upgrade = {};   ///< the protocols that the client may change to; empty: none
  std::string_view limit_by = {};  ///< the field that names the client; empty: none
  ModelCallHead model_call = {};
};

/// Appends the head of the request for the upstream.
///  - The target is a path, even if the client sent a URL.
///  - Connection and the fields it names, Keep-Alive, Proxy-Connection, TE, Upgrade, HTTP2-Settings and the
///    lengths are hop-by-hop and are not passed on; an allowed upgrade is written again.
///  - A spelling of one of these names, of a forwarding field or of a field that names the client, with
///    underscores in place of hyphens, is dropped: servers that turn fields into variables read both
///    spellings as one.
///  - X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host and Forwarded describe the client. The client's
///  own
///    are dropped, unless it is a trusted proxy.
void write_upstream_head(wire::Buffer& out, const wire::http::RequestHead& request, const Sender& sender,
                         const UpstreamHead& upstream);

/// The protocols in Upgrade that are allowed, as a list; empty if the request has a body, since then the end
/// of the body and the begin of the tunnel could be read differently.
std::string allowed_upgrade(const wire::http::RequestHead& request, std::span<const std::string> allowed);

/// Fields that write_answer_fields() found in an answer.
struct AnswerFields {
  bool dated = false;
};

struct AnswerRules {
  bool for_upgrade = false;            ///< with Connection and Upgrade
  bool without_vendor_limits = false;  ///< without the limits of the gateway's own key at the vendor
};

/// Appends the fields of an answer for the client, without hop-by-hop fields and lengths.
AnswerFields write_answer_fields(wire::Buffer& out, const wire::http::ResponseHead& answer,
                                 const AnswerRules& rules = {});

/// Appends trailer fields, without those that are forbidden in a trailer.
void write_trailers(wire::Buffer& out, const wire::http::Fields& trailers, std::string_view limit_by = {});

/// Whether the client understands trailers (TE: trailers).
bool takes_trailers(const wire::http::RequestHead& request);

}  // namespace weir::gateway
