#include "limiter/core.h"

#include <algorithm>

#include "base/maxima.h"
#include "base/text.h"
#include "limiter/acquire_operation.h"
#include "limiter/request_limits.h"
#include "limiter/waiting_acquire.h"
#include "limits/names.h"

namespace weir::limiter {
namespace {

using base::invalid;
using base::quoted;
using store::wait_for;

// More names than any chain is likely to have; the store keeps a bit for each.
constexpr std::size_t most_charges = maxima::charges;

/// Checks the number and the amounts of the charges.
Result<void> check_consume(std::span<const Charge> consume) {
  if (consume.size() > most_charges)
    return invalid("more than ", std::to_string(most_charges), " limits are named in one request");
  for (const Charge& charge : consume) {
    if (charge.amount < Amount())
      return invalid("amount of ", quoted(charge.limit), " is negative; ask for 0 or more");
    if (!charge.amount.in_range()) {
      return invalid("amount of ", quoted(charge.limit), " is too large; the most is ",
                     Amount::milli(Amount::max_millitokens).to_string());
    }
  }
  return {};
}

Result<void> check_names(std::string_view entity, std::string_view resource,
                         std::span<const Charge> consume) {
  if (auto checked = limits::check_entity(entity); !checked) return checked;
  if (auto checked = limits::check_resource(resource); !checked) return checked;
  for (const Charge& charge : consume) {
    if (auto checked = limits::check_limit_name(charge.limit); !checked) return checked;
  }
  return {};
}

}  // namespace

Core::Core(Foundation foundation, const Options& options)
    : foundation_(std::move(foundation)),
      store_(*foundation_.store),
      buckets_(store_.buckets()),
      name_space_(options.name_space),
      name_space_token_(buckets_.token_of(name_space_)),
      principal_(options.principal),
      lease_deadline_(options.lease_deadline.count()),
      longest_lease_(std::max(longest_lease, lease_deadline_)),
      nonce_start_{foundation_.entropy->next() | 1U, foundation_.entropy->next()},
      shared_(options.bucket_ttl_refill_multiplier) {
  if (!foundation_.waiting) foundation_.waiting = std::make_shared<WaitingRoom>(foundation_.clock);
}

bool Core::plain(const store::Request& request) const {
  const std::span<const Charge> consume = request.consume;
  // As an unsigned number a negative amount is too large: one comparison checks both.
  constexpr auto most = static_cast<std::uint64_t>(Amount::max_millitokens);
  for (const Charge& charge : consume) {
    if (static_cast<std::uint64_t>(charge.amount.millitokens()) > most) return false;
  }
  const bool lasts =
      static_cast<std::uint64_t>(request.lease_for) - 1 < static_cast<std::uint64_t>(longest_lease_);
  return lasts && !consume.empty() && consume.size() <= most_charges;
}

const limits::LimitSet* Core::set_of(const RequestLimits* limits) {
  return limits == nullptr || !limits->set_ ? nullptr : limits->set_->limits.get();
}

Result<Decision> Core::acquire(std::string_view entity, std::string_view resource,
                               std::span<const Charge> consume, const AcquireOptions& options) {
  // The only variable that is returned, so that it is constructed in place (NRVO).
  Result<Decision> result(std::in_place);
  const store::Request request = request_of(entity, resource, consume, options);
  // One comparison for both.
  if ((static_cast<std::uint64_t>(options.max_wait.count()) | options.idempotency_key.size()) != 0)
      [[unlikely]] {
    if (options.max_wait.count() != 0) {
      acquire_waiting(entity, resource, consume, options, result);
    } else {
      acquire_once(request, options.idempotency_key, result);
    }
    return result;
  }
  Decision& decision = *result;
  // Names need no check on the fast path: a bucket with an invalid name does not exist.
  if (!plain(request) || !buckets_.acquire_carried(request, decision)) [[unlikely]] {
    decide_slowly(request, Mode::acquire, result);
    if (!result) return result;
  }
  if (decision.admitted()) decision.open_lease(*this);
  return result;
}

[[gnu::noinline]] void Core::acquire_waiting(std::string_view entity, std::string_view resource,
                                             std::span<const Charge> consume, const AcquireOptions& options,
                                             Result<Decision>& result) {
  WaitingAcquire waiting(*this);
  auto decided = wait_for<void>(
      [&](store::Completion<void> done) { waiting.start(entity, resource, consume, options, done); });
  if (!decided) {
    result = decided.error();
    return;
  }
  result = std::move(waiting.decision());
  // Again on this thread, whose exceptions the lease looks at.
  if (result->admitted()) result->open_lease(*this);
}

[[gnu::noinline]] void Core::acquire_once(store::Request request, std::string_view idempotency_key,
                                          Result<Decision>& result) {
  const auto nonce = nonce_of(request, idempotency_key);
  if (!nonce) {
    result = nonce.error();
    return;
  }
  request.once = &*nonce;
  decide_slowly(request, Mode::acquire, result);
  if (result && result->admitted()) open_once(*result, *nonce);
}

/// The lease is shared: a repetition of the acquire gets the same one.
void Core::open_once(Decision& decision, const Nonce& nonce) {
  decision.open_lease(*this);
  detail::LeaseData& lease = decision.lease_data();
  lease.nonce = nonce;
  lease.shared = true;
}

Result<Decision> Core::available(std::string_view entity, std::string_view resource,
                                 std::span<const Charge> consume, const AcquireOptions& options) {
  Result<Decision> result(std::in_place);
  const store::Request request = request_of(entity, resource, consume, options);
  decide_slowly(request, Mode::peek, result);
  return result;
}

Result<void> Core::check(const store::Request& request, Mode mode) const {
  auto checked = check_consume(request.consume);
  if (checked && mode == Mode::acquire) checked = check_lease_for(request.lease_for);
  if (checked) checked = check_names(request.entity, request.resource, request.consume);
  if (checked && mode == Mode::acquire && request.consume.empty()) {
    checked = invalid("the request names no limit; say what it consumes, such as rpm 1");
  }
  return checked;
}

[[gnu::noinline]] void Core::decide_slowly(const store::Request& request, Mode mode,
                                           Result<Decision>& result) {
  if (auto checked = check(request, mode); !checked) {
    result = checked.error();
    return;
  }
  if (mode == Mode::acquire && request.once == nullptr && decide_carried(request, result)) return;
  AcquireOperation deciding(buckets_, store_.catalog(), shared_);
  auto decided =
      wait_for<void>([&](store::Completion<void> done) { deciding.start(request, mode, *result, done); });
  if (!decided) result = decided.error();
}

/// The fast path of stores that complete asynchronously. False: nothing was done.
bool Core::decide_carried(const store::Request& request, Result<Decision>& result) {
  store::BlockingResult<store::Progress> blocking;
  if (!buckets_.start_carried(request, *result, blocking.completion())) return false;
  auto decided = blocking.wait();
  if (!decided) result = decided.error();
  return true;
}

Result<limits::ResolutionRef> Core::resolve(std::string_view entity, std::string_view resource,
                                            const limits::LimitSetRef& request_limits) {
  Walk walk(store_.catalog(), shared_);
  return wait_for<limits::ResolutionRef>([&](store::Completion<limits::ResolutionRef> done) {
    walk.start({name_space_, entity, resource, request_limits}, done);
  });
}

}  // namespace weir::limiter
