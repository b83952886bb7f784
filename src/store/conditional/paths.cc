#include "store/conditional/paths.h"

#include <algorithm>

#include "decision/expiry.h"

namespace weir::conditional {
namespace {

using bucket::Claims;
using bucket::LimitClaim;
using bucket::State;
using Effect = LimitWrite::Effect;

/// The amount that the plan moves to another deadline.
std::int64_t moved_of(const BucketPlan& plan, std::string_view limit) {
  const auto charge = std::find_if(plan.charges.begin(), plan.charges.end(),
                                   [&](const LimitCharge& one) { return one.holds && one.limit == limit; });
  return charge == plan.charges.end() ? 0 : charge->moved;
}

/// Whether the bucket is the one that the lease has charged.
bool is_charged_bucket(const Evaluation& evaluation) {
  return evaluation.item != nullptr && evaluation.item->generation == evaluation.plan->generation;
}

/// The charge of a limit in this bucket. Tokens given back to a bucket other than the charged one are
/// dropped: the charged one was full when it expired.
std::int64_t amount_of(const Evaluation& evaluation, const LimitClaim& limit) {
  const std::int64_t amount = charge_of(evaluation, limit.name, limit.parameters.kind()).value_or(0);
  return amount < 0 && !is_charged_bucket(evaluation) ? 0 : amount;
}

/// The holds of a concurrent limit after the charge.
bucket::Holds holds_after(const Evaluation& evaluation, const LimitClaim& limit) {
  const BucketPlan& plan = *evaluation.plan;
  const std::int64_t amount = amount_of(evaluation, limit);
  const std::int64_t moved = is_charged_bucket(evaluation) ? moved_of(plan, limit.name) : 0;
  bucket::Holds holds = limit.holds;
  const Time at = evaluation.claims().at;
  if (amount < 0) bucket::release(holds, plan.held_until, -amount, at);
  if (moved > 0) bucket::release(holds, plan.held_until, moved, at);
  if (amount > 0) bucket::take(holds, plan.hold_until, amount);
  if (moved > 0) bucket::take(holds, plan.hold_until, moved);
  return holds;
}

/// The image of a limit; null where the bucket does not have it.
const bucket::LimitState* stored(const Evaluation& evaluation, const LimitClaim& limit) {
  return limit.index < 0 ? nullptr : &evaluation.item->limits[static_cast<std::size_t>(limit.index)];
}

bool has_grants(const Evaluation& evaluation, const LimitClaim& limit) {
  const bucket::LimitState* const image = stored(evaluation, limit);
  return image != nullptr && !image->grants.empty();
}

/// What the plan returns to grants of this limit.
bucket::Grants returned_of(const Evaluation& evaluation, const LimitClaim& limit) {
  if (!is_charged_bucket(evaluation)) return {};
  for (const LimitCharge& charge : evaluation.plan->charges) {
    if (charge.limit == limit.name && !charge.holds) return charge.returned;
  }
  return {};
}

/// A rate limit after the charge.
struct AfterCharge {
  std::int64_t tokens = 0;
  bucket::Grants grants;
};

AfterCharge after_charge(const Evaluation& evaluation, const LimitClaim& limit) {
  std::int64_t amount = amount_of(evaluation, limit);
  AfterCharge after{limit.held(evaluation.item), limit.grants};
  if (amount > 0) {
    amount -= bucket::total(bucket::spend(after.grants, amount));
  } else {
    const bucket::Grants pieces = returned_of(evaluation, limit);
    amount += bucket::total(pieces);
    bucket::give_back(after.grants, pieces, evaluation.claims().at);
  }
  after.tokens = std::min(after.tokens - amount, limit.parameters.burst);
  return after;
}

/// Marks a bucket whose charges do not count as usage. The mark is taken away where the image has it, so that
/// a charge that counts is written as if there were none.
void mark(const Evaluation& evaluation, Write& write) {
  const std::optional<bool>& counts = evaluation.plan->counts_usage;
  if (counts && (!*counts || !evaluation.item->counts_usage)) write.set_counts_usage = counts;
}

using decision::Expiry;

/// Extends an expiry; a bucket without one stays without.
Time later(Time expires_at, Time by) {
  return expires_at == bucket::never ? expires_at : base::saturating_add(expires_at, by);
}

/// Drops a limit that is full, unless a concurrent charge has lowered it.
LimitWrite forget(const LimitClaim& limit) {
  return {.name = limit.name,
          .at_least = limit.parameters.capacity - limit.claim.grant,
          .effect = Effect::remove};
}

/// Adds the refill to a balance and subtracts the charge. Passes the lowest possible balance to the expiry.
void add(const WriteBuilder& builder, const Evaluation& evaluation, const LimitClaim& limit,
         LimitWrite& write, Expiry& expiry) {
  const auto [grant, ceiling] = limit.claim;
  const std::int64_t amount = write.consumed;
  write.effect = Effect::add;
  write.tokens = grant - amount;
  // Adding commutes with the cut at burst, which every reader makes, so it needs no condition that the bucket
  // has room; unless the write also charges, or a change of parameters cuts lower than the burst.
  const bool cuts = amount > 0 || ceiling != limit.parameters.burst;
  if (cuts) write.at_most = ceiling - grant;
  const bool named = charge_of(evaluation, limit.name, Kind::rate).has_value();
  if (builder.admitting && named && amount >= 0) write.at_least = amount - grant;
  // The expiry is computed from the image, and the balance may be lower by now. The expiry covers every
  // balance of 0 or more, and the debt in the image; it does not cover a deeper debt.
  const std::int64_t least = std::min<std::int64_t>(limit.held(evaluation.item) - amount, 0);
  if (evaluation.plan->resolution->keep_for != bucket::never) {
    write.at_least = std::max(write.at_least.value_or(least - write.tokens), least - write.tokens);
  }
  expiry.hold(limit.name, limit.parameters, least, !limit.in_force);
}

/// A concurrent limit, or one that was concurrent, in Normal: on condition of the whole list, also where
/// nothing is taken, since the expiry is computed from it.
LimitWrite claim_holds(const Evaluation& evaluation, const LimitClaim& limit, Expiry& expiry) {
  const bool concurrent = limit.parameters.kind() == Kind::concurrent;
  LimitWrite write{.name = limit.name};
  if (limit.index < 0) {
    write.absent = true;
  } else {
    write.holds = evaluation.item->limits[static_cast<std::size_t>(limit.index)].holds;
  }
  if (bucket::forgettable(limit, limit.held(evaluation.item))) {
    write.effect = Effect::remove;
    return write;
  }
  write.effect = limit.index < 0 ? Effect::insert : Effect::set;
  if (limit.changed) write.parameters = limit.parameters;
  write.set_holds = concurrent ? holds_after(evaluation, limit) : bucket::Holds();
  // A limit of another kind had them.
  if (has_grants(evaluation, limit)) {
    write.grants = stored(evaluation, limit)->grants;
    write.set_grants.emplace();
  }
  if (concurrent) {
    write.tokens = limit.parameters.capacity - bucket::total(*write.set_holds);
  } else {
    write.consumed = amount_of(evaluation, limit);
    write.tokens = limit.held(evaluation.item) - write.consumed;
  }
  expiry.hold(limit.name, limit.parameters, write.tokens, !limit.in_force);
  expiry.hold(*write.set_holds);
  return write;
}

/// A dormant limit that returns is cut at its capacity. A limit that request limits leave out becomes dormant
/// without a new version, so this is a condition of its own.
std::optional<bool> dormancy_of(const Evaluation& evaluation, const LimitClaim& limit) {
  const bool matters =
      limit.index >= 0 && limit.in_force && limit.parameters.burst > limit.parameters.capacity;
  return matters ? std::optional(stored(evaluation, limit)->dormant) : std::nullopt;
}

/// A limit that has grants, or gets some back, in Normal: on condition of the image's balance and grants.
LimitWrite claim_grants(const Evaluation& evaluation, const LimitClaim& limit, Expiry& expiry) {
  LimitWrite write{.name = limit.name};
  write.at_least = write.at_most = stored(evaluation, limit)->tokens;
  write.dormant = dormancy_of(evaluation, limit);
  write.grants = stored(evaluation, limit)->grants;
  if (bucket::forgettable(limit, limit.held(evaluation.item))) {
    write.effect = Effect::remove;
    return write;
  }
  AfterCharge after = after_charge(evaluation, limit);
  write.effect = Effect::set;
  write.tokens = after.tokens;
  write.consumed = amount_of(evaluation, limit);
  if (limit.changed) write.parameters = limit.parameters;
  expiry.hold(limit.name, limit.parameters, after.tokens, !limit.in_force);
  expiry.grant(after.grants);
  write.set_grants = std::move(after.grants);
  return write;
}

/// Images without grants of a limit must not be charged once it has some.
void fence_off(const Evaluation& evaluation, Write& write) {
  const auto gains = [&](const LimitWrite& one) {
    if (!one.set_grants || one.set_grants->empty()) return false;
    const bucket::LimitState* const image = evaluation.item->find(one.name);
    return image == nullptr || image->grants.empty();
  };
  const bool any = std::any_of(write.limits.begin(), write.limits.end(), gains);
  if (any) write.set_version = std::max(evaluation.claims().version, evaluation.item->version + 1);
}

/// One limit in Normal.
LimitWrite claim(const WriteBuilder& builder, const Evaluation& evaluation, const LimitClaim& limit,
                 Expiry& expiry) {
  if (limit.parameters.kind() == Kind::concurrent || limit.anew)
    return claim_holds(evaluation, limit, expiry);
  const bool gets_back = limit.index >= 0 && !returned_of(evaluation, limit).empty();
  if (gets_back || has_grants(evaluation, limit)) return claim_grants(evaluation, limit, expiry);
  const auto [grant, ceiling] = limit.claim;
  const std::int64_t amount = amount_of(evaluation, limit);
  const std::int64_t held = limit.held(evaluation.item);
  const std::int64_t after = held - amount;
  if (bucket::forgettable(limit, held)) return forget(limit);

  LimitWrite write{.name = limit.name, .consumed = amount};
  if (limit.changed) write.parameters = limit.parameters;
  write.dormant = dormancy_of(evaluation, limit);
  if (limit.index < 0) {
    write.absent = true;
    write.effect = Effect::insert;
    write.tokens = after;
    expiry.hold(limit.name, limit.parameters, after, !limit.in_force);
  } else if (evaluation.item->limits[static_cast<std::size_t>(limit.index)].tokens > ceiling - grant) {
    write.effect = Effect::set;
    write.tokens = ceiling - amount;
    write.at_least = ceiling - grant + 1;
    expiry.hold(limit.name, limit.parameters, after, !limit.in_force);
  } else {
    add(builder, evaluation, limit, write, expiry);
  }
  return write;
}

}  // namespace

std::optional<std::int64_t> charge_of(const Evaluation& evaluation, std::string_view limit, Kind kind) {
  const auto& charges = evaluation.plan->charges;
  const auto charge = std::find_if(charges.begin(), charges.end(), [&](const auto& one) {
    return one.limit == limit && one.holds == (kind == Kind::concurrent);
  });
  if (charge == charges.end()) return std::nullopt;
  const decision::Link* const link = evaluation.link;
  if (link == nullptr || link->left_out == 0) return charge->amount;
  const int index = link->resolution->limits->find(limit);
  const bool left_out = index >= 0 && (link->left_out >> static_cast<unsigned>(index) & 1U) != 0;
  return left_out ? std::nullopt : std::optional(charge->amount);
}

std::vector<decision::GrantedCharge> granted_charges(const Evaluation& evaluation) {
  std::vector<decision::GrantedCharge> charges;
  for (const LimitClaim& limit : evaluation.claims().limits) {
    bucket::Grants grants = limit.grants;
    bucket::Grants pieces = bucket::spend(grants, amount_of(evaluation, limit));
    if (!pieces.empty()) charges.push_back({limit.name, std::move(pieces)});
  }
  return charges;
}

bool is_stale(const Evaluation& evaluation) {
  return evaluation.item != nullptr && evaluation.item->version > std::max(evaluation.plan->resolution->stamp,
                                                                           evaluation.plan->resolved_after);
}

Evaluation evaluate(decision::Chain& chain, std::size_t bucket, const BucketPlan& plan, const Record* item,
                    Time now) {
  decision::Link& link = chain.add({}, plan.resolution.get());
  // Refill times that lie too far ahead are repaired by a write of their own.
  chain.claim(link, item == nullptr ? std::nullopt : std::optional<State>(*item), now, bucket::never);
  std::vector<Charge> charges;
  for (const LimitCharge& charge : plan.charges) {
    const int index = plan.resolution->limits->find(charge.limit);
    const bool same_kind =
        index >= 0 && charge.holds == ((plan.resolution->limits->concurrent() >> index & 1U) != 0);
    if (same_kind) charges.push_back({charge.limit, Amount::milli(charge.amount)});
  }
  decision::match(link, charges);
  return {bucket, &plan, item, now, &link};
}

Write WriteBuilder::create(const Evaluation& evaluation) const {
  Expiry expiry(evaluation.claims().at, *evaluation.plan->resolution);
  Record item;
  item.refilled_at = evaluation.claims().at;
  item.version = evaluation.claims().version;
  item.generation = new_generation;
  item.parent = evaluation.plan->parent;
  item.counts_usage = evaluation.plan->counts_usage.value_or(true);
  for (const LimitClaim& limit : evaluation.claims().limits) {
    const std::int64_t amount = amount_of(evaluation, limit);
    const bool concurrent = limit.parameters.kind() == Kind::concurrent;
    item.limits.push_back({limit.name, limit.parameters, limit.held(nullptr) - amount,
                           concurrent ? 0 : amount, false,
                           concurrent ? holds_after(evaluation, limit) : bucket::Holds()});
    expiry.hold(limit.name, limit.parameters, item.limits.back().tokens, false);
    expiry.hold(item.limits.back().holds);
  }
  item.expires_at = later(expiry.expires_at(), settings.margin);
  Write write = blank(Write::Path::create, evaluation.bucket);
  write.item = std::move(item);
  write.absent_at = evaluation.now;
  write.dormant.emplace();
  return write;
}

Write WriteBuilder::normal(const Evaluation& evaluation) const {
  Write write = blank(Write::Path::normal, evaluation.bucket);
  write.refilled_at = evaluation.item->refilled_at;
  write.version = evaluation.item->version;
  write.generation = evaluation.item->generation;
  // The image may have a later expiry than another writer has set in the same millisecond.
  write.expires_since = base::saturating_add(evaluation.now, 1);
  write.dormant.emplace();
  Expiry expiry(evaluation.claims().at, *evaluation.plan->resolution);
  for (const LimitClaim& limit : evaluation.claims().limits) {
    write.limits.push_back(claim(*this, evaluation, limit, expiry));
    if (!limit.in_force && write.limits.back().effect != Effect::remove) write.dormant->push_back(limit.name);
  }
  write.set_refilled_at = evaluation.claims().at;
  if (evaluation.claims().version != evaluation.item->version)
    write.set_version = evaluation.claims().version;
  fence_off(evaluation, write);
  if (checks_link(evaluation)) write.set_parent = evaluation.plan->parent;
  mark(evaluation, write);
  // Set even if the image has the same expiry: another writer may have set an earlier one in the same
  // millisecond.
  const Time expires_at = expiry.expires_at();
  const bool never = expires_at == bucket::never && evaluation.item->expires_at == bucket::never;
  // An eighth longer than necessary, so that Retry can charge the bucket for a while.
  if (!never)
    write.set_expires_at = later(expires_at, settings.margin + (expires_at - evaluation.claims().at) / 8);
  return write;
}

Write WriteBuilder::retry(const Evaluation& evaluation) const {
  Write write = blank(Write::Path::retry, evaluation.bucket);
  write.refilled_since = evaluation.now - settings.recent;
  write.version = evaluation.item->version;
  write.generation = evaluation.item->generation;
  // The charged limits keep 0 or more. The write that made a debt of another limit has set the expiry for it.
  Expiry expiry(evaluation.now, *evaluation.plan->resolution);
  for (const LimitClaim& limit : evaluation.claims().limits) {
    expiry.hold(limit.name, limit.parameters, 0, !limit.in_force);
    if (limit.parameters.kind() == Kind::concurrent) continue;
    const auto amount = charge_of(evaluation, limit.name, Kind::rate);
    if (!amount || !limit.in_force) continue;
    LimitWrite charge{.name = limit.name, .effect = Effect::add, .tokens = -*amount, .consumed = *amount};
    charge.at_least = amount;
    if (*amount > 0) {
      const bucket::Parameters& parameters = limit.parameters;
      charge.at_most = parameters.burst - bucket::most_granted(parameters.rate, settings.recent);
    } else {
      charge.effect = Effect::none;
      charge.exists = true;
    }
    write.limits.push_back(std::move(charge));
  }
  write.expires_since = later(expiry.expires_at(), settings.margin);
  mark(evaluation, write);
  return write;
}

Write WriteBuilder::credit(const Evaluation& evaluation) const {
  Write write = blank(Write::Path::credit, evaluation.bucket);
  write.generation = evaluation.plan->generation;
  // A bucket that has not followed a change of limits yet would give the credit to the time before the
  // change.
  if (const Time stamp = evaluation.plan->resolution->stamp; stamp > 0) write.version_since = stamp;
  // A credit to an expired item would be lost with it, without harm; but expired means absent, in conditions
  // too.
  write.expires_since = base::saturating_add(evaluation.now, 1);
  for (const LimitCharge& charge : evaluation.plan->charges) {
    if (charge.amount >= 0 || charge.holds) continue;
    const bucket::LimitState* const limit =
        evaluation.item != nullptr ? evaluation.item->find(charge.limit) : nullptr;
    if (evaluation.item != nullptr && (limit == nullptr || limit->parameters.kind() != Kind::rate)) continue;
    write.limits.push_back({.name = charge.limit,
                            .is_rate = true,
                            .effect = Effect::add,
                            .tokens = -charge.amount,
                            .consumed = charge.amount});
  }
  return write;
}

namespace {

/// Sets the balance and the grants of a limit after a correction, in a write that updates the bucket.
void set_corrected(const Evaluation& evaluation, const LimitClaim& limit, const bucket::LimitState& next,
                   LimitWrite& write) {
  if (write.effect == Effect::remove || next.parameters.kind() == Kind::concurrent) return;
  // Exactly as in the image, of which the balance after the correction is a function.
  if (!limit.anew && limit.index >= 0) {
    write.at_least = write.at_most = stored(evaluation, limit)->tokens;
    write.effect = Effect::set;
  }
  write.tokens = next.tokens;
  if (next.grants.empty() && !has_grants(evaluation, limit)) return;
  if (limit.index >= 0) write.grants = stored(evaluation, limit)->grants;
  write.set_grants = next.grants;
}

}  // namespace

Result<std::optional<Write>> WriteBuilder::correct(const Evaluation& evaluation,
                                                   const decision::Correction& correction) const {
  if (evaluation.item == nullptr && !decision::creates(correction)) return std::optional<Write>();
  Write write = evaluation.item == nullptr ? create(evaluation) : normal(evaluation);
  const auto& limits = evaluation.claims().limits;
  const Time at = evaluation.claims().at;
  Expiry expiry(at, *evaluation.plan->resolution);
  bool changes = false;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const LimitClaim& limit = limits[i];
    const std::int64_t held = limit.held(evaluation.item);
    bucket::LimitState next{limit.name,      limit.parameters, held,        0,
                            !limit.in_force, limit.holds,      limit.grants};
    const auto changed = limit.in_force ? decision::apply(correction, next, at) : Result<bool>(false);
    if (!changed) return changed.error();
    changes = changes || *changed;
    if (!bucket::forgettable(limit, held))
      expiry.hold(limit.name, limit.parameters, next.tokens, !limit.in_force);
    expiry.hold(limit.holds);
    expiry.grant(next.grants);
    if (write.item) {
      write.item->limits[i].tokens = next.tokens;
      write.item->limits[i].grants = next.grants;
    } else {
      set_corrected(evaluation, limit, next, write.limits[i]);
    }
  }
  if (!changes) return std::optional<Write>();
  const Time expires_at = expiry.expires_at();
  if (write.item) {
    write.item->expires_at = later(expires_at, settings.margin);
    return std::optional(std::move(write));
  }
  fence_off(evaluation, write);
  if (write.set_expires_at) write.set_expires_at = later(expires_at, settings.margin + (expires_at - at) / 8);
  return std::optional(std::move(write));
}

Write WriteBuilder::repair(const Evaluation& evaluation) {
  Write write = blank(Write::Path::repair, evaluation.bucket);
  write.refilled_at = evaluation.item->refilled_at;
  write.generation = evaluation.item->generation;
  write.set_refilled_at = evaluation.now;
  return write;
}

}  // namespace weir::conditional
