#include "gateway/heads.h"

#include <algorithm>
#include <iterator>

#include "gateway/model_keys.h"
#include "wire/http_chars.h"
#include "wire/http_text.h"
#include "wire/http_write.h"

namespace weir::gateway {
namespace {

using wire::Buffer;
using wire::http::Field;
using wire::http::Fields;
using wire::http::Framing;
using wire::http::same_name;

/// Parsed fields need no further checks.
void put_field(Buffer& out, std::string_view name, std::string_view value) {
  out.reserve(name.size() + value.size() + 4);
  out.put(name);
  out.put(": ");
  out.put(value);
  out.put("\r\n");
}

/// Hop-by-hop fields, whether Connection names them or not.
bool is_hop_by_hop(std::string_view name) {
  switch (name.size()) {
    case 2:
      return same_name(name, "te");
    case 7:
      return same_name(name, "upgrade");
    case 10:
      return same_name(name, "connection") || same_name(name, "keep-alive");
    case 14:
      return same_name(name, "content-length") || same_name(name, "http2-settings");
    case 16:
      return same_name(name, "proxy-connection");
    case 17:
      return same_name(name, "transfer-encoding");
    default:
      return false;
  }
}

/// Fields about the origin of a request, which the gateway writes itself.
bool is_about_sender(std::string_view name) {
  switch (name.size()) {
    case 9:
      return same_name(name, "forwarded") || same_name(name, "x-real-ip");
    case 15:
      return same_name(name, "x-forwarded-for");
    case 16:
      return same_name(name, "x-forwarded-host");
    case 17:
      return same_name(name, "x-forwarded-proto");
    default:
      return false;
  }
}

bool is_rewritten(std::string_view name) {
  switch (name.size()) {
    case 4:
      return same_name(name, "host");
    case 5:
      // CGI passes it to programs as HTTP_PROXY (httpoxy).
      return same_name(name, "proxy");
    case 6:
      return same_name(name, "expect");
    default:
      return false;
  }
}

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// Whether the name is that of a field that the gateway treats itself, spelled with underscores.
bool is_shadow(std::string_view name, std::string_view limit_by) {
  if (!wire::http::has_underscore(name)) return false;
  const std::string meant = dashed(name);
  return is_hop_by_hop(meant) || is_about_sender(meant) || is_rewritten(meant) || is_model_key(meant) ||
         (!limit_by.empty() && same_name(meant, limit_by));
}

bool starts_with(std::string_view name, std::string_view begin) {
  return name.size() > begin.size() && same_name(name.substr(0, begin.size()), begin);
}

/// Fields of an answer that tell the limits of a key at its vendor.
bool is_vendor_limit(std::string_view name) {
  return starts_with(name, "x-ratelimit-") || starts_with(name, "anthropic-ratelimit-") ||
         same_name(name, "ratelimit") || same_name(name, "ratelimit-policy");
}

/// Whether a field of a call to a model is written by the gateway, or is not for the vendor. Underscores
/// count as hyphens.
bool is_rewritten_in_call(std::string_view name, const ModelCallHead& call) {
  if (wire::http::has_underscore(name)) return is_rewritten_in_call(dashed(name), call);
  return same_name(name, "accept-encoding") || is_other_method(name) ||
         (call.counts_tokens && is_field_mask(name)) ||
         (!call.key.empty() && (is_model_key(name) || is_model_account(name)));
}

/// The query with the "?" before it.
void put_query(Buffer& out, const wire::http::RequestHead& request, const ModelCallHead& call) {
  if (call.is_call) {
    const std::string query = query_for_vendor(
        request.query(), {.drops_keys = !call.key.empty(), .counts_tokens = call.counts_tokens});
    if (query.empty()) return;
    out.append("?");
    return out.append(query);
  }
  if (request.query().empty() && !request.target().ends_with('?')) return;
  out.append("?");
  out.append(request.query());
}

/// Fields that come too late in a trailer: framing, content coding, authentication and routing.
bool is_forbidden_in_trailer(std::string_view name) {
  if (is_hop_by_hop(name) || is_rewritten(name) || is_about_sender(name)) return true;
  if (is_model_key(name) || is_model_account(name) || is_other_method(name) || is_field_mask(name))
    return true;
  if (name.size() > 8 && same_name(name.substr(0, 8), "content-")) return true;
  constexpr std::string_view others[] = {
      "cookie", "set-cookie", "cache-control",   "max-forwards", "proxy-authenticate", "proxy-authorization",
      "range",  "trailer",    "www-authenticate"};
  return std::any_of(std::begin(others), std::end(others),
                     [&](std::string_view other) { return same_name(name, other); });
}

/// The names that Connection lists, beyond the usual ones.
class Named {
 public:
  explicit Named(const wire::http::RequestHead& request) : any_(request.connection_names_fields()) {}
  explicit Named(const Fields& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!same_name(fields[i].name, "connection")) continue;
      const std::string_view value = fields[i].value;
      if (same_name(value, "keep-alive") || same_name(value, "close") || same_name(value, "upgrade"))
        continue;
      any_ = true;
    }
  }
  bool has(const Fields& fields, std::string_view name) const {
    if (!any_) return false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (same_name(fields[i].name, "connection") && wire::http::list_has(fields[i].value, name)) return true;
    }
    return false;
  }

 private:
  bool any_ = false;
};

