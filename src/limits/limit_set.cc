#include "limits/limit_set.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/maxima.h"
#include "base/text.h"
#include "base/wide.h"
#include "limits/names.h"

namespace weir::limits {

Rate reduced(std::int64_t amount, std::int64_t period) {
  const std::int64_t divisor = std::gcd(amount, period);
  return {amount / divisor, period / divisor};
}

bool slower(Rate a, Rate b) { return base::Int128{a.amount} * b.period < base::Int128{b.amount} * a.period; }

Parameters parameters_of(const Limit& limit) {
  const std::int64_t amount = limit.refill_amount().millitokens();
  const std::int64_t period = limit.kind() == Kind::concurrent ? 1 : limit.refill_period().count();
  return {limit.capacity().millitokens(), limit.burst().millitokens(), amount, period,
          reduced(amount, period)};
}

Limit limit_of(const Parameters& parameters, Mode mode) {
  if (parameters.kind() == Kind::concurrent) {
    auto limit =
        Limit::make({.capacity = Amount::milli(parameters.capacity), .mode = mode, .kind = Kind::concurrent});
    return *std::move(limit);
  }
  auto limit = Limit::make({.capacity = Amount::milli(parameters.capacity),
                            .burst = Amount::milli(parameters.burst),
                            .refill_amount = Amount::milli(parameters.refill_amount),
                            .refill_period = std::chrono::milliseconds(parameters.refill_period),
                            .mode = mode});
  return *std::move(limit);
}

namespace {

Time time_to_grant(Rate rate, std::int64_t tokens) {
  return base::saturate((base::Int128{tokens} * rate.period + rate.amount - 1) / rate.amount);
}

}  // namespace

Time time_to_fill(const Parameters& parameters) {
  if (parameters.kind() == Kind::concurrent) return 0;
  return time_to_grant(parameters.rate, parameters.capacity);
}

Time keep_for(const Parameters& parameters, int multiplier) {
  const Time fill = time_to_fill(parameters);
  const Time unused = base::saturate(base::Int128{fill} * multiplier);
  if (parameters.burst <= parameters.capacity) return unused;
  return std::max(unused, base::saturating_add(time_to_grant(parameters.rate, parameters.burst), fill));
}

namespace {

std::uint32_t window_of(const Parameters& parameters) {
  if (parameters.kind() == Kind::concurrent) return 0;
  const Time seconds = time_to_fill(parameters) / 1000 + (time_to_fill(parameters) % 1000 != 0 ? 1 : 0);
  return static_cast<std::uint32_t>(std::clamp<Time>(seconds, 1, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

LimitSet::LimitSet(std::vector<NamedParameters> limits) {
  std::sort(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  limits_ = std::make_unique<Entry[]>(limits.size());
  for (const auto& [name, parameters, from, mode] : limits) {
    if (mode == Mode::shadow) shadows_ |= 1U << size_;
    if (mode == Mode::off) off_ |= 1U << size_;
    if (parameters.kind() == Kind::concurrent) concurrent_ |= 1U << size_;
    limits_[size_++] = {base::head_of(name),
                        {static_cast<std::uint16_t>(names_.size()), static_cast<std::uint8_t>(name.size()),
                         LimitReport::Name::marks_of(from, mode, parameters.kind())},
                        window_of(parameters),
                        parameters};
    names_ += name;
  }
}

Time LimitSet::keep_for(int multiplier) const {
  Time longest = 0;
  for (std::size_t i = 0; i < size_; ++i)
    longest = std::max(longest, limits::keep_for(limits_[i].parameters, multiplier));
  return longest;
}

std::vector<NamedLimit> LimitSet::limits() const {
  std::vector<NamedLimit> limits;
  for (std::size_t i = 0; i < size(); ++i)
    limits.push_back({std::string(name(i)), limit_of((*this)[i], mode(i))});
  return limits;
}

LimitSetRef copy_of(const LimitSet& set) {
  std::vector<NamedParameters> named;
  for (std::size_t i = 0; i < set.size(); ++i)
    named.push_back({std::string(set.name(i)), set[i], set.source(i), set.mode(i)});
  return LimitSetRef(new LimitSet(std::move(named)));
}

void set_mode(std::vector<NamedLimit>& limits, Mode mode) {
  for (NamedLimit& limit : limits) {
    if (limit.limit.mode() == Mode::enforce) limit.limit = limit.limit.in_mode(mode);
  }
}

Result<LimitSetRef> make_limit_set(std::span<const NamedLimit> limits) {
  if (limits.empty()) return base::invalid("no limits given; name at least one, such as rpm with 100/min");
  if (limits.size() > max_limits) {
    return base::invalid(std::to_string(limits.size()), " limits given; a bucket holds at most ",
                         std::to_string(max_limits));
  }
  std::vector<NamedParameters> set;
  for (const NamedLimit& limit : limits) {
    if (auto checked = check_limit_name(limit.name); !checked) return checked.error();
    const auto same = [&](const NamedParameters& other) { return other.name == limit.name; };
    if (std::any_of(set.begin(), set.end(), same)) {
      return base::invalid("limit ", base::quoted(limit.name), " is given twice; keep one of them");
    }
    set.push_back({limit.name, parameters_of(limit.limit), {}, limit.limit.mode()});
  }
  LimitSetRef made(new LimitSet(std::move(set)));
  if (auto checked = check_concurrent(*made); !checked) return checked.error();
  return made;
}

Result<void> check_concurrent(const LimitSet& set) {
  const int count = std::popcount(set.concurrent());
  if (static_cast<std::size_t>(count) <= maxima::concurrent_limits) return {};
  return base::invalid(std::to_string(count), " concurrent limits together; a bucket holds at most ",
                       std::to_string(maxima::concurrent_limits));
}

std::optional<Parameters> stored_parameters(std::int64_t capacity, std::int64_t burst, std::int64_t amount,
                                            std::int64_t period) {
  if (amount == 0 && period == 1 && burst == capacity) {
    const auto limit = Limit::make({.capacity = Amount::milli(capacity), .kind = Kind::concurrent});
    return limit ? std::optional(parameters_of(*limit)) : std::nullopt;
  }
  const auto limit = Limit::make({.capacity = Amount::milli(capacity),
                                  .burst = Amount::milli(burst),
                                  .refill_amount = Amount::milli(amount),
                                  .refill_period = std::chrono::milliseconds(period)});
  return limit ? std::optional(parameters_of(*limit)) : std::nullopt;
}

bool can_be_merged(const Parameters& parameters) {
  // The numbers beside the rate are kept for reports only.
  return parameters.capacity <= parameters.burst &&
         stored_parameters(parameters.capacity, parameters.burst, parameters.rate.amount,
                           parameters.rate.period) &&
         stored_parameters(parameters.capacity, parameters.burst, parameters.refill_amount,
                           parameters.refill_period);
}

LimitSetRef stored_set(std::vector<NamedParameters> limits, std::size_t most) {
  if (limits.empty() || limits.size() > most) return {};
  std::sort(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!check_limit_name(limits[i].name) || (i > 0 && limits[i].name == limits[i - 1].name)) return {};
  }
  return LimitSetRef(new LimitSet(std::move(limits)));
}

LimitSetRef inherited(const LimitSetRef& own, Source own_level, const LimitSetRef& next, Source next_level,
                      std::size_t& left_out) {
  std::vector<NamedParameters> merged;
  for (std::size_t i = 0; i < own->size(); ++i)
    merged.push_back(
        {std::string(own->name(i)), (*own)[i], own->source(i).value_or(own_level), own->mode(i)});
  for (std::size_t i = 0; i < next->size(); ++i) {
    if (own->find(next->name(i)) >= 0) continue;
    if (merged.size() == max_limits) {
      ++left_out;
    } else {
      merged.push_back({std::string(next->name(i)), (*next)[i], next_level, next->mode(i)});
    }
  }
  return LimitSetRef(new LimitSet(std::move(merged)));
}

LimitSetRef lowest(const LimitSetRef& a, const LimitSetRef& b) {
  if (!a || !b) return a ? a : b;
  std::vector<NamedParameters> merged;
  for (std::size_t i = 0; i < a->size(); ++i) merged.push_back({std::string(a->name(i)), (*a)[i], {}});
  for (std::size_t i = 0; i < b->size(); ++i) {
    const int at = a->find(b->name(i));
    if (at < 0) {
      merged.push_back({std::string(b->name(i)), (*b)[i], {}});
      continue;
    }
    Parameters& low = merged[static_cast<std::size_t>(at)].parameters;
    const Parameters& other = (*b)[i];
    const bool same_kind = low.kind() == other.kind();
    low.capacity = std::min(low.capacity, other.capacity);
    low.burst = std::min(low.burst, other.burst);
    if (slower(other.rate, low.rate)) low.rate = other.rate;
    if (!same_kind) low = concurrent_parameters(low.capacity);
  }
  return LimitSetRef(new LimitSet(std::move(merged)));
}

}  // namespace weir::limits
