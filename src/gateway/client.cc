#include "gateway/client.h"

#include <arpa/inet.h>
#include <openssl/evp.h>

#include <array>

#include "base/hex.h"
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

void append_address(std::string& entity, const net::Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), text.data(), text.size());
  entity += text.data();
}

void set_hash(std::string& entity, std::string_view value) {
  std::array<unsigned char, 32> digest{};
  EVP_Digest(value.data(), value.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  entity = "h:" + base::hex(digest);
}

void set_address(std::string& entity, const net::Address& client, bool network) {
  entity.clear();
  if (!network || !client.v6) return append_address(entity, client);
  append_address(entity, masked(client, 64));
  entity += "/64";
}

/// The value itself if it is a valid name, else its hash.
void set_value(std::string& entity, std::string_view value) {
  if (limits::check_entity(value)) {
    entity = value;
  } else {
    set_hash(entity, value);
  }
}

std::string_view segment_of(std::string_view path, unsigned wanted) {
  wire::http::PathSegments segments(path);
  std::string_view segment;
  for (unsigned i = 1; segments.next(segment); ++i) {
    if (i == wanted) return segment;
  }
  return {};
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

std::string_view bearer_token(const wire::http::Fields& fields) {
  constexpr std::string_view scheme = "bearer ";
  const std::string_view value = fields.find("authorization").value_or("");
  if (value.size() <= scheme.size() || !same_name(value.substr(0, scheme.size()), scheme)) return {};
  return wire::http::trim(value.substr(scheme.size()));
}

void name_client(std::string& entity, const LimitBy& by, const Origin& origin,
                 const wire::http::RequestHead& request) {
  std::string_view value;
  switch (by.kind) {
    case LimitBy::Kind::client_ip:
    case LimitBy::Kind::client_net:
      return set_address(entity, origin.client, by.kind == LimitBy::Kind::client_net);
    case LimitBy::Kind::bearer:
      value = bearer_token(request.fields());
      // Always hashed: readers of the store or of a log must not see tokens.
      if (!value.empty()) return set_hash(entity, value);
      break;
    case LimitBy::Kind::header:
      value = request.fields().find(by.header).value_or("");
      break;
    case LimitBy::Kind::path:
      value = segment_of(request.path(), by.segment);
      break;
  }
  if (value.empty()) return set_address(entity, origin.client, false);
  set_value(entity, value);
}

}  // namespace weir::gateway
