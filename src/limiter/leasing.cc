// The limiter's side of a lease: ids, changes, and the data that the holder keeps.
#include "base/hex.h"
#include "base/text.h"
#include "decision/lease_change.h"
#include "limiter/core.h"
#include "limiter/lease_id.h"
#include "limiter/lease_operation.h"
#include "limits/names.h"

namespace weir::limiter {
namespace {

using base::error;
using detail::LeaseData;
using detail::LeaseVerb;

}  // namespace

Result<void> Core::check_lease_for(Time lease_for) const {
  if (lease_for >= 1 && lease_for <= longest_lease_) return {};
  return base::invalid("a lease lasts at least 1 ms and at most ", std::to_string(longest_lease_),
                       longest_lease_ == longest_lease ? " ms (a year)" : " ms");
}

Result<std::string> Core::make_id(LeaseData& lease) {
  if (lease.ending != detail::Ending::open)
    return error(ErrorCode::conflict, "the lease has ended; an id would be of no use");
  if (!lease.id.empty()) return lease.id;
  share(lease);
  return lease.id = encode_lease(lease, name_space_, store_.lease_key());
}

/// From here on every change writes a marker: other processes may change the lease too, or an answer may get
/// lost.
void Core::share(LeaseData& lease) {
  if (!lease.shared) lease.nonce = next_nonce();
  lease.shared = true;
}

void Core::append_id(std::string& id, Decision& admitted) {
  if (detail::LeaseData* const lease = admitted.made_lease_data()) {
    id += *make_id(*lease);
    return;
  }
  append_grant(id, {admitted.limits(), admitted.lease().deadline(), next_nonce()}, name_space_,
               store_.lease_key());
}

Result<Core::Nonce> Core::nonce_of(const store::Request& request, std::string_view idempotency_key) const {
  if (idempotency_key.size() > limits::longest_key)
    return base::invalid("an idempotency key has at most ", std::to_string(limits::longest_key),
                         " characters");
  if (auto opened = store_.opened(); !opened) return opened.error();
  return nonce_of_request(request, principal_, idempotency_key, store_.lease_key());
}

/// Unique, but not secret: an id is protected by its MAC. Counts from a random start, since random bytes from
/// the system cost more than the whole decision.
Core::Nonce Core::next_nonce() {
  return {nonce_start_[0], nonce_start_[1] + nonces_.fetch_add(1, std::memory_order_relaxed)};
}

Result<LimitReport> Core::change(LeaseData& lease, LeaseVerb verb, std::span<const Charge> charges,
                                 Debt debt) {
  if (store_.every_change_is_marked() && lease.ending == detail::Ending::open) share(lease);
  // The holder's own adjusts are not repeated, but on a shared lease each needs a unique key.
  const std::string key =
      verb == LeaseVerb::adjust && lease.shared ? base::hex(foundation_.entropy->next()) : std::string();
  return change_keyed(lease, {.verb = verb, .key = key, .charges = charges, .debt = debt});
}

Result<void> Core::extend(LeaseData& lease, Time lease_for) {
  if (auto checked = check_lease_for(lease_for); !checked) return checked.error();
  if (store_.every_change_is_marked() && lease.ending == detail::Ending::open) share(lease);
  auto changed =
      change_keyed(lease, {.verb = LeaseVerb::extend, .key = {}, .charges = {}, .lease_for = lease_for});
  if (!changed) return changed.error();
  return {};
}

Result<Time> Core::extend_by_id(std::string_view id, Time lease_for) {
  const decision::LeaseChange change{
      .verb = LeaseVerb::extend, .key = {}, .charges = {}, .lease_for = lease_for};
  auto lease = open_by_id(id, change);
  if (!lease) return lease.error();
  if (auto changed = change_keyed(*lease, change); !changed) return changed.error();
  return lease->deadline;
}

Result<detail::LeaseData> Core::open_by_id(std::string_view id, const decision::LeaseChange& change) {
  if (change.verb == LeaseVerb::adjust) {
    if (auto checked = limits::check_adjust_key(change.key); !checked) return checked.error();
  }
  if (change.verb == LeaseVerb::extend) {
    if (auto checked = check_lease_for(change.lease_for); !checked) return checked.error();
  }
  if (auto opened = store_.opened(); !opened) return opened.error();
  auto lease = decode_lease(id, name_space_, store_.lease_key());
  if (!lease) return error(ErrorCode::not_found, "lease ", base::quoted(id), " is not known here");
  return *std::move(lease);
}

Result<LimitReport> Core::change_by_id(std::string_view id, const decision::LeaseChange& change) {
  auto lease = open_by_id(id, change);
  if (!lease) return lease.error();
  return change_keyed(*lease, change);
}

Result<void> Core::begin_change(LeaseData& lease, const decision::LeaseChange& change) const {
  // Only the marker of a shared lease says whether another process has extended it.
  const bool uncharged = lease.buckets.empty();
  if (lease.shared && !uncharged) return {};
  const Time now = store_.now();
  if (auto open = decision::check_open(lease.deadline, now); !open) return open.error();
  if (uncharged) lease.deadline = decision::next_deadline(change, lease.deadline, now, {});
  return {};
}

Result<LimitReport> Core::change_keyed(LeaseData& lease, const decision::LeaseChange& change) {
  if (auto open = begin_change(lease, change); !open) return open.error();
  LeaseOperation changing(buckets_, store_.catalog(), shared_);
  auto changed = store::wait_for<void>(
      [&](store::Completion<void> done) { changing.start(name_space_, lease, change, done); });
  if (!changed) return changed.error();
  return std::move(changing.report());
}

}  // namespace weir::limiter
