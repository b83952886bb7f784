// A lease: an admitted charge that can still be adjusted, settled or rolled back.
#pragma once

#include <chrono>
#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weir/amount.h"
#include "weir/clock.h"
#include "weir/detail/export.h"
#include "weir/detail/lease_data.h"
#include "weir/report.h"
#include "weir/result.h"

namespace weir {

/// An admitted charge. Move-only; must be destroyed before its Limiter; not safe to use from several threads
/// at once. Changes block like the calls of a Limiter.
///
/// A lease that is destroyed keeps its charge. If it is destroyed because an exception leaves its scope, the
/// destructor rolls it back, even if its id was handed out. A lease that is never settled keeps its charge,
/// and after its deadline it cannot be changed. What it holds of concurrent limits is given back when it
/// ends, and at its deadline at the latest.
class WEIR_API Lease {
 public:
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { abandon(); }

  /// Charges more (positive) or gives back (negative), at once. A balance may go into debt, unless `debt`
  /// says otherwise. Giving back more than the lease holds is an error. On failure nothing has changed,
  /// unless the code is outcome_unknown.
  Result<LimitReport> adjust(std::initializer_list<Charge> differences, Debt debt = Debt::allowed) {
    return adjust(as_span(differences), debt);
  }
  /// @overload
  Result<LimitReport> adjust(std::span<const Charge> differences, Debt debt = Debt::allowed);

  /// States the true cost and ends the lease. Concurrent limits are given back. Limits that are left out keep
  /// their charge; one that the acquire did not name is charged too. Settling again with the same amounts
  /// changes nothing; with others it fails with conflict.
  Result<LimitReport> settle(std::initializer_list<Charge> actual) { return settle(as_span(actual)); }
  /// @overload
  Result<LimitReport> settle(std::span<const Charge> actual);

  /// Moves the deadline: the lease can be changed, and holds concurrent limits, for `lease_for` from now on
  /// (1 ms to a year), rounded up as by an acquire. The deadline is never moved to an earlier time. Fails
  /// with conflict after the lease has ended, and with expired after its deadline. Returns the new deadline.
  Result<Time> extend(std::chrono::milliseconds lease_for);

  /// Gives everything back and ends the lease. Rolling back again changes nothing; a lease that was settled
  /// fails with conflict.
  Result<LimitReport> rollback();

  /// The text by which any process on the same store and namespace can adjust, settle or roll back this
  /// lease (Limiter::adjust and so on). It is made on the first call, without asking the store, cannot be
  /// forged, and stays the same. Ask for it before the lease ends.
  Result<std::string> id();

  /// Whether the lease can still be changed, as far as this object knows: another holder of its id may have
  /// ended it.
  bool open() const { return keeper_ != nullptr && !ended_; }
  /// When the lease can be changed for the last time, by the store's clock.
  Time deadline() const { return deadline_; }

 private:
  friend class Decision;
  Lease() = default;

  static std::span<const Charge> as_span(std::initializer_list<Charge> list) {
    return {list.begin(), list.size()};
  }
  Result<LimitReport> change(detail::LeaseVerb verb, std::span<const Charge> charges,
                             Debt debt = Debt::allowed);
  detail::LeaseData& data();
  /// Keeps the charge, unless an exception is unwinding the scope: then rolls it back.
  void abandon() noexcept {
    if (open() && std::uncaught_exceptions() > exceptions_) [[unlikely]]
      static_cast<void>(rollback());
  }

  detail::LeaseKeeper* keeper_ = nullptr;
  int exceptions_ = 0;  // in flight when the lease began; more of them at destruction: roll back
  bool ended_ = false;
  Time deadline_ = 0;
  LimitReport grant_;                        // what was charged
  std::unique_ptr<detail::LeaseData> data_;  // the same in the form that changes need; made on demand
};

}  // namespace weir
