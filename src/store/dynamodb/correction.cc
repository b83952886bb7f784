#include "store/dynamodb/correction.h"

#include "base/text.h"
#include "decision/lease_change.h"
#include "decision/report.h"

namespace weir::dynamodb {

using conditional::Action;
using conditional::CorrectionOutcome;
using store::Progress;

Correction::Correction(Context& context, const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
                       store::Completion<Progress> done)
    : Operation(context, plan.name_space, plan.resource, done), plan_(plan), outcome_(outcome) {}

void Correction::start() {
  add_link(plan_.entity);
  add_bucket(plan_.resolution);
  now_ = context_.now();
  if (auto checked = context_.check_clock(); !checked) return finish(checked.error());
  if (plan_.resolution->valid_until <= now_) return finish(Progress::resolve_again);
  const std::uint64_t new_generation = (context_.entropy.next() >> 11U) | 1U;
  std::optional<std::string> once;
  if (plan_.once != nullptr) {
    once = plan_.entity;
    marker_key_ = lease_key(name_space_, plan_.entity, *plan_.once);
  }
  machine_.emplace(plan_of(0), plan_.correction, context_.settings, new_generation, std::move(once));
  act(machine_->start());
}

void Correction::on_event(const conditional::Event& event) {
  now_ = context_.now();
  act(machine_->resume(event, now_));
}

bool Correction::maybe_written() const { return machine_ && machine_->in_doubt(); }

void Correction::act(const Action& action) {
  switch (action.kind) {
    case Action::Kind::read:
      context_.counts.reads.fetch_add(1, std::memory_order_relaxed);
      return read_all();
    case Action::Kind::write:
      return write(action.transaction, now_);
    default:
      return conclude();
  }
}

void Correction::conclude() {
  remember(machine_->snapshot());
  const CorrectionOutcome& outcome = machine_->outcome();
  switch (outcome.kind) {
    case CorrectionOutcome::Kind::corrected:
      if (const auto& item = machine_->snapshot()[0].item)
        context_.memory.wrote_version(buckets_in_chain_[0].id, plan_.resolution->levels, item->version);
      outcome_.repeated = outcome.repeated;
      report();
      return finish(Progress::decided);
    case CorrectionOutcome::Kind::refused:
      return finish(*outcome.error);
    case CorrectionOutcome::Kind::stale:
      if (outcome.chain) {
        distrust_chain();
      } else {
        distrust(0, outcome.version);
      }
      return finish(Progress::resolve_again);
    case CorrectionOutcome::Kind::contention:
      context_.counts.contended.fetch_add(1, std::memory_order_relaxed);
      return finish(base::error(ErrorCode::contention,
                                "too many others charge the bucket at once; nothing was changed, try again"));
    default:
      return finish(base::error(ErrorCode::outcome_unknown,
                                "DynamoDB did not answer; the balances may or may not have been corrected"));
  }
}

void Correction::report() {
  outcome_.report.clear();
  const conditional::Record* const alive = machine_->snapshot().alive(0, now_);
  limits::ResolutionRef resolution;
  if (alive != nullptr) resolution = decision::resolve_as_stored(*plan_.resolution, *alive, now_);
  if (!resolution) resolution = plan_.resolution;
  decision::Chain chain;
  decision::Link& link = chain.add(plan_.entity, resolution.get());
  show(chain, link, alive, now_);
  link.named = 0;
  link.amount.fill(0);
  decision::report(outcome_.report, link, resource_, link.generation, false);
}

}  // namespace weir::dynamodb
