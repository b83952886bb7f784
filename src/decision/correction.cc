#include "decision/correction.h"

#include <algorithm>

#include "base/text.h"
#include "base/wide.h"
#include "decision/lease_change.h"
#include "decision/report.h"

namespace weir::decision {
namespace {

using base::quoted;

Result<bool> grant(bucket::LimitState& limit, std::int64_t amount, Time end) {
  if (amount == 0) return false;
  if (bucket::total(limit.grants) > Amount::max_millitokens - amount)
    return base::invalid("the grants of ", quoted(limit.name), " would be too large in sum");
  if (bucket::add_grant(limit.grants, end, amount)) return true;
  return base::error(ErrorCode::conflict, quoted(limit.name), " has ", std::to_string(limit.grants.size()),
                     " grants with other ends already, which is the most; wait until one is used up or has "
                     "ended, or grant without an end");
}

}  // namespace

Result<bool> apply(const Correction& correction, bucket::LimitState& limit, Time at) {
  if (limit.parameters.kind() == Kind::concurrent) return false;
  const std::int64_t before = limit.tokens;
  bool granted = false;
  if (correction.verb == Correction::Verb::fill) limit.tokens = std::max(before, limit.parameters.capacity);
  for (const Charge& charge : correction.amounts) {
    if (charge.limit != limit.name) continue;
    const std::int64_t amount = charge.amount.millitokens();
    if (correction.verb == Correction::Verb::lower)
      limit.tokens = std::min(limit.tokens, std::max<std::int64_t>(amount - bucket::total(limit.grants), 0));
    if (correction.verb != Correction::Verb::grant) continue;
    const Time end = correction.lasts == 0
                         ? bucket::no_end
                         : std::min(base::saturating_add(at, correction.lasts), bucket::no_end);
    auto added = grant(limit, amount, end);
    if (!added) return added.error();
    granted = granted || *added;
  }
  return granted || limit.tokens != before;
}

Result<void> check_names(const Correction& correction, const limits::LimitSet& set) {
  for (const Charge& charge : correction.amounts) {
    const int index = set.find(charge.limit);
    if (index >= 0 && set[static_cast<std::size_t>(index)].kind() == Kind::rate) continue;
    return base::invalid(
        "limit ", quoted(charge.limit),
        index < 0 ? " is not in force for this entity and resource" : " is concurrent, and has no balance");
  }
  return {};
}

Marker marker_of_correction(std::string_view entity, std::uint64_t generation, Time now) {
  Marker marker;
  marker.record.ending = Ending::settled;
  marker.deadline = base::saturating_add(now, correction_key_lasts);
  marker.buckets.push_back({std::string(entity), generation});
  return marker;
}

Result<CorrectionAnswer> correct(Chain& chain, Link& link, std::optional<bucket::State> stored,
                                 const CorrectionQuestion& question, const NewGeneration& new_generation,
                                 LimitReport& report) {
  const Correction& correction = question.correction;
  // Until the decision is written and reported.
  limits::ResolutionRef as_stored;
  if (stored) as_stored = resolve_as_stored(*link.resolution, *stored, question.now);
  if (as_stored) link.resolution = as_stored.get();
  const bool repeated = question.once && repeats(question.marker, question.now);
  if (!repeated) {
    if (auto known = check_names(correction, *link.resolution->limits); !known) return known.error();
  }
  const bool exists = stored.has_value();
  chain.claim(link, std::move(stored), question.now);
  if (auto checked = check_size(link); !checked) return checked.error();
  bucket::State state = claimed_state(link, exists || repeated ? 0 : new_generation());
  const limits::LimitSet& set = *link.resolution->limits;
  bool changes = false;
  for (bucket::LimitState& limit : state.limits) {
    const int index = limit.dormant ? -1 : set.find(limit.name);
    if (index < 0) continue;
    if (!repeated) {
      const auto changed = apply(correction, limit, link.at);
      if (!changed) return changed.error();
      changes = changes || *changed;
    }
    link.held[static_cast<std::size_t>(index)] =
        base::saturating_add(limit.tokens, bucket::total(limit.grants));
  }
  link.named = 0;
  link.amount.fill(0);
  report.clear();
  decision::report(report, link, question.resource, state.generation, false);
  CorrectionAnswer answer{.repeated = repeated, .made = as_stored};
  if (!changes || (!exists && !creates(correction))) return answer;
  if (question.once) answer.marker = marker_of_correction(link.entity, state.generation, question.now);
  set_expiry(state, *link.resolution);
  answer.state = std::move(state);
  return answer;
}

}  // namespace weir::decision