/// All values of a name as one list, then `last`.
void put_list(Buffer& out, std::string_view label, const Fields& fields, std::string_view name,
              std::string_view last) {
  out.append(label);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!same_name(fields[i].name, name) || fields[i].value.empty()) continue;
    out.append(fields[i].value);
    out.append(", ");
  }
  out.append(last);
}

bool has(const Fields& fields, std::string_view name) { return fields.find(name).has_value(); }

/// Forwarded needs quotes around text that is no token. A host has nothing to escape.
void put_forwarded_element(Buffer& out, const Sender& sender, std::string_view host) {
  out.append(sender.v6 ? "for=\"[" : "for=");
  out.append(sender.peer);
  out.append(sender.v6 ? "]\"" : "");
  if (!host.empty()) {
    out.append(";host=\"");
    out.append(host);
    out.append("\"");
  }
  out.append(sender.tls ? ";proto=https\r\n" : ";proto=http\r\n");
}

void put_sender(Buffer& out, const wire::http::RequestHead& request, const Sender& sender) {
  const Fields& fields = request.fields();
  if (!sender.trusted) {
    put_field(out, "X-Forwarded-For", sender.peer);
    put_field(out, "X-Forwarded-Proto", sender.tls ? "https" : "http");
    if (!sender.host.empty()) put_field(out, "X-Forwarded-Host", sender.host);
    out.append("Forwarded: ");
    return put_forwarded_element(out, sender, sender.host);
  }
  put_list(out, "X-Forwarded-For: ", fields, "x-forwarded-for", sender.peer);
  out.append("\r\n");
  put_field(out, "X-Forwarded-Proto",
            fields.find("x-forwarded-proto").value_or(sender.tls ? "https" : "http"));
  const std::string_view host = fields.find("x-forwarded-host").value_or(sender.host);
  if (!host.empty()) put_field(out, "X-Forwarded-Host", host);
  if (const auto real = fields.find("x-real-ip")) put_field(out, "X-Real-IP", *real);
  put_list(out, "Forwarded: ", fields, "forwarded", "");
  put_forwarded_element(out, sender, sender.host);
}

constexpr std::string_view via_weir = "Via: 1.1 weir\r\n";

void put_via(Buffer& out, const Fields& fields) {
  if (!has(fields, "via")) return out.append(via_weir);
  put_list(out, "Via: ", fields, "via", "1.1 weir");
  out.append("\r\n");
}

void put_length(Buffer& out, const wire::http::RequestHead& request, const ModelCallHead& call) {
  if (call.length) {
    wire::http::write_field(out, "Content-Length", *call.length);
  } else if (request.body().kind == Framing::Kind::length) {
    wire::http::write_field(out, "Content-Length", request.body().length);
  } else if (request.body().kind == Framing::Kind::chunked) {
    out.append("Transfer-Encoding: chunked\r\n");
  } else if (has(request.fields(), "content-length")) {
    out.append("Content-Length: 0\r\n");
  }
}

}  // namespace

