// Lease ids: everything needed to change a lease, in one opaque text.
//
//     "w1" base64url( mac[16] | nonce[16] deadline[8] | namespace resource | buckets | amounts | marker?
//     holds? grants? )
//
// The MAC is HMAC-SHA-256 under the store's key, cut to 16 bytes, over everything after it. Numbers are
// little-endian; texts are a length of two bytes and the bytes; lists are a count of one byte and the items.
// A bucket is a text and its generation[8]; an amount is a text, millitokens[8] and a byte that says which
// buckets were charged. The marker is the entity beside which the marker is kept, if it is not that of the
// first bucket. The holds are a byte for each amount that says in which buckets the limit is concurrent; they
// are there if one of them is not 0, behind a marker that may be empty. The grants are a count of two bytes
// and, for each use of a grant, the amount and the bucket in a byte each, the grant's end[8] and
// millitokens[8]; they are there if the lease took any, behind holds that may be 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/maxima.h"
#include "store/store.h"
#include "weir/detail/lease_data.h"
#include "weir/report.h"

namespace weir::limiter {

/// The longest id that is decoded.
inline constexpr std::size_t max_lease_id = maxima::lease_id;

std::string encode_lease(const detail::LeaseData& lease, std::string_view name_space,
                         const store::LeaseKey& key);

/// The same directly from a grant, for callers that return the id and keep no lease.
struct Grant {
  const LimitReport& report;
  Time deadline;
  std::array<std::uint64_t, 2> nonce;
};
void append_grant(std::string& id, const Grant& grant, std::string_view name_space,
                  const store::LeaseKey& key);

/// The nonce of a keyed acquire: different for every request, principal and key.
std::array<std::uint64_t, 2> nonce_of_request(const store::Request& request, std::string_view principal,
                                              std::string_view idempotency_key, const store::LeaseKey& key);

/// Nothing if the text was not made by encode_lease with the same namespace and key.
std::optional<detail::LeaseData> decode_lease(std::string_view id, std::string_view name_space,
                                              const store::LeaseKey& key);

/// The deadline in an id, unauthenticated, for display only. Nothing if the text is no id.
std::optional<Time> deadline_of(std::string_view id);

/// Parses the part after the MAC; for decode_lease and its tests.
std::optional<detail::LeaseData> parse_lease_payload(std::string_view payload, std::string_view name_space);

}  // namespace weir::limiter
