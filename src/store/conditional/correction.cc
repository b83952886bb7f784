#include "store/conditional/correction.h"

#include "decision/expiry.h"
#include "decision/lease_change.h"
#include "decision/repair.h"
#include "store/conditional/paths.h"

namespace weir::conditional {

CorrectionMachine::CorrectionMachine(BucketPlan plan, const decision::Correction& correction,
                                     const Settings& settings, std::uint64_t new_generation,
                                     std::optional<std::string> once)
    : plan_(std::move(plan)),
      correction_(correction),
      settings_(&settings),
      new_generation_(new_generation),
      once_(std::move(once)) {}

bool CorrectionMachine::repeats(Time now) const {
  return marker_.item && !marker_.item->fence && marker_.item->deadline > now;
}

MarkerWrite CorrectionMachine::marker_write(std::uint64_t generation, Time now) const {
  const decision::Marker made = decision::marker_of_correction(*once_, generation, now);
  MarkerWrite write;
  write.require(marker_.item);
  write.next = {(marker_.item ? marker_.item->sequence : 0) + 1,
                false,
                made.record,
                {*once_},
                {generation},
                made.deadline};
  return write;
}

Action CorrectionMachine::resume(const Event& event, Time now) {
  snapshot_.take(event, sent_);
  if (event.marker.known) marker_ = event.marker;
  if (event.kind == Event::Kind::seen) return attempt(now);
  if (event.kind == Event::Kind::applied && !repairs_) return finish(CorrectionOutcome::Kind::corrected);
  if (event.kind == Event::Kind::unknown) {
    if (!once_ && !repairs_) return finish(CorrectionOutcome::Kind::unknown);
    in_doubt_ = in_doubt_ || !repairs_;
  }
  if (event.link_failed) {
    outcome_.chain = true;
    return finish(CorrectionOutcome::Kind::stale);
  }
  if (++failures_ >= settings_->attempts) {
    return finish(in_doubt_ ? CorrectionOutcome::Kind::unknown : CorrectionOutcome::Kind::contention);
  }
  // The write is made from the whole balance, so that an image that was read for it is needed.
  sent_ = {};
  return {Action::Kind::read, {}};
}

/// Resolves with the limits of the last request, as the bucket has them now.
void CorrectionMachine::keep_sent_limits(const Record* alive, Time now) {
  if (!of_levels_) of_levels_ = plan_.resolution;
  plan_.resolution = of_levels_;
  if (alive == nullptr) return;
  if (auto as_stored = decision::resolve_as_stored(*of_levels_, *alive, now))
    plan_.resolution = std::move(as_stored);
}

Action CorrectionMachine::attempt(Time now) {
  if (once_ && repeats(now)) {
    // The copy may be this one, whose answer got lost.
    outcome_.repeated = !in_doubt_;
    return finish(CorrectionOutcome::Kind::corrected);
  }
  const Record* const alive = snapshot_.alive(0, now);
  keep_sent_limits(alive, now);
  if (auto known = decision::check_names(correction_, *plan_.resolution->limits); !known) {
    outcome_.error = known.error();
    return finish(in_doubt_ ? CorrectionOutcome::Kind::unknown : CorrectionOutcome::Kind::refused);
  }
  decision::Chain chain;
  const Evaluation evaluation = evaluate(chain, 0, plan_, alive, now);
  if (is_stale(evaluation)) {
    outcome_.version = evaluation.item->version;
    return finish(CorrectionOutcome::Kind::stale);
  }
  if (auto checked = decision::check_size(*evaluation.link); !checked) {
    outcome_.error = checked.error();
    return finish(in_doubt_ ? CorrectionOutcome::Kind::unknown : CorrectionOutcome::Kind::refused);
  }
  const WriteBuilder builder{*settings_, false, new_generation_};
  Transaction transaction;
  const bool ahead = settings_->most_ahead > 0 && evaluation.item != nullptr &&
                     decision::is_ahead(evaluation.item->refilled_at, now, settings_->most_ahead);
  if (ahead) {
    transaction.writes.push_back(WriteBuilder::repair(evaluation));
  } else {
    auto write = builder.correct(evaluation, correction_);
    if (!write) {
      outcome_.error = write.error();
      return finish(in_doubt_ ? CorrectionOutcome::Kind::unknown : CorrectionOutcome::Kind::refused);
    }
    if (!*write) return finish(CorrectionOutcome::Kind::corrected);
    transaction.writes.push_back(**std::move(write));
    if (checks_link(evaluation)) transaction.links.push_back({plan_.entity, plan_.parent});
    const std::uint64_t generation =
        evaluation.item != nullptr ? evaluation.item->generation : new_generation_;
    if (once_) transaction.marker = marker_write(generation, now);
  }
  sent_ = std::move(transaction);
  repairs_ = ahead;
  return {Action::Kind::write, sent_};
}

Action CorrectionMachine::finish(CorrectionOutcome::Kind kind) {
  outcome_.kind = kind;
  return {Action::Kind::done, {}};
}

}  // namespace weir::conditional
