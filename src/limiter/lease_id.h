// Lease ids: what is needed to change a lease, in one opaque text.
//
//     "w1" base64url( mac[16] | nonce[16] deadline[8] | namespace resource | buckets | amounts )
//
// The MAC is HMAC-SHA-256 under the store's key, cut to 16 bytes, over everything behind it. Numbers are
// little-endian; texts are a length of two bytes and the bytes; lists are a count of one byte and the
// items. A bucket is a text and its generation[8]; an amount is a text, millitokens[8] and a byte that
// says which buckets were charged.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"
#include "weir/detail/lease_data.h"
#include "weir/report.h"

namespace weir::limiter {

/// The longest id that is looked at.
inline constexpr std::size_t max_lease_id = 16'384;

std::string encode_lease(const detail::LeaseData& lease, std::string_view name_space,
                         const store::LeaseKey& key);

/// The same straight from what was granted, for those who hand out the id and keep nothing.
struct Grant {
  const LimitReport& report;
  Time deadline;
  std::array<std::uint64_t, 2> nonce;
};
void append_grant(std::string& id, const Grant& grant, std::string_view name_space,
                  const store::LeaseKey& key);

/// The nonce of a request that may be sent again: another for every request, principal and key.
std::array<std::uint64_t, 2> nonce_of_request(const store::Request& request, std::string_view principal,
                                              std::string_view idempotency_key, const store::LeaseKey& key);

/// Nothing if the text was not made by encode_lease with the same namespace and key.
std::optional<detail::LeaseData> decode_lease(std::string_view id, std::string_view name_space,
                                              const store::LeaseKey& key);

/// The deadline that an id says it has, for people: nobody vouches for it. Nothing if the text is no id.
std::optional<Time> deadline_of(std::string_view id);

/// What is behind the MAC; for decode_lease and its tests.
std::optional<detail::LeaseData> parse_lease_payload(std::string_view payload, std::string_view name_space);

}  // namespace weir::limiter
