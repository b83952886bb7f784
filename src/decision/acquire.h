// Acquire and look: the decision on a chain whose refill has been claimed, and the states to write.
//
//     match_all(chain, charges)            every name is known, none twice
//     chain.claim(link, state, now)        for each link; or the store's own fast path
//     conclude(chain, ..., writer)         admitted: charges every link; refused: computes the wait
#pragma once

#include "base/wide.h"
#include "decision/chain.h"
#include "decision/marker.h"
#include "decision/next_state.h"
#include "decision/report.h"
#include "decision/wait.h"
#include "weir/decision.h"

namespace weir::decision {

enum class Verb : std::uint8_t {
  acquire,
  look,  ///< the decision of an acquire, without its writes
};

struct Question {
  Verb verb = Verb::acquire;
  std::string_view resource;
  Time now = 0;
  Time lease_for = 0;   ///< how long the lease can be changed
  bool shadow = false;  ///< no limit refuses; those that would are left out
  /// What the first copy of a repeated acquire asked for; empty: the charges.
  std::span<const Charge> asked = {};
};

/// Notes in the lease of an admitted acquire what it takes of grants.
void note_granted(const Chain& chain, Decision& decision);

/// Decides a chain that was matched and claimed. `writer` carries out the writes:
///   std::uint64_t charge(Link&)                      an admitted link; returns the bucket's generation
///   void put(Link&, bucket::State&&)                 the uncharged state of a refused link
///   std::uint64_t new_generation()                   for a bucket that put() makes
template <class Writer>
void conclude(Chain& chain, const Question& question, Decision& decision, Writer&& writer) {
  LimitReport& report_of = decision.report();
  report_of.clear();
  const bool admitted = std::all_of(chain.begin(), chain.end(), [](const Link& link) { return link.fits; });
  if (admitted) {
    const bool charged = question.verb == Verb::acquire;
    const Time deadline = lease_deadline(chain, question.now, question.lease_for);
    for (Link& link : chain) {
      link.hold_until = deadline;
      const std::uint64_t generation = charged ? writer.charge(link) : link.generation;
      report(report_of, link, question.resource, generation, charged);
    }
    decision.set_admitted();
    decision.set_deadline(deadline);
    if (charged) note_granted(chain, decision);
    return;
  }
  std::array<std::optional<bucket::State>, limits::max_chain> made;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!must_exist(chain[i])) continue;
    made[i] = claimed_state(chain[i], writer.new_generation());
    chain[i].expires_at = made[i]->expires_at;
  }
  for (const Link& link : chain) report_refused(report_of, link, question.resource, question.now);
  const Wait wait = wait_of(chain, question.now);
  decision.set_refused(wait.time, wait.never_fits);
  if (question.verb == Verb::look || wait.never_fits) return;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (made[i]) writer.put(chain[i], std::move(*made[i]));
  }
}

/// Answers a repeated acquire. The report shows the present buckets. The lease is the one that the first
/// acquire made, with the same id, even if it was changed since: it names the buckets that were charged then,
/// even if they have expired and others have taken their names. Nothing is decided, so no limit in shadow
/// mode would refuse.
void answer_repeated(Chain& chain, const Marker& marker, std::span<const Charge> charges,
                     std::string_view resource, Decision& decision);

/// The marker of a keyed acquire that was admitted. It has the uses of grants, which the lease then leaves to
/// it: so the lease has the same id when the acquire is repeated.
Marker take_marker(Decision& decision);

/// The states that a store has to write, by link; nothing: unchanged. For stores that load, decide and write.
struct Next {
  std::array<std::optional<bucket::State>, limits::max_chain> states;
  std::optional<Marker> marker;
  bool any() const;
};

/// The complete acquire for such a store. `states`: the stored buckets by link; nothing where a bucket is
/// absent or has expired by `question.now`. `once`: the acquire has a key, and `marker` is the marker stored
/// under it (null: none).
Result<Next> acquire(Chain& chain, std::span<std::optional<bucket::State>> states,
                     std::span<const Charge> charges, const Question& question, bool once,
                     const Marker* marker, const NewGeneration& new_generation, Decision& decision);

}  // namespace weir::decision
