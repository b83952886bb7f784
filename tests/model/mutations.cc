#include "mutations.h"

#include <chrono>
#include <cstdio>
#include <vector>

#include "batches.h"

namespace weir::model {
namespace {

using bucket::Claims;
using bucket::LimitClaim;
using bucket::State;
using conditional::Rules;
using limits::Resolution;

// Arithmetic with one thing wrong.

/// The refill time follows the clock backward.
Claims backward(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  claims.at = now;
  return claims;
}

/// Refill is computed from the time that passed instead of from absolute time, and the rest is dropped.
Claims dropping_rests(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0) continue;
    limit.claim.grant =
        (claims.at - state->refilled_at) * limit.parameters.rate.amount / limit.parameters.rate.period;
  }
  return claims;
}

/// Only the first limit is refilled, and the refill time of all moves.
Claims first_limit_only(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (std::size_t i = 1; i < claims.limits.size() && state != nullptr; ++i) claims.limits[i].claim.grant = 0;
  return claims;
}

/// The new rate counts from the last refill on.
Claims retroactive(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0 || !limit.in_force) continue;
    limit.claim = bucket::claim(limit.parameters.rate, limit.parameters.burst, state->refilled_at, claims.at);
  }
  return claims;
}

/// The old rate counts up to now.
Claims belated(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0 || !limit.in_force) continue;
    const bucket::Parameters& old = state->limits[static_cast<std::size_t>(limit.index)].parameters;
    limit.claim =
        bucket::claim(old.rate, old.burst, state->refilled_at, claims.at).then(0, limit.parameters.burst);
  }
  return claims;
}

/// A change of parameters moves the refill time without claiming what is due.
Claims unclaimed(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.changed && limit.index >= 0) limit.claim.grant = 0;
  }
  return claims;
}

/// A new bucket and a new limit hold burst.
Claims starting_full(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0) limit.claim = {limit.parameters.burst, limit.parameters.burst};
  }
  return claims;
}

struct Mutation {
  std::string name;
  std::string batch;  ///< where it is looked for
  void (*mutate)(Scenario&);
};

const std::vector<Mutation>& all_mutations() {
  static const std::vector<Mutation> mutations = {
      {"create-only-absent", "A5", [](Scenario& world) { world.rules.create_only_absent = false; }},
      {"normal-same-refill", "A1", [](Scenario& world) { world.rules.normal_same_refill = false; }},
      {"normal-unsaturated", "A1", [](Scenario& world) { world.rules.normal_unsaturated = false; }},
      {"normal-saturated", "A1", [](Scenario& world) { world.rules.normal_saturated = false; }},
      {"normal-floor", "A1", [](Scenario& world) { world.rules.normal_floor = false; }},
      {"normal-alive", "C4", [](Scenario& world) { world.rules.normal_alive = false; }},
      {"normal-expiry-floor", "C4", [](Scenario& world) { world.rules.normal_expiry_floor = false; }},
      {"zero-checked", "A1", [](Scenario& world) { world.rules.zero_checked = false; }},
      {"retry-ceiling", "A1", [](Scenario& world) { world.rules.retry_ceiling = false; }},
      {"retry-recent", "A1", [](Scenario& world) { world.rules.retry_recent = false; }},
      {"retry-floor", "A1", [](Scenario& world) { world.rules.retry_floor = false; }},
      {"retry-expiry", "C1", [](Scenario& world) { world.rules.retry_expiry = false; }},
      {"same-version", "A7", [](Scenario& world) { world.rules.same_version = false; }},
      {"same-generation", "C6", [](Scenario& world) { world.rules.same_generation = false; }},
      {"stale-resolves", "H1", [](Scenario& world) { world.rules.stale_resolves = false; }},
      {"credit-generation", "C6", [](Scenario& world) { world.rules.credit_generation = false; }},
      {"credit-exists", "B3", [](Scenario& world) { world.rules.credit_exists = false; }},
      {"keep-dormant", "B3", [](Scenario& world) { world.rules.keep_dormant = false; }},
      {"expiry-of-debt", "C1", [](Scenario& world) { world.rules.expiry_of_debt = false; }},
      {"expiry-written", "C1", [](Scenario& world) { world.rules.expiry_written = false; }},
      {"expiry-margin", "E6", [](Scenario& world) { world.settings.margin = 0; }},
      {"refuse-when-current", "A1", [](Scenario& world) { world.rules.refuse_when_current = false; }},
      {"resend-needs-marker", "D3", [](Scenario& world) { world.rules.resend_needs_marker = false; }},
      {"fence-refusals", "D1", [](Scenario& world) { world.rules.fence_refusals = false; }},
      {"marker-sequence", "D4", [](Scenario& world) { world.rules.marker_sequence = false; }},
      {"time-forward", "E2", [](Scenario& world) { world.rules.claims_of = &backward; }},
      {"absolute-time", "A2", [](Scenario& world) { world.rules.claims_of = &dropping_rests; }},
      {"claim-every-limit", "B2", [](Scenario& world) { world.rules.claims_of = &first_limit_only; }},
      {"change-not-retroactive", "H1", [](Scenario& world) { world.rules.claims_of = &retroactive; }},
      {"change-not-belated", "H1", [](Scenario& world) { world.rules.claims_of = &belated; }},
      {"change-claims", "A7", [](Scenario& world) { world.rules.claims_of = &unclaimed; }},
      {"start-at-capacity", "C3", [](Scenario& world) { world.rules.claims_of = &starting_full; }},
      {"keep-dormant-of-requests", "K1", [](Scenario& world) { world.rules.keep_dormant = false; }},
      {"same-version-of-requests", "K1", [](Scenario& world) { world.rules.same_version = false; }},
      {"allowance-for-skew", "E2", [](Scenario& world) { world.allowance = 1; }},
      {"allowance-for-delay", "E3", [](Scenario& world) { world.allowance = 2; }},
  };
  return mutations;
}

}  // namespace

int run_mutations(const std::string& name, bool traces) {
  const auto start = std::chrono::steady_clock::now();
  int missed = 0;
  int count = 0;
  const std::vector<Batch> batches = all_batches();
  for (const Mutation& mutation : all_mutations()) {
    if (!name.empty() && mutation.name != name) continue;
    for (Batch batch : batches) {
      if (batch.name != mutation.batch) continue;
      mutation.mutate(batch.world);
      const Total total = run(batch, 1);
      const bool caught = !total.finding.violation.empty();
      ++count;
      missed += caught ? 0 : 1;
      std::printf("%-24s %-3s %s: %s (%zu states)\n", mutation.name.c_str(), mutation.batch.c_str(),
                  caught ? "caught" : "NOT CAUGHT", total.finding.violation.c_str(), total.states);
      if (traces) std::printf("    in %s\n%s\n", total.scenario.c_str(), total.finding.trace.c_str());
      std::fflush(stdout);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%d mutations, %d not caught, %.1f s\n", count, missed, seconds);
  return missed == 0 && count > 0 ? 0 : 1;
}

}  // namespace weir::model
