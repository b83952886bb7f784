// The limiter's side of a lease: who may change it, under which limits, and what its holder remembers.
#include "base/text.h"
#include "limiter/changing.h"
#include "limiter/core.h"
#include "limiter/lease_id.h"

namespace weir::limiter {
namespace {

using base::error;
using base::invalid;
using detail::LeaseData;
using detail::LeaseVerb;

constexpr std::size_t longest_key = 128;

std::string hex(std::uint64_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned shift = 64; shift > 0; shift -= 4) text += digits[number >> (shift - 4) & 15U];
  return text;
}

}  // namespace

Result<std::string> Core::make_id(LeaseData& lease) {
  if (lease.ending != detail::Ending::open)
    return error(ErrorCode::conflict, "the lease has ended; an id would be of no use");
  if (!lease.id.empty()) return lease.id;
  share(lease);
  return lease.id = encode_lease(lease, name_space_, store_.lease_key());
}

/// From here on every change leaves a marker in the store: others may change the lease too, or an answer may
/// get lost.
void Core::share(LeaseData& lease) {
  if (lease.shared) return;
  lease.nonce = {foundation_.entropy->next() | 1U, foundation_.entropy->next()};
  lease.shared = true;
}

Result<LimitReport> Core::change(LeaseData& lease, LeaseVerb verb, std::span<const Charge> charges) {
  if (store_.every_change_is_marked() && lease.ending == detail::Ending::open) share(lease);
  // The holder's own adjusts are not repeated, but on a shared lease they are told apart by a key.
  const std::string key =
      verb == LeaseVerb::adjust && lease.shared ? hex(foundation_.entropy->next()) : std::string();
  return change_keyed(lease, {verb, key, charges});
}

Result<detail::LeaseData> Core::open_by_id(std::string_view id, const bucket::LeaseChange& change) {
  if (change.verb == LeaseVerb::adjust && (change.key.empty() || change.key.size() > longest_key)) {
    return invalid("an adjust needs a key of 1 to ", std::to_string(longest_key),
                   " characters, so that it can be repeated safely");
  }
  auto lease = decode_lease(id, name_space_, store_.lease_key());
  if (!lease) return error(ErrorCode::not_found, "lease ", base::quoted(id), " is not known here");
  if (auto open = check_deadline(*lease); !open) return open.error();
  return *std::move(lease);
}

Result<LimitReport> Core::change_by_id(std::string_view id, LeaseVerb verb, std::span<const Charge> charges,
                                       std::string_view key) {
  const bucket::LeaseChange change{verb, key, charges};
  auto lease = open_by_id(id, change);
  if (!lease) return lease.error();
  return change_keyed(*lease, change);
}

Result<void> Core::check_deadline(const LeaseData& lease) const {
  if (store_.now() < lease.deadline) return {};
  return error(ErrorCode::expired, "the lease is past its deadline; its charge stands");
}

Result<LimitReport> Core::change_keyed(LeaseData& lease, const bucket::LeaseChange& change) {
  if (auto open = check_deadline(lease); !open) return open.error();
  Changing changing(buckets_, store_.catalog(), shared_);
  auto changed = store::wait_for<void>(
      [&](store::Completion<void> done) { changing.start(name_space_, lease, change, done); });
  if (!changed) return changed.error();
  return std::move(changing.report());
}

}  // namespace weir::limiter
