// A limiter whose waiting requests are woken by the test, by a clock that it moves, and callers of it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/open_store.h"
#include "limiter/core.h"
#include "limiter/waiting_acquire.h"
#include "weir/clock.h"

namespace weir::limiter {

/// A limiter on a memory store whose waiting requests are woken by the test.
class Waiting : public testing::Test {
 protected:
  explicit Waiting(const WaitingBounds& bounds = {})
      : room(std::make_shared<WaitingRoom>(clock, WaitingRoom::Driven::by_caller, bounds)) {}

  void set(const std::string& limit) {
    const auto stored = core.set_limits(Level::system(), *parse_limits({{"rpm", limit}}), {});
    ASSERT_TRUE(stored) << stored.error().message;
  }
  bool takes(Amount amount = 1) { return core.acquire("key", "gpt-4", charge(amount), {})->admitted(); }
  static std::vector<Charge> charge(Amount amount) { return {{"rpm", amount}}; }

  const std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  const std::shared_ptr<base::Entropy> entropy = std::make_shared<base::SystemEntropy>();
  const std::shared_ptr<WaitingRoom> room;
  Core core{{clock, entropy, *app::open_store("memory:", {}, clock, *entropy), room}, {}};
};

/// One request, with what its caller sees of it.
struct Caller {
  explicit Caller(Core& core, WaitingAcquire::Run run = {}) : acquire(core, std::move(run)) {}
  void start(Amount amount, std::chrono::milliseconds max_wait, std::string_view once = {}) {
    start_for("key", amount, max_wait, once);
  }
  void start_for(std::string_view entity, Amount amount, std::chrono::milliseconds max_wait,
                 std::string_view once = {}) {
    charges = {{"rpm", amount}};
    acquire.start(entity, "gpt-4", charges, {.idempotency_key = once, .max_wait = max_wait},
                  {[](void* self, Result<void>&& answer) {
                     static_cast<Caller*>(self)->result.emplace(std::move(answer));
                   },
                   this});
  }
  /// "waits", "admitted after 10", "refused after 10, retry in 5", or the error.
  std::string state() {
    if (!result) return "waits";
    if (!*result) return result->error().message;
    Decision& decision = acquire.decision();
    const std::string after = " after " + std::to_string(decision.waited().count());
    if (decision.admitted()) return "admitted" + after;
    if (!decision.retry_after()) return "never fits" + after;
    return "refused" + after + ", retry in " + std::to_string(decision.retry_after()->count());
  }

  std::vector<Charge> charges;
  WaitingAcquire acquire;
  std::optional<Result<void>> result;
};

}  // namespace weir::limiter
