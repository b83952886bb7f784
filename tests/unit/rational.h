// The slow, obviously right reference: whole numbers without bound, no shortcuts.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include "limits/limit_set.h"

namespace weir::reference {

using Integer = boost::multiprecision::cpp_int;

/// The largest integer that is not above a / b, for a >= 0.
inline Integer floor_of(const Integer& a, const Integer& b) { return a / b; }

/// What a rate has granted since the epoch.
inline Integer granted_until(limits::Rate rate, std::int64_t t) {
  return floor_of(Integer(t) * rate.amount, rate.period);
}

/// A bucket that is looked at every time something happens to it.
class IdealBucket {
 public:
  IdealBucket(limits::Rate rate, Integer burst, Integer tokens, std::int64_t at)
      : rate_(rate), burst_(std::move(burst)), tokens_(std::move(tokens)), at_(at) {}

  void move_to(std::int64_t t) {
    if (t <= at_) return;
    tokens_ = std::min<Integer>(tokens_ + granted_until(rate_, t) - granted_until(rate_, at_), burst_);
    at_ = t;
  }
  void change(limits::Rate rate, const Integer& burst) {
    rate_ = rate;
    burst_ = burst;
    tokens_ = std::min(tokens_, burst_);
  }
  void take(const Integer& amount) { tokens_ -= amount; }
  void give(const Integer& amount) { tokens_ = std::min<Integer>(tokens_ + amount, burst_); }
  const Integer& tokens() const { return tokens_; }

 private:
  limits::Rate rate_;
  Integer burst_;
  Integer tokens_;
  std::int64_t at_;
};

}  // namespace weir::reference
