#include "gateway/client.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/hex.h"
#include "base/text.h"
#include "limits/names.h"
#include "wire/http_chars.h"
#include "wire/http_text.h"

namespace weir::gateway {
namespace {

using wire::http::same_name;

/// Takes the last element off a list; empty ones are skipped.
bool take_last(std::string_view& list, std::string_view& element) {
  while (!list.empty()) {
    const std::size_t comma = list.rfind(',');
    element = wire::http::trim(comma == std::string_view::npos ? list : list.substr(comma + 1));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(0, comma);
    if (!element.empty()) return true;
  }
  return false;
}

void set_hash(std::string& entity, std::string_view value) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(value.data()), value.size(), digest.data());
  entity = "h:" + base::hex(digest);
}

void set_address(std::string& entity, const net::Address& client, bool network) {
  entity = "ip:";
  if (!network || !client.v6) return client.append_host(entity);
  masked(client, 64).append_host(entity);
  entity += "/64";
}

/// The value itself if it is a valid name of its own kind, else its hash.
void set_value(std::string& entity, std::string_view value) {
  if (!value.starts_with("ip:") && !value.starts_with("h:") && limits::check_entity(value)) {
    entity = value;
  } else {
    set_hash(entity, value);
  }
}

/// The segment as the upstream reads it: of the canonical path, decoded.
void set_segment(std::string& value, const RouteSettings& route, const PathForms& path) {
  wire::http::PathSegments segments(
      route.path_parameters == PathRespect::different ? path.canonical() : path.without_parameters());
  std::string_view segment;
  unsigned i = 0;
  do {
    if (!segments.next(segment)) return value.clear();
  } while (++i != route.limit_by.segment);
  if (!wire::http::percent_decode(segment, value)) value = segment;
  // Many programs read each byte that is not UTF-8 as U+FFFD: then many spellings have one meaning.
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  if (value.find(replacement) != std::string::npos || !base::is_utf8(value)) value = replacement;
  if (route.path_case == PathRespect::same)
    std::transform(value.begin(), value.end(), value.begin(), wire::http::lower);
}

/// Fields that tell who sends a request.
bool names_sender(std::string_view name) {
  return same_name(name, "authorization") || same_name(name, "forwarded") || same_name(name, "x-real-ip") ||
         (name.size() > 12 && same_name(name.substr(0, 12), "x-forwarded-"));
}

/// The key in one of the fields of vendors; empty: none.
std::string_view model_key(const wire::http::Fields& fields) {
  for (const std::string_view name : {"x-api-key", "x-goog-api-key", "api-key"}) {
    if (const auto key = fields.find(name)) return *key;
  }
  return {};
}

/// Whether all programs find the same token, or none. They differ in what white space is, beyond ASCII as
/// well.
bool has_one_reading(std::string_view authorization) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  const auto is_white = [](char c) { return c == ' ' || c == '\t'; };
  const std::string_view token = wire::http::bearer_token(authorization);
  return std::all_of(authorization.begin(), authorization.end(), is_ascii) &&
         std::none_of(token.begin(), token.end(), is_white);
}

/// Whether Connection asks that such a field, or the one of limit_by, be dropped.
bool drops_sender(const LimitBy& by, const wire::http::Fields& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!same_name(fields[i].name, "connection")) continue;
    wire::http::ListElements names(fields[i].value);
    for (std::string_view name; names.next(name);) {
      if (names_sender(name) || same_name(name, "host") || (!by.header.empty() && same_name(name, by.header)))
        return true;
    }
  }
  return false;
}

}  // namespace

Origin origin_of(const net::Address& peer, const wire::http::Fields& fields, const Networks& trusted) {
  Origin origin{plain(peer), false};
  origin.client.port = 0;
  if (trusted.empty() || !trusted.have(origin.client)) return origin;
  origin.trusted = true;
  for (std::size_t i = fields.size(); i-- > 0;) {
    if (!same_name(fields[i].name, "x-forwarded-for")) continue;
    std::string_view list = fields[i].value;
    for (std::string_view element; take_last(list, element);) {
      const auto address = parse_forwarded(element);
      if (!address) return origin;
      origin.client = *address;
      if (!trusted.have(*address)) return origin;
    }
  }
  return origin;
}

std::string_view hidden_client(const LimitBy& by, const wire::http::RequestHead& request) {
  const wire::http::Fields& fields = request.fields();
  if (request.connection_names_fields() && drops_sender(by, fields))
    return "Connection names a field that tells who sends the request";
  if (request.authorizations() > 1) return "Authorization is given twice";
  if (by.kind == LimitBy::Kind::bearer && !has_one_reading(fields.find("authorization").value_or("")))
    return "the token in Authorization has white space or a character beyond ASCII";
  if (!by.header.empty() && fields.count(by.header) > 1)
    return "the field that names the client is given twice";
  return {};
}

void name_network(std::string& entity, const Origin& origin) { set_address(entity, origin.client, true); }

void name_client(std::string& entity, const RouteSettings& route, const Origin& origin,
                 const wire::http::RequestHead& request, const PathForms& path) {
  const LimitBy& by = route.limit_by;
  std::string_view value;
  thread_local std::string segment;
  switch (by.kind) {
    case LimitBy::Kind::client_ip:
    case LimitBy::Kind::client_net:
      return set_address(entity, origin.client, by.kind == LimitBy::Kind::client_net);
    case LimitBy::Kind::bearer:
      value = wire::http::bearer_token(request.fields().find("authorization").value_or(""));
      // Always hashed: readers of the store or of a log must not see tokens.
      if (value.empty() && route.llm) value = model_key(request.fields());
      if (!value.empty()) return set_hash(entity, value);
      break;
    case LimitBy::Kind::header:
      value = request.fields().find(by.header).value_or("");
      break;
    case LimitBy::Kind::path:
      set_segment(segment, route, path);
      value = segment;
      break;
  }
  if (value.empty()) return name_network(entity, origin);
  set_value(entity, value);
}

}  // namespace weir::gateway
