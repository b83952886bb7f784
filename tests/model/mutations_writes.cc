// Mutations of the writes to buckets: of their conditions and of their effects.
#include <algorithm>
#include <vector>

#include "bucket/claims.h"
#include "mutation_parts.h"
#include "mutations.h"
#include "scenario.h"

namespace weir::model {
namespace {

using bucket::Claims;
using bucket::LimitClaim;
using conditional::LimitWrite;
using conditional::Write;
using Effect = LimitWrite::Effect;

/// The writes of a path lack a field: a condition, or a part of the effect.
template <Path path, auto field>
void without(Sent sent, const Grounds& /*grounds*/) {
  each(sent, path, [](Write& w) { (w.*field).reset(); });
}

/// The same of each limit in them.
template <Path path, auto field>
void limits_without(Sent sent, const Grounds& /*grounds*/) {
  each_limit(sent, path, [](LimitWrite& l) { (l.*field).reset(); });
}

bool is_set(const LimitWrite& l) { return l.effect == Effect::set; }
bool is_charged(const LimitWrite& l) { return l.effect == Effect::add && l.consumed > 0; }
bool is_refilled_alone(const LimitWrite& l) { return l.effect == Effect::add && l.consumed == 0; }
bool is_not_charged(const LimitWrite& l) { return l.effect == Effect::add && l.consumed <= 0; }
bool is_removed(const LimitWrite& l) { return l.effect == Effect::remove; }

/// Some limits of Normal writes lack the least of their tokens.
template <bool (*which)(const LimitWrite&)>
void without_least(Sent sent, const Grounds& /*grounds*/) {
  each_limit(sent, Path::normal, [](LimitWrite& l) {
    if (which(l)) l.at_least.reset();
  });
}

template <Path path>
void not_counted(Sent sent, const Grounds& /*grounds*/) {
  each_limit(sent, path, [](LimitWrite& l) { l.consumed = 0; });
}

void any_version(Sent sent, const Grounds& /*grounds*/) {
  for (Write& w : sent.writes) w.version.reset();
}

void forget_dormant(Sent sent, const Grounds& /*grounds*/) {
  each(sent, Path::normal, [](Write& w) {
    for (LimitWrite& l : w.limits) {
      if (std::find(w.dormant->begin(), w.dormant->end(), l.name) != w.dormant->end())
        l = {.name = l.name, .effect = Effect::remove};
    }
  });
}

}  // namespace

std::vector<Mutation> write_mutations() {
  return {
      // Create.
      {.name = "create-replaces", .batch = "A5", .sent = &without<Path::create, &Write::absent_at>},

      // Normal: the write that claims refill.
      {.name = "normal-any-refill-time", .batch = "A1", .sent = &without<Path::normal, &Write::refilled_at>},
      {.name = "normal-without-ceiling",
       .batch = "A1",
       .sent = &limits_without<Path::normal, &LimitWrite::at_most>},
      {.name = "normal-sets-blindly", .batch = "A1", .sent = &without_least<&is_set>},
      {.name = "normal-without-floor", .batch = "A1", .sent = &without_least<&is_charged>},
      {.name = "zero-not-checked", .batch = "A1", .sent = &without_least<&is_refilled_alone>},
      {.name = "normal-to-expired", .batch = "C7", .sent = &without<Path::normal, &Write::expires_since>},
      {.name = "normal-expiry-of-an-old-image", .batch = "C4", .sent = &without_least<&is_not_charged>},
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
       .sent = &without<Path::normal, &Write::set_refilled_at>},
      {.name = "normal-keeps-the-version",
       .batch = "A7",
       .sent = &without<Path::normal, &Write::set_version>},
      {.name = "normal-keeps-the-parameters",
       .batch = "A7",
       .sent =
           [](Sent sent, const Grounds&) {
             each_limit(sent, Path::normal, [](LimitWrite& l) {
               if (l.effect != Effect::insert) l.parameters.reset();
             });
           }},
      {.name = "normal-does-not-count", .batch = "A1", .sent = &not_counted<Path::normal>},

      // Retry: the blind write that leaves the refill time alone. Its conditions on the refill time and on
      // the expiry hold whenever the image meets them that made the machine choose it, since both only move
      // ahead within a generation; they guard against a bucket that was repaired or written by another
      // program.
      {.name = "retry-without-ceiling",
       .batch = "A8",
       .sent = &limits_without<Path::retry, &LimitWrite::at_most>},
      {.name = "retry-without-floor",
       .batch = "A8",
       .sent = &limits_without<Path::retry, &LimitWrite::at_least>},
      {.name = "retry-does-not-count", .batch = "A8", .sent = &not_counted<Path::retry>},

      // Normal and Retry.
      {.name = "any-version", .batch = "A7", .sent = &any_version},
      {.name = "any-version-of-requests", .batch = "K1", .sent = &any_version},
      {.name = "any-dormancy-of-requests",
       .batch = "K3",
       .sent = &limits_without<Path::normal, &LimitWrite::dormant>},
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
      {.name = "credit-to-a-successor", .batch = "C6", .sent = &without<Path::credit, &Write::generation>},
      {.name = "credit-to-what-is-not-there",
       .batch = "B3",
       .sent =
           [](Sent sent, const Grounds&) {
             each(sent, Path::credit, [](Write& w) { w.expires_since.reset(); });
             each_limit(sent, Path::credit, [](LimitWrite& l) { l.is_rate = false; });
           }},
      {.name = "credit-not-counted", .batch = "A1", .sent = &not_counted<Path::credit>},

      // Parameters and expiry.
      {.name = "dormant-limits-forgotten", .batch = "B3", .sent = &forget_dormant},
      {.name = "dormant-limits-of-requests-forgotten", .batch = "K1", .sent = &forget_dormant},
      {.name = "forgotten-without-a-look", .batch = "B3", .sent = &without_least<&is_removed>},
      {.name = "expiry-without-debts",
       .batch = "C1",
       .sent =
           [](Sent sent, const Grounds& grounds) {
             each(sent, Path::normal, [&](Write& w) {
               if (w.set_expires_at) w.set_expires_at = *w.set_refilled_at + grounds.resolution.keep_for;
             });
           }},
      {.name = "expiry-not-written", .batch = "C1", .sent = &without<Path::normal, &Write::set_expires_at>},
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
  };
}

}  // namespace weir::model
