#include "weir/decision.h"

#include <exception>
#include <utility>

namespace weir {

void Decision::clear() {
  admitted_ = false;
  never_fits_ = false;
  wait_ = 0;
  report_.clear();
  lease_ = Lease();
}

void Decision::open_lease(detail::LeaseKeeper& keeper) {
  lease_.keeper_ = &keeper;
  lease_.exceptions_ = std::uncaught_exceptions();
}

Lease::Lease(Lease&& other) noexcept
    : keeper_(std::exchange(other.keeper_, nullptr)),
      exceptions_(other.exceptions_),
      ended_(other.ended_),
      data_(std::move(other.data_)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  keeper_ = std::exchange(other.keeper_, nullptr);
  exceptions_ = other.exceptions_;
  ended_ = other.ended_;
  data_ = std::move(other.data_);
  return *this;
}

Lease::~Lease() { abandon(); }

/// The charge stands, unless the scope is left because something failed.
void Lease::abandon() noexcept {
  if (open() && std::uncaught_exceptions() > exceptions_) static_cast<void>(rollback());
}

Result<LimitReport> Lease::adjust(std::span<const Charge> differences) {
  return change(detail::LeaseVerb::adjust, differences);
}

Result<LimitReport> Lease::settle(std::span<const Charge> actual) { return change(detail::LeaseVerb::settle, actual); }

Result<LimitReport> Lease::rollback() { return change(detail::LeaseVerb::rollback, {}); }

Result<LimitReport> Lease::change(detail::LeaseVerb verb, std::span<const Charge> charges) {
  if (keeper_ == nullptr) {
    return Error{ErrorCode::not_found, "this lease holds nothing: the request was refused, or the lease was moved away"};
  }
  auto report = keeper_->change(data_, verb, charges);
  if (report && verb != detail::LeaseVerb::adjust) ended_ = true;
  return report;
}

Result<std::string> Lease::id() {
  if (keeper_ == nullptr) {
    return Error{ErrorCode::not_found, "this lease has no id: the request was refused, or the lease was moved away"};
  }
  return keeper_->make_id(data_);
}

}  // namespace weir
