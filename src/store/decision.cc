#include "weir/decision.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

Error holds_nothing() {
  return {ErrorCode::not_found,
          "this lease holds nothing: the request was refused, or the lease was moved away"};
}

}  // namespace

// The report is copied, not moved, so that a decision can still be read after its lease was moved away.
Lease::Lease(Lease&& other) noexcept
    : keeper_(std::exchange(other.keeper_, nullptr)),
      exceptions_(other.exceptions_),
      ended_(other.ended_),
      deadline_(other.deadline_),
      grant_(std::as_const(other.grant_)),
      data_(std::move(other.data_)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  keeper_ = std::exchange(other.keeper_, nullptr);
  exceptions_ = other.exceptions_;
  ended_ = other.ended_;
  deadline_ = other.deadline_;
  grant_ = std::as_const(other.grant_);
  data_ = std::move(other.data_);
  return *this;
}

Result<LimitReport> Lease::adjust(std::span<const Charge> differences, Debt debt) {
  return change(detail::LeaseVerb::adjust, differences, debt);
}

Result<LimitReport> Lease::settle(std::span<const Charge> actual) {
  return change(detail::LeaseVerb::settle, actual);
}

Result<Time> Lease::extend(std::chrono::milliseconds lease_for) {
  if (keeper_ == nullptr) return holds_nothing();
  if (auto extended = keeper_->extend(data(), lease_for.count()); !extended) return extended.error();
  return deadline_ = data_->deadline;
}

Result<LimitReport> Lease::rollback() { return change(detail::LeaseVerb::rollback, {}); }

void Decision::set_blocked(Block block, Time now) {
  // Both are moments; a difference of others cannot overflow either.
  const auto left = [&] {
    return *block.until > now && (now >= 0 || *block.until < 0) ? *block.until - now : 1;
  };
  set_refused(block.until ? std::optional(std::max<Time>(left(), 1)) : std::nullopt, false);
  lease_.data_ = std::make_unique<detail::LeaseData>();
  lease_.data_->block = std::make_shared<const Block>(std::move(block));
  blocked_ = true;
}

detail::LeaseData& Lease::data() {
  if (data_) return *data_;
  data_ = std::make_unique<detail::LeaseData>();
  data_->deadline = deadline_;
  for (std::size_t i = 0; i < grant_.size(); ++i) {
    const LimitStatus status = grant_[i];
    const std::size_t position = grant_.bucket_of(i);
    const LimitReport::Bucket& bucket = grant_.bucket(position);
    if (position == data_->buckets.size()) {
      data_->resource = status.resource;
      data_->buckets.push_back({std::string(status.entity), bucket.generation});
    }
    if ((bucket.named >> (i - bucket.first_line) & 1U) == 0) continue;
    auto& amounts = data_->amounts;
    auto amount = std::find_if(amounts.begin(), amounts.end(),
                               [&](const auto& other) { return other.limit == status.name; });
    if (amount == amounts.end()) {
      amounts.push_back({std::string(status.name), status.requested.millitokens(), 0});
      amount = amounts.end() - 1;
    }
    amount->buckets = static_cast<std::uint8_t>(amount->buckets | 1U << position);
    if (status.kind == Kind::concurrent)
      amount->holds = static_cast<std::uint8_t>(amount->holds | 1U << position);
  }
  return *data_;
}

Result<LimitReport> Lease::change(detail::LeaseVerb verb, std::span<const Charge> charges, Debt debt) {
  if (keeper_ == nullptr) return holds_nothing();
  auto report = keeper_->change(data(), verb, charges, debt);
  const bool over =
      !report && (report.error().code == ErrorCode::conflict || report.error().code == ErrorCode::expired);
  if (over || (report && verb != detail::LeaseVerb::adjust)) ended_ = true;
  return report;
}

Result<std::string> Lease::id() {
  if (keeper_ == nullptr) {
    return Error{ErrorCode::not_found,
                 "this lease has no id: the request was refused, or the lease was moved away"};
  }
  return keeper_->make_id(data());
}

}  // namespace weir
