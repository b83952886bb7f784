#include "decision/acquire.h"

#include <bit>

namespace weir::decision {
namespace {

/// Collects the states for a store that writes them afterwards.
class Collect {
 public:
  Collect(Chain& chain, Next& next, const NewGeneration& new_generation)
      : chain_(chain), next_(next), new_generation_(new_generation) {}
  std::uint64_t charge(const Link& link) {
    auto& state = next_.states[static_cast<std::size_t>(&link - chain_.begin())];
    state = charged_state(link, new_generation_());
    return state->generation;
  }
  void put(const Link& link, bucket::State&& state) {
    next_.states[static_cast<std::size_t>(&link - chain_.begin())] = std::move(state);
  }
  std::uint64_t new_generation() const { return new_generation_(); }

 private:
  Chain& chain_;
  Next& next_;
  const NewGeneration& new_generation_;
};

}  // namespace

bool Next::any() const {
  return marker || std::any_of(states.begin(), states.end(), [](const auto& state) { return bool(state); });
}

void note_granted(const Chain& chain, Decision& decision) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (chain[i].claimed == nullptr) continue;
    for (const GrantedCharge& charge : granted_charges(chain[i]))
      note_granted(amount_in(decision.lease_data().amounts, charge.limit), i, charge.pieces);
  }
}

void answer_repeated(Chain& chain, const Marker& marker, std::span<const Charge> charges,
                     std::string_view resource, Decision& decision) {
  decision.report().clear();
  detail::LeaseData lease;
  for (Link& link : chain) {
    rejoin(link);
    report(decision.report(), link, resource, link.generation, false);
    // A marker of format 1 does not name the charged buckets, so nothing is given back to the present ones.
    lease.buckets.push_back({std::string(link.entity), 0});
  }
  if (!marker.buckets.empty()) lease.buckets = marker.buckets;
  // The marker has the amounts after later changes; the request has them as they were charged.
  for (const LeaseAmount& amount : marker.record.amounts) {
    const auto asked = std::find_if(charges.begin(), charges.end(),
                                    [&](const Charge& charge) { return charge.limit == amount.limit; });
    // Without buckets: a change has named a limit that the acquire left out.
    if (asked != charges.end() && amount.buckets != 0)
      lease.amounts.push_back({amount.limit, asked->amount.millitokens(), amount.buckets, amount.holds});
  }
  // In the order of the first answer: by bucket, then by name.
  std::sort(lease.amounts.begin(), lease.amounts.end(), [](const LeaseAmount& a, const LeaseAmount& b) {
    const int first = std::countr_zero(a.buckets) - std::countr_zero(b.buckets);
    return first != 0 ? first < 0 : a.limit < b.limit;
  });
  lease.resource = resource;
  lease.deadline = marker.deadline;
  decision.set_admitted();
  decision.set_deadline(marker.deadline);
  decision.set_lease_data(std::move(lease));
}

Result<Next> acquire(Chain& chain, std::span<std::optional<bucket::State>> states,
                     std::span<const Charge> charges, const Question& question, bool once,
                     const Marker* marker, const NewGeneration& new_generation, Decision& decision) {
  Next next;
  if (auto matched = match_all(chain, charges); !matched) return matched.error();
  for (std::size_t i = 0; i < chain.size(); ++i) {
    Link& link = chain[i];
    chain.claim(link, std::move(states[i]), question.now);
    if (auto checked = check_size(link); !checked) return checked.error();
    decide(link, question.shadow);
  }
  if (once && repeats(marker, question.now)) {
    answer_repeated(chain, *marker, question.asked.empty() ? charges : question.asked, question.resource,
                    decision);
    return next;
  }
  conclude(chain, question, decision, Collect(chain, next, new_generation));
  if (once && question.verb == Verb::acquire && decision.admitted()) next.marker = take_marker(decision);
  return next;
}

Marker take_marker(Decision& decision) {
  detail::LeaseData& lease = decision.lease_data();
  Marker marker = marker_of(lease);
  for (LeaseAmount& amount : lease.amounts) amount.granted.clear();
  return marker;
}

}  // namespace weir::decision
