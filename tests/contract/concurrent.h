// The fixture of the tests of concurrent limits.
#pragma once

#include <chrono>
#include <initializer_list>
#include <span>
#include <string_view>

#include "contract/contract.h"

namespace weir::contract {

class Concurrent : public Contract {
 public:
  AcquireOptions lasting(std::chrono::milliseconds lease_for) const {
    AcquireOptions options;
    options.lease_for = lease_for;
    return options;
  }
  Decision take(std::string_view entity, int amount, std::chrono::milliseconds lease_for = 60s) {
    return acquire(entity, {{"calls", amount}}, lasting(lease_for));
  }
  /// Whether the promised wait is kept: refused one millisecond before, admitted then.
  void expect_true_wait(std::string_view entity, std::initializer_list<Charge> consume) {
    const Decision refused = acquire(entity, consume);
    ASSERT_TRUE(refused.refused());
    ASSERT_TRUE(refused.retry_after());
    advance(*refused.retry_after() - 1ms);
    const auto early = limiter.available(entity, resource, std::span(consume.begin(), consume.size()));
    ASSERT_TRUE(early);
    EXPECT_TRUE(early->refused());
    advance(1ms);
    const auto now_fits = limiter.available(entity, resource, std::span(consume.begin(), consume.size()));
    ASSERT_TRUE(now_fits);
    EXPECT_TRUE(now_fits->admitted());
  }
};

}  // namespace weir::contract
