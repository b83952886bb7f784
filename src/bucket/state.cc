#include "bucket/state.h"

#include "limits/names.h"

namespace weir::bucket {
namespace {

bool can_be_used(const LimitState& limit) {
  const limits::Parameters& numbers = limit.parameters;
  const bool concurrent = numbers.kind() == Kind::concurrent;
  if (!can_be_used(limit.holds) || !can_be_used(limit.grants)) return false;
  if (limit.grants.size() > (concurrent ? 0 : maxima::grants)) return false;
  if (concurrent ? limit.tokens != numbers.capacity - total(limit.holds) : !limit.holds.empty()) return false;
  return limits::check_limit_name(limit.name) && is_stored_balance(limit.tokens) &&
         limits::stored_parameters(numbers.capacity, numbers.burst, numbers.refill_amount,
                                   numbers.refill_period) == numbers;
}

}  // namespace

bool can_be_used(const State& state) {
  if (!is_stored_time(state.refilled_at) || !is_stored_time(state.version)) return false;
  if (state.limits.empty() || state.limits.size() > max_limits_kept) return false;
  for (const LimitState& limit : state.limits) {
    if (!can_be_used(limit) || state.find(limit.name) != &limit) return false;
  }
  return true;
}

}  // namespace weir::bucket
