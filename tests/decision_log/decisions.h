// Decisions of a limiter in memory, as records for a log.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "decision_log/decision_log.h"
#include "weir/weir.h"

namespace weir::decision_log {

/// A limiter with `key-1` and `key-2` below `project`, and a log of what it decided.
class Decisions : public testing::Test {
 protected:
  Decisions() : limiter(*Limiter::open("memory:", {.clock = &clock})) {
    EXPECT_TRUE(limiter.put_entity({.id = "key-1", .parent = "project", .cascade = true}));
    EXPECT_TRUE(limiter.put_entity({.id = "key-2", .parent = "project", .cascade = true}));
    EXPECT_TRUE(limiter.set_limits(Level::system(), {{"rpm", "100/min"}, {"tpm", "1000/min:1500"}}));
    EXPECT_TRUE(limiter.set_limits(Level::entity("project", "gpt-4"), {{"tpm", "1200/min"}}));
  }

  void open(DecisionLogOptions options = {}) {
    log.reset();
    options.has_thread = false;
    auto opened = DecisionLog::open(options, clock, entropy);
    ASSERT_TRUE(opened) << opened.error().message;
    log = *std::move(opened);
  }

  /// Acquires, and adds the decision to the log. Returns its id.
  std::string decide(const std::string& entity, std::vector<Charge> charges,
                     const std::string& name_space = "default") {
    const auto decision = limiter.acquire(entity, "gpt-4", charges);
    EXPECT_TRUE(decision) << decision.error().message;
    const std::uint64_t number = log->next_number();
    log->add(number, record_of(*decision, entity, charges, name_space));
    return log->id_of(number);
  }
  Record record_of(const Decision& decision, const std::string& entity, const std::vector<Charge>& charges,
                   const std::string& name_space = "default") const {
    const auto wait = decision.retry_after();
    return {.at = clock.now(),
            .outcome = decision.admitted() ? EntryOutcome::admitted : EntryOutcome::refused,
            .name_space = name_space,
            .entity = entity,
            .resource = "gpt-4",
            .request_id = "request-1",
            .charges = charges,
            .report = &decision.limits(),
            .wait = wait ? std::optional<Time>(wait->count()) : std::nullopt,
            .never_fits = decision.never_fits()};
  }

  FakeClock clock;
  base::SystemEntropy entropy;
  Limiter limiter;
  std::unique_ptr<DecisionLog> log;
};

}  // namespace weir::decision_log
