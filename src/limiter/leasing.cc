// The limiter's side of a lease: who may change it, under which limits, and what its holder remembers.
#include "base/text.h"
#include "limiter/core.h"
#include "limiter/lease_id.h"

namespace weir::limiter {
namespace {

using base::error;
using base::invalid;
using detail::LeaseData;
using detail::LeaseVerb;
using store::Progress;

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
  lease.nonce = {foundation_.entropy->next() | 1U, foundation_.entropy->next()};
  // From here on others may change the lease, so every change leaves a marker in the store.
  lease.shared = true;
  return lease.id = encode_lease(lease, name_space_, store_.lease_key());
}

Result<LimitReport> Core::change(LeaseData& lease, LeaseVerb verb, std::span<const Charge> charges) {
  // The holder's own adjusts are not repeated, but on a shared lease they are told apart by a key.
  const std::string key =
      verb == LeaseVerb::adjust && lease.shared ? hex(foundation_.entropy->next()) : std::string();
  return change_keyed(lease, {verb, key, charges});
}

Result<LimitReport> Core::change_by_id(std::string_view id, LeaseVerb verb, std::span<const Charge> charges,
                                       std::string_view key) {
  if (verb == LeaseVerb::adjust && (key.empty() || key.size() > longest_key)) {
    return invalid("an adjust needs a key of 1 to ", std::to_string(longest_key),
                   " characters, so that it can be repeated safely");
  }
  auto lease = decode_lease(id, name_space_, store_.lease_key());
  if (!lease) return error(ErrorCode::not_found, "lease ", base::quoted(id), " is not known here");
  return change_keyed(*lease, {verb, key, charges});
}

Result<LimitReport> Core::change_keyed(LeaseData& lease, const bucket::LeaseChange& change) {
  if (store_.now() >= lease.deadline) {
    return error(ErrorCode::expired, "the lease is past its deadline; its charge stands");
  }
  std::vector<limits::ResolutionRef> resolutions(lease.buckets.size());
  store::LeaseOutcome outcome;
  store::ChangesHeld held(store_.catalog());
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (attempt >= patient_attempts) held.hold();
    for (std::size_t i = 0; i < resolutions.size(); ++i) {
      auto resolution = resolve(lease.buckets[i].entity, lease.resource, {});
      if (!resolution) return resolution.error();
      resolutions[i] = *std::move(resolution);
    }
    const store::LeasePlan plan{name_space_, lease, change, resolutions};
    auto progress =
        store::wait_for<Progress>([&](auto done) { store_.buckets().change(plan, outcome, done); });
    if (!progress) return progress.error();
    if (*progress == Progress::resolve_again) continue;
    lease.ending = outcome.record.ending;
    lease.amounts = std::move(outcome.record.amounts);
    return outcome.report;
  }
  return error(ErrorCode::contention, "limits changed too often while changing the lease; try again");
}

}  // namespace weir::limiter