void write_upstream_head(Buffer& out, const wire::http::RequestHead& request, const Sender& sender,
                         const UpstreamHead& upstream) {
  const Fields& fields = request.fields();
  // Room for the client's fields and those that are added; usually one allocation is enough.
  constexpr std::size_t added = 512;
  out.reserve(request.target().size() + 64 * fields.size() + added);
  out.append(request.method_text());
  out.append(" ");
  out.append(upstream.path);
  put_query(out, request, upstream.model_call);
  out.append(" HTTP/1.1\r\nHost: ");
  out.append(upstream.host);
  out.append("\r\n");
  const Named named(request);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields[i];
    const std::string_view name = field.name;
    if (is_hop_by_hop(name) || is_rewritten(name) || is_about_sender(name)) continue;
    if (name.size() == 3 && same_name(name, "via")) continue;
    if (named.has(fields, name) || is_shadow(name, upstream.limit_by)) continue;
    if (upstream.model_call.is_call && is_rewritten_in_call(name, upstream.model_call)) continue;
    put_field(out, name, field.value);
  }
  put_sender(out, request, sender);
  put_via(out, fields);
  const ModelCallHead& call = upstream.model_call;
  if (call.is_call) out.append("Accept-Encoding: identity\r\n");
  if (!call.key.empty()) put_field(out, call.key_field, call.key);
  put_length(out, request, call);
  if (request.expects_continue() && !call.body_begun) out.append("Expect: 100-continue\r\n");
  const bool trailers = takes_trailers(request);
  if (trailers) out.append("TE: trailers\r\n");
  if (!upstream.upgrade.empty()) {
    put_field(out, "Upgrade", upstream.upgrade);
    out.append(trailers ? "Connection: upgrade, TE\r\n" : "Connection: upgrade\r\n");
  } else if (trailers) {
    out.append("Connection: TE\r\n");
  }
  out.append("\r\n");
}

std::string allowed_upgrade(const wire::http::RequestHead& request, std::span<const std::string> allowed) {
  std::string offered;
  if (!request.upgrade() || request.body().kind != Framing::Kind::none) return offered;
  const Fields& fields = request.fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!same_name(fields[i].name, "upgrade")) continue;
    wire::http::ListElements protocols(fields[i].value);
    for (std::string_view protocol; protocols.next(protocol);) {
      if (std::none_of(allowed.begin(), allowed.end(),
                       [&](const std::string& name) { return same_name(name, protocol); }))
        continue;
      offered.append(offered.empty() ? "" : ", ").append(protocol);
    }
  }
  return offered;
}

AnswerFields write_answer_fields(Buffer& out, const wire::http::ResponseHead& answer,
                                 const AnswerRules& rules) {
  const Fields& fields = answer.fields();
  AnswerFields found;
  const Named named(fields);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field field = fields[i];
    const std::string_view name = field.name;
    if (name.size() == 4 && same_name(name, "date")) {
      // Only the first Date is passed on.
      if (found.dated) continue;
      found.dated = true;
    }
    if (is_hop_by_hop(name)) continue;
    if (name.size() == 3 && same_name(name, "via")) continue;
    if (named.has(fields, name) || (rules.without_vendor_limits && is_vendor_limit(name))) continue;
    put_field(out, name, field.value);
  }
  put_via(out, fields);
  if (rules.for_upgrade) {
    out.append("Connection: upgrade\r\n");
    if (const auto upgrade = fields.find("upgrade")) put_field(out, "Upgrade", *upgrade);
  }
  return found;
}

void write_trailers(Buffer& out, const Fields& trailers, std::string_view limit_by) {
  for (std::size_t i = 0; i < trailers.size(); ++i) {
    const Field field = trailers[i];
    // Servers that add trailers to the fields would take the client for another.
    if (!limit_by.empty() && same_name(field.name, limit_by)) continue;
    if (is_forbidden_in_trailer(field.name) || is_shadow(field.name, limit_by)) continue;
    put_field(out, field.name, field.value);
  }
}

bool takes_trailers(const wire::http::RequestHead& request) {
  const auto te = request.fields().find("te");
  return te && wire::http::list_has(*te, "trailers");
}

}  // namespace weir::gateway
