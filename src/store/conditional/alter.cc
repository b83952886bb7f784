#include "store/conditional/alter.h"

namespace weir::conditional {

Alter::Alter(BucketPlan plan, const Settings& settings, const Rules& rules)
    : plan_(std::move(plan)), settings_(&settings), rules_(&rules) {}

Action Alter::start(std::span<const Image> images, Time now) {
  sight_.remember(images);
  return attempt(now);
}

Action Alter::resume(const Event& event, Time now) {
  sight_.take(event, sent_);
  if (event.kind == Event::Kind::seen) return attempt(now);
  if (event.kind == Event::Kind::applied) return finish(AlterOutcome::Kind::altered);
  if (++failures_ >= settings_->attempts) return finish(AlterOutcome::Kind::contention);
  return attempt(now);
}

Action Alter::attempt(Time now) {
  if (!sight_.complete()) return {Action::Kind::read, {}};
  const Maker maker{*settings_, *rules_, false, 0};
  const Stand stand = maker.stand(0, plan_, sight_.alive(0, now), now);
  const bool gone = stand.item == nullptr;
  const bool same = !gone && !stand.claims.changed && stand.claims.version == stand.item->version;
  if (gone || same) {
    // An absent bucket, or one that has the limits already, is taken for such only if it was just seen so.
    if (!sight_.current(0)) return {Action::Kind::read, {}};
    return finish(AlterOutcome::Kind::altered);
  }
  if (is_stale(stand) && rules_->stale_resolves) {
    outcome_.version = stand.item->version;
    return finish(AlterOutcome::Kind::stale);
  }
  sent_ = {{maker.normal(stand)}, {}};
  return {Action::Kind::write, sent_};
}

Action Alter::finish(AlterOutcome::Kind kind) {
  outcome_.kind = kind;
  return {Action::Kind::done, {}};
}

}  // namespace weir::conditional
