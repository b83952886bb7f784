#include "mutations.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "batches.h"
#include "bucket/claims.h"

namespace weir::model {
namespace {

using bucket::Claims;
using bucket::LimitClaim;
using bucket::State;
using conditional::Event;
using conditional::LimitWrite;
using conditional::Marker;
using conditional::Transaction;
using conditional::Write;
using limits::Resolution;
using Effect = LimitWrite::Effect;
using Path = Write::Path;

template <class Change>
void each(Transaction& transaction, Path path, Change&& change) {
  for (Write& write : transaction.writes) {
    if (write.path == path) change(write);
  }
}

template <class Change>
void each_limit(Transaction& transaction, Path path, Change&& change) {
  each(transaction, path, [&](Write& write) {
    for (LimitWrite& limit : write.limits) change(limit);
  });
}

/// The sum of the charges.
std::int64_t consumed(const Transaction& transaction) {
  std::int64_t sum = 0;
  for (const Write& write : transaction.writes) {
    for (const LimitWrite& limit : write.limits) sum += limit.consumed;
    if (write.item) {
      for (const auto& limit : write.item->limits) sum += limit.consumed;
    }
  }
  return sum;
}

// Arithmetic with one thing wrong.

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
  for (LimitClaim& limit : claims.limits) {
    if (limit.index > 0) limit.claim.grant = 0;
  }
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

/// The refill time follows the clock backward.
Claims backward(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  claims.at = now;
  return claims;
}

/// A limit that left the set keeps the burst that it had, whatever changes it missed.
Claims untightened(const State* state, const Resolution& resolution, Time now) {
  Claims claims = bucket::claims_of(state, resolution, now);
  for (LimitClaim& limit : claims.limits) {
    if (limit.index < 0 || limit.in_force) continue;
    const bucket::Parameters& old = state->limits[static_cast<std::size_t>(limit.index)].parameters;
    limit.parameters.capacity = old.capacity;
    limit.parameters.burst = old.burst;
    limit.claim = bucket::claim(limit.parameters.rate, old.burst, state->refilled_at, claims.at);
  }
  return claims;
}

/// One limit of a Normal write, as the machine would have made it from other claims.
void rewrite(LimitWrite& write, const LimitClaim& claim, const State& item) {
  const auto [grant, ceiling] = claim.claim;
  if (write.effect == Effect::insert) {
    write.tokens = claim.held(nullptr) - write.consumed;
  } else if (write.effect == Effect::add || write.effect == Effect::set) {
    const std::int64_t tokens = item.limits[static_cast<std::size_t>(claim.index)].tokens;
    const bool brim = tokens > ceiling - grant;
    write.effect = brim ? Effect::set : Effect::add;
    write.tokens = (brim ? ceiling : grant) - write.consumed;
    write.at_least = brim ? ceiling - grant + 1 : write.consumed - grant;
    write.at_most.reset();
    if (!brim) write.at_most = ceiling - grant;
  }
  if (write.parameters) write.parameters = claim.parameters;
}

using ClaimsOf = Claims(const State*, const Resolution&, Time);

/// What the machine would have sent with other arithmetic.
template <ClaimsOf* wrong>
void claimed(Transaction& transaction, const Grounds& grounds) {
  for (Write& write : transaction.writes) {
    const bool creates = write.item.has_value();
    if (!creates && write.path != Path::normal) continue;
    const auto& item = grounds.snapshot[write.bucket].item;
    const Claims claims = wrong(creates ? nullptr : &*item, grounds.resolution, grounds.now);
    if (write.set_refilled_at) write.set_refilled_at = claims.at;
    for (const LimitClaim& claim : claims.limits) {
      if (creates) {
        for (auto& limit : write.item->limits) {
          if (limit.name == claim.name) limit.tokens = claim.held(nullptr) - limit.consumed;
        }
      }
      for (LimitWrite& limit : write.limits) {
        if (limit.name == claim.name) rewrite(limit, claim, *item);
      }
    }
  }
}

using Sent = Transaction&;

const std::vector<Mutation>& all_mutations() {
  static const std::vector<Mutation> mutations = {
      // Create.
      {.name = "create-replaces",
       .batch = "A5",
       .sent = [](Sent sent,
                  const Grounds&) { each(sent, Path::create, [](Write& w) { w.absent_at.reset(); }); }},

      // Normal: the write that claims refill.
      {.name = "normal-any-refill-time",
       .batch = "A1",
       .sent = [](Sent sent,
                  const Grounds&) { each(sent, Path::normal, [](Write& w) { w.refilled_at.reset(); }); }},
      {.name = "normal-without-ceiling",
       .batch = "A1",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::normal, [](LimitWrite& l) { l.at_most.reset(); });
           }},
      {.name = "normal-sets-blindly",
       .batch = "A1",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::normal, [](LimitWrite& l) {
               if (l.effect == Effect::set) l.at_least.reset();
             });
           }},
      {.name = "normal-without-floor",
       .batch = "A1",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::normal, [](LimitWrite& l) {
               if (l.effect == Effect::add && l.consumed > 0) l.at_least.reset();
             });
           }},
      {.name = "zero-not-checked",
       .batch = "A1",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::normal, [](LimitWrite& l) {
               if (l.effect == Effect::add && l.consumed == 0) l.at_least.reset();
             });
           }},
      {.name = "normal-to-expired",
       .batch = "C7",
       .sent = [](Sent sent,
                  const Grounds&) { each(sent, Path::normal, [](Write& w) { w.expires_since.reset(); }); }},
      {.name = "normal-expiry-of-an-old-image",
       .batch = "C4",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::normal, [](LimitWrite& l) {
               if (l.effect == Effect::add && l.consumed <= 0) l.at_least.reset();
             });
           }},
      {.name = "normal-adds-beyond-the-brim",
       .batch = "A1",
       .sent =
           [](Sent sent, const Grounds& grounds) {
             each(sent, Path::normal, [&](Write& w) {
               const Claims claims =
                   bucket::claims_of(&*grounds.snapshot[w.bucket].item, grounds.resolution, grounds.now);
               for (LimitWrite& l : w.limits) {
                 for (const LimitClaim& claim : claims.limits) {
                   if (l.name != claim.name || l.effect != Effect::set) continue;
                   l.effect = Effect::add;
                   l.tokens = claim.claim.grant - l.consumed;
                 }
               }
             });
           }},
      {.name = "normal-sets-what-it-saw",
       .batch = "A1",
       .sent =
           [](Sent sent, const Grounds& grounds) {
             each(sent, Path::normal, [&](Write& w) {
               for (LimitWrite& l : w.limits) {
                 const auto* const seen = grounds.snapshot[w.bucket].item->find(l.name);
                 if (l.effect != Effect::add || seen == nullptr) continue;
                 l.effect = Effect::set;
                 l.tokens += seen->tokens;
               }
             });
           }},
      {.name = "normal-keeps-the-refill-time",
       .batch = "A1",
       .sent = [](Sent sent,
                  const Grounds&) { each(sent, Path::normal, [](Write& w) { w.set_refilled_at.reset(); }); }},
      {.name = "normal-keeps-the-version",
       .batch = "A7",
       .sent = [](Sent sent,
                  const Grounds&) { each(sent, Path::normal, [](Write& w) { w.set_version.reset(); }); }},
      {.name = "normal-keeps-the-parameters",
       .batch = "A7",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::normal, [](LimitWrite& l) {
               if (l.effect != Effect::insert) l.parameters.reset();
             });
           }},
      {.name = "normal-does-not-count",
       .batch = "A1",
       .sent = [](Sent sent,
                  const Grounds&) { each_limit(sent, Path::normal, [](LimitWrite& l) { l.consumed = 0; }); }},

      // Retry: the blind write that leaves the refill time alone. Its conditions on the refill time and on
      // the
      // expiry hold whenever the image meets them that made the machine choose it, since both only move ahead
      // within a generation; they guard against a bucket that was repaired or written by another program.
      {.name = "retry-without-ceiling",
       .batch = "A8",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::retry, [](LimitWrite& l) { l.at_most.reset(); });
           }},
      {.name = "retry-without-floor",
       .batch = "A8",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::retry, [](LimitWrite& l) { l.at_least.reset(); });
           }},
      {.name = "retry-does-not-count",
       .batch = "A8",
       .sent = [](Sent sent,
                  const Grounds&) { each_limit(sent, Path::retry, [](LimitWrite& l) { l.consumed = 0; }); }},

      // Normal and Retry.
      {.name = "any-version",
       .batch = "A7",
       .sent =
           [](Sent sent, const Grounds&) {
             for (Write& w : sent.writes) w.version.reset();
           }},
      {.name = "any-version-of-requests",
       .batch = "K1",
       .sent =
           [](Sent sent, const Grounds&) {
             for (Write& w : sent.writes) w.version.reset();
           }},
      {.name = "any-dormancy-of-requests",
       .batch = "K3",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::normal, [](LimitWrite& l) { l.dormant.reset(); });
           }},
      {.name = "any-generation",
       .batch = "C6",
       .sent =
           [](Sent sent, const Grounds&) {
             for (Write& w : sent.writes) {
               if (w.path != Path::credit) w.generation.reset();
             }
           }},
      {.name = "old-limits-over-new-ones",
       .batch = "H1",
       .planned =
           [](std::vector<conditional::BucketPlan>& plans) {
             for (auto& plan : plans) plan.resolved_after = limits::never;
           }},

      // Credit: what is given back.
      {.name = "credit-to-a-successor",
       .batch = "C6",
       .sent = [](Sent sent,
                  const Grounds&) { each(sent, Path::credit, [](Write& w) { w.generation.reset(); }); }},
      {.name = "credit-to-what-is-not-there",
       .batch = "B3",
       .sent =
           [](Sent sent, const Grounds&) {
             each(sent, Path::credit, [](Write& w) { w.expires_since.reset(); });
             each_limit(sent, Path::credit, [](LimitWrite& l) { l.is_rate = false; });
           }},
      {.name = "credit-not-counted",
       .batch = "A1",
       .sent = [](Sent sent,
                  const Grounds&) { each_limit(sent, Path::credit, [](LimitWrite& l) { l.consumed = 0; }); }},

      // Parameters and expiry.
      {.name = "dormant-limits-forgotten",
       .batch = "B3",
       .sent =
           [](Sent sent, const Grounds&) {
             each(sent, Path::normal, [](Write& w) {
               for (LimitWrite& l : w.limits) {
                 if (std::find(w.dormant->begin(), w.dormant->end(), l.name) != w.dormant->end())
                   l = {.name = l.name, .effect = Effect::remove};
               }
             });
           }},
      {.name = "dormant-limits-of-requests-forgotten",
       .batch = "K1",
       .sent =
           [](Sent sent, const Grounds&) {
             each(sent, Path::normal, [](Write& w) {
               for (LimitWrite& l : w.limits) {
                 if (std::find(w.dormant->begin(), w.dormant->end(), l.name) != w.dormant->end())
                   l = {.name = l.name, .effect = Effect::remove};
               }
             });
           }},
      {.name = "forgotten-without-a-look",
       .batch = "B3",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::normal, [](LimitWrite& l) {
               if (l.effect == Effect::remove) l.at_least.reset();
             });
           }},
      {.name = "expiry-without-debts",
       .batch = "C1",
       .sent =
           [](Sent sent, const Grounds& grounds) {
             each(sent, Path::normal, [&](Write& w) {
               if (w.set_expires_at) w.set_expires_at = *w.set_refilled_at + grounds.resolution.keep_for;
             });
           }},
      {.name = "expiry-not-written",
       .batch = "C1",
       .sent = [](Sent sent,
                  const Grounds&) { each(sent, Path::normal, [](Write& w) { w.set_expires_at.reset(); }); }},
      {.name = "expiry-without-margin",
       .batch = "E6",
       .world = [](Scenario& world) { world.settings.margin = 0; }},
      {.name = "expiry-by-capacity-alone",
       .batch = "P1",
       .sent =
           [](Sent sent, const Grounds&) {
             const bool takes = consumed(sent) > 0;
             each(sent, Path::normal, [&](Write& w) {
               if (w.set_expires_at && !takes) w.set_expires_at = *w.set_refilled_at + 1;
             });
           }},

      // Outcomes.
      {.name = "refused-by-an-old-image", .batch = "A1", .trusts_images = true},
      {.name = "resent-without-marker",
       .batch = "D3",
       .heard =
           [](Event& event) {
             if (event.kind == Event::Kind::unknown) event.kind = Event::Kind::not_applied;
           }},
      {.name = "refused-without-fence",
       .batch = "D1",
       .heard =
           [](Event& event) {
             if (event.kind == Event::Kind::unknown) event.kind = Event::Kind::not_applied;
           }},
      {.name = "fence-not-written",
       .batch = "D1",
       .sent =
           [](Sent sent, const Grounds&) {
             if (sent.marker && sent.marker->next.fence) sent.marker.reset();
           }},
      {.name = "marker-without-condition",
       .batch = "D4",
       .delivered =
           [](Sent sent, const std::optional<Marker>& there) {
             if (!sent.marker) return;
             sent.marker->sequence.reset();
             sent.marker->require(there);
           }},
      {.name = "marker-not-written",
       .batch = "D4",
       .sent = [](Sent sent, const Grounds&) { sent.marker.reset(); }},
      {.name = "marker-not-read",
       .batch = "D6",
       .heard =
           [](Event& event) {
             if (event.kind == Event::Kind::seen && event.marker.known) event.marker.item.reset();
           }},
      {.name = "repeat-binds-to-the-successor",
       .batch = "T1",
       .heard =
           [](Event& event) {
             if (!event.marker.item || event.images.empty() || !event.images[0].item) return;
             event.marker.item->generations[0] = event.images[0].item->generation;
           }},
      {.name = "refusal-makes-no-bucket",
       .batch = "P2",
       .sent =
           [](Sent sent, const Grounds&) {
             if (consumed(sent) == 0)
               std::erase_if(sent.writes, [](const Write& w) { return w.path == Path::create; });
           }},
      {.name = "refusal-charges",
       .batch = "P2",
       .sent =
           [](Sent sent, const Grounds&) {
             each(sent, Path::create, [](Write& w) { w.item->limits[0].tokens -= 1; });
           }},

      // The chain.
      {.name = "made-without-asking-for-the-parent",
       .batch = "M1",
       .sent =
           [](Sent sent, const Grounds&) {
             if (std::any_of(sent.writes.begin(), sent.writes.end(), [](const Write& w) { return w.item; }))
               sent.links.clear();
           }},
      {.name = "charged-under-another-parent",
       .batch = "M1",
       .sent =
           [](Sent sent, const Grounds&) {
             if (std::none_of(sent.writes.begin(), sent.writes.end(), [](const Write& w) { return w.item; }))
               sent.links.clear();
           }},
      {.name = "moved-without-a-fence", .batch = "M1", .moves_blindly = true},
      {.name = "one-item-of-the-chain",
       .batch = "F1",
       .sent =
           [](Sent sent, const Grounds&) {
             if (sent.writes.size() > 1) sent.writes[1].limits.clear();
           }},

      // Clocks.
      {.name = "debit-in-the-past", .batch = "A1", .clock = [](Time now) { return now - 1; }},
      {.name = "stamp-in-the-past", .batch = "H1", .stamp_late = 1},
      {.name = "time-runs-backward", .batch = "E2", .sent = &claimed<&backward>},
      {.name = "allowance-for-skew", .batch = "E2", .world = [](Scenario& world) { world.allowance = 1; }},
      {.name = "allowance-for-delay", .batch = "E3", .world = [](Scenario& world) { world.allowance = 2; }},
      {.name = "refill-of-the-future-stays",
       .batch = "R1",
       .world = [](Scenario& world) { world.settings.most_ahead = 0; }},

      // The arithmetic.
      {.name = "rests-dropped", .batch = "A2", .sent = &claimed<&dropping_rests>},
      {.name = "only-the-first-limit-claimed", .batch = "B2", .sent = &claimed<&first_limit_only>},
      {.name = "change-retroactive", .batch = "H1", .sent = &claimed<&retroactive>},
      {.name = "change-belated", .batch = "H1", .sent = &claimed<&belated>},
      {.name = "change-without-claim", .batch = "A7", .sent = &claimed<&unclaimed>},
      {.name = "made-at-burst", .batch = "C3", .sent = &claimed<&starting_full>},
      {.name = "dormant-limit-keeps-its-burst", .batch = "H4", .sent = &claimed<&untightened>},
  };
  return mutations;
}

}  // namespace

int run_mutations(const std::string& name, bool traces) {
  const auto start = std::chrono::steady_clock::now();
  int missed = 0;
  int count = 0;
  const std::vector<Batch> batches = all_batches();
  std::vector<Mutation> mutations = all_mutations();
  for (Mutation& mutation : concurrent_mutations()) mutations.push_back(std::move(mutation));
  for (const Mutation& mutation : mutations) {
    if (!name.empty() && mutation.name != name) continue;
    bool found = false;
    for (Batch batch : batches) {
      if (batch.name != mutation.batch) continue;
      found = true;
      batch.world.mutation = &mutation;
      if (mutation.world != nullptr) mutation.world(batch.world);
      const Total total = run(batch, 1);
      const bool caught = !total.finding.violation.empty();
      ++count;
      missed += caught ? 0 : 1;
      std::printf("%-38s %-3s %s: %s (%zu states)\n", mutation.name.c_str(), mutation.batch.c_str(),
                  caught ? "caught" : "NOT CAUGHT", total.finding.violation.c_str(), total.states);
      std::printf("    in %s\n", total.scenario.c_str());
      if (traces) std::printf("%s\n", total.finding.trace.c_str());
      std::fflush(stdout);
    }
    if (!found) {
      ++missed;
      std::printf("%-38s %-3s NOT CAUGHT: no such batch\n", mutation.name.c_str(), mutation.batch.c_str());
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%d mutations, %d not caught, %.1f s\n", count, missed, seconds);
  return missed == 0 && count > 0 ? 0 : 1;
}

}  // namespace weir::model
