// The requests that a generator draws, the changes to their leases, and what was seen of the shape.
#include <algorithm>

#include "twins/generator.h"

namespace weir::twins {

int Generator::draw_entity() {
  if (chance(75)) return 0;
  return pick_index(static_cast<std::size_t>(config_.oracle.entities));
}

/// Around what the limit holds, its capacity and its burst, where decisions change.
std::int64_t Generator::draw_amount(const Line& line) {
  const Terms& terms = line.terms;
  const std::int64_t held = std::max<std::int64_t>(line.remaining, 0);
  if (terms.concurrent() && is(Factor::concurrent, concurrent_full) && chance(80))
    return between(1, std::max<std::int64_t>(terms.capacity / 40, 1));
  switch (below(12)) {
    case 0:
      return held;
    case 1:
      return held + 1;
    case 2:
      return terms.capacity;
    case 3:
      return std::min(terms.capacity + 1, terms.burst);
    case 4:
      return between(terms.capacity, terms.burst);
    case 5:
      return chance(20) ? terms.burst + 1 : terms.burst;
    case 6:
      return held + between(0, std::max<std::int64_t>(terms.burst - held, 0));
    case 7:
    case 8:
      return between(0, held);
    case 9:
      return 1000;
    default:
      return between(1, std::max<std::int64_t>(terms.capacity / 4, 1));
  }
}

std::vector<Asked> Generator::draw_consume(const std::vector<Line>& lines) {
  // One limit is drawn with care, the others ask for little, so that it is decided by one.
  std::vector<Asked> consume;
  const std::size_t hot = below(lines.size());
  const int named = chance(85) ? shape_[Factor::named] : pick_index(3);
  const bool all_hot = chance(15);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    const auto known = std::find_if(consume.begin(), consume.end(),
                                    [&](const Asked& asked) { return asked.limit == line.limit; });
    std::int64_t amount = i == hot || all_hot ? draw_amount(line) : between(0, 20);
    if (named == named_zeros && chance(60)) amount = 0;
    if (known != consume.end()) {
      // Of a limit that several buckets have, mostly what the tightest of them allows.
      known->amount = i == hot ? amount : std::min(known->amount, std::max<std::int64_t>(amount, 0));
      continue;
    }
    if (named == named_subset && i != hot && chance(60)) continue;
    consume.push_back({line.limit, amount});
  }
  std::sort(consume.begin(), consume.end());
  if (chance(1)) consume.push_back({most_limits - 1, 1});
  if (consume.size() > 1 && chance(20)) std::reverse(consume.begin(), consume.end());
  consume.erase(std::unique(consume.begin(), consume.end(),
                            [](const Asked& a, const Asked& b) { return a.limit == b.limit; }),
                consume.end());
  return consume;
}

Request Generator::draw_request(const World& world) {
  Request request;
  request.entity = draw_entity();
  request.resource = chance(85) ? 0 : 1;
  if (request_set_ && chance(93))
    request.limits = chance(85) ? request_set_ : request_sets_[below(request_sets_.size())];
  const Answer held = world.oracle().look(request, world.now());
  if (held.lines.empty()) {
    request.consume = {{names_[0], 1000}};
  } else {
    request.consume = draw_consume(held.lines);
  }
  request.shadow = shape_.has_modes() && chance(10);
  if (chance(concurrent_.empty() ? 10 : 70)) request.lease_for = draw_length();
  return request;
}

/// Few different ones, so that leases share deadlines, or many.
Time Generator::draw_length() {
  if (is(Factor::concurrent, concurrent_full) && chance(70)) return between(1, 1 << between(4, 26));
  return lengths_[below(lengths_.size())];
}

Op Generator::crowd(const World& world) {
  Request request{chance(80) ? 0 : draw_entity(), 0, {}, request_set_, {}, false};
  for (const Line& line : world.oracle().look(request, world.now()).lines) {
    const auto same = [&](const Asked& asked) { return asked.limit == line.limit; };
    if (line.terms.concurrent() && std::none_of(request.consume.begin(), request.consume.end(), same))
      request.consume.push_back({line.limit, between(1, 3)});
  }
  if (request.consume.empty()) return acquire(world);
  request.lease_for = between(600'000, 86'400'000);
  // Time and other operations would make room again.
  const std::size_t more = pending_.empty() && unseen(Factor::concurrent) && chance(30) ? most_slots : 0;
  for (std::size_t i = 0; i < more; ++i)
    later([this](const World& then) -> std::optional<Op> { return crowd(then); });
  Op one = op(Kind::acquire);
  one.request = std::move(request);
  if (!is(Factor::leases, leases_none) && chance(40)) one.hold = chance(50) ? Hold::handle : Hold::id;
  return one;
}

Op Generator::acquire(const World& world) {
  Op one = op(Kind::acquire);
  one.request = draw_request(world);
  if (!is(Factor::keys, keys_none) && chance(unseen(Factor::keys) ? 60 : 30)) {
    one.request.key = "k" + std::to_string(++next_key_);
    repeat_key(world, one);
  }
  if (!is(Factor::leases, leases_none) && chance(unseen(Factor::leases) ? 80 : 40)) {
    one.hold = is(Factor::leases, leases_own) && chance(80) ? Hold::handle : Hold::id;
    if (is(Factor::leases, leases_reborn) && chance(unseen(Factor::leases) ? 60 : 20))
      be_reborn(world, one.request);
  }
  if (pending_.empty() && chance(12)) follow_up(one.request);
  return one;
}

Op Generator::touch(const World& world, Request request) {
  request.key.clear();
  request.consume.clear();
  for (const Line& line : world.oracle().look(request, world.now()).lines) {
    const auto same = [&](const Asked& asked) { return asked.limit == line.limit; };
    if (std::none_of(request.consume.begin(), request.consume.end(), same))
      request.consume.push_back({line.limit, between(0, 5)});
  }
  if (request.consume.empty()) request.consume = {{names_[0], 0}};
  Op one = op(Kind::acquire);
  one.request = std::move(request);
  return one;
}

/// How an acquire with a key comes again.
void Generator::repeat_key(const World& world, const Op& first) {
  const auto again = [this, request = first.request](const World&) -> std::optional<Op> {
    Op one = op(Kind::acquire);
    one.request = request;
    if (!is(Factor::leases, leases_none) && chance(40)) one.hold = Hold::id;
    return one;
  };
  keyed_.push_back(first.request);
  if (keyed_.size() > 12) keyed_.erase(keyed_.begin());
  if (is(Factor::keys, keys_at_once) || chance(20)) later(again);
  if (is(Factor::keys, keys_late) && chance(50)) {
    later([this, request = first.request](const World& now) -> std::optional<Op> {
      return touch(now, request);
    });
    later([this](const World&) -> std::optional<Op> { return clock(between(1, 5)); });
    later(again);
  }
  if (is(Factor::keys, keys_after_expiry) && chance(50)) {
    be_reborn(world, first.request);
    later(again);
  }
}

/// The bucket expires and is made anew.
void Generator::be_reborn(const World&, Request again) {
  later([this, entity = again.entity, resource = again.resource](const World& world) -> std::optional<Op> {
    const BucketState* const state = world.oracle().bucket(entity, resource, world.now());
    if (state == nullptr || state->expires_at == never) return std::nullopt;
    return clock(state->expires_at - world.now() + between(0, 2));
  });
  if (chance(80)) later([this, again](const World& now) -> std::optional<Op> { return touch(now, again); });
  later([this](const World& world) -> std::optional<Op> { return change_lease(world); });
}

/// Asks again one millisecond before the wait is over and when it is.
void Generator::follow_up(const Request& request) {
  later([this, request](const World& world) -> std::optional<Op> {
    const Answer& answer = world.observed().answer;
    if (answer.error || answer.admitted || !answer.wait || *answer.wait < 1) return std::nullopt;
    const auto ask = [this, request](Kind kind) {
      Op one = op(kind);
      one.request = request;
      one.request.key.clear();
      return one;
    };
    later([ask](const World&) -> std::optional<Op> { return ask(Kind::look); });
    later([this](const World&) -> std::optional<Op> { return clock(1); });
    later([this, ask](const World&) -> std::optional<Op> {
      return ask(chance(50) ? Kind::look : Kind::acquire);
    });
    return clock(*answer.wait - 1);
  });
}

Op Generator::look(const World& world) {
  Op one = op(Kind::look);
  one.request = draw_request(world);
  if (chance(30)) one.request.consume.clear();
  return one;
}

Op Generator::correct(const World& world, Kind kind) {
  Op one = op(kind);
  one.request = draw_request(world);
  if (kind == Kind::reset) return one;
  if (kind == Kind::grant) return draw_grant(world, std::move(one));
  for (const Line& line : world.oracle().look(one.request, world.now()).lines) {
    if (line.entity != one.request.entity || chance(30)) continue;
    // A concurrent limit, now and then, which is refused.
    if (line.terms.concurrent() && chance(80)) continue;
    one.amounts.push_back({line.limit, between(0, std::max<std::int64_t>(line.remaining, 0) + 2)});
  }
  if (one.amounts.empty() || chance(3)) one.amounts = {{names_[below(names_.size())], between(0, 3000)}};
  return one;
}

Op Generator::draw_grant(const World& world, Op one) {
  // A late copy of one that was made before.
  if (!granted_.empty() && chance(15)) {
    one.request = granted_.back().request;
    one.amounts = granted_.back().amounts;
    one.by = granted_.back().by;
    one.key = granted_.back().key;
    return one;
  }
  for (const Line& line : world.oracle().look(one.request, world.now()).lines) {
    if (line.entity != one.request.entity || chance(40)) continue;
    // A concurrent limit, now and then, which is refused.
    if (line.terms.concurrent() && chance(90)) continue;
    one.amounts.push_back({line.limit, between(1, 2 * line.terms.burst + 2)});
  }
  if (one.amounts.empty() || chance(3)) one.amounts = {{names_[below(names_.size())], between(1, 3000)}};
  if (chance(85)) one.by = between(1, chance(80) ? 3000 : 3'600'000);
  if (chance(40)) {
    one.key = "g" + std::to_string(one.id);
    granted_ = {one};
  }
  return one;
}

std::optional<Op> Generator::change_lease(const World& world) {
  if (!changed_leases_.empty() && chance(15)) {
    // A late copy of a change that was made before.
    Op again = changed_leases_[below(changed_leases_.size())];
    again.id = ++next_id_;
    return again;
  }
  const auto& leases = world.leases();
  if (leases.empty()) return std::nullopt;
  auto at = leases.begin();
  std::advance(at, static_cast<long>(below(leases.size())));
  if (chance(50)) at = std::prev(leases.end());
  return change_of(world, at->first);
}

Op Generator::change_of(const World& world, int acquire_id) {
  const World::HeldLease& held = world.leases().at(acquire_id);
  const Lease& lease = world.oracle().lease(held.lease);
  Op one = op(Kind::change);
  one.lease_of = acquire_id;
  one.hold = held.handle && (held.id.empty() || chance(70)) ? Hold::handle : Hold::id;
  one.verb = static_cast<Verb>(below(chance(60) ? 1 : 3));
  if (chance(concurrent_.empty() ? 10 : 25)) one.verb = Verb::extend;
  if (one.verb == Verb::extend) one.by = draw_length();
  if (one.verb == Verb::adjust || one.verb == Verb::settle) {
    for (const LeaseAmount& amount : lease.amounts) {
      if (lease.amounts.size() > 1 && chance(50)) continue;
      const std::int64_t most = std::max<std::int64_t>(amount.amount, 1);
      std::int64_t by = one.verb == Verb::settle ? between(0, 2 * most) : between(-most, most);
      if (chance(5)) by = one.verb == Verb::settle ? amount.amount : -most - 1;
      if (chance(5)) by *= 20;
      one.amounts.push_back({amount.limit, by});
    }
    if (chance(15)) {
      const int other = names_[below(names_.size())];
      const auto same = [&](const Asked& asked) { return asked.limit == other; };
      if (std::none_of(one.amounts.begin(), one.amounts.end(), same))
        one.amounts.push_back({other, between(0, 3000)});
    }
    one.enforce = one.verb == Verb::adjust && chance(40);
    if (one.verb == Verb::adjust && one.hold == Hold::id) one.key = "a" + std::to_string(pick_index(4));
  }
  changed_leases_.push_back(one);
  if (changed_leases_.size() > 12) changed_leases_.erase(changed_leases_.begin());
  return one;
}

void Generator::saw(const Op& op, const World& world) {
  const Observed& observed = world.observed();
  if (observed.skipped) return;
  switch (op.kind) {
    case Kind::acquire:
    case Kind::look:
      saw_access(op, world);
      return saw_decision(op, world);
    case Kind::remove_access:
      if (!observed.answer.error) removed_ = op.entity;
      return;
    case Kind::change: {
      if (observed.answer.error) return;
      const int how = observed.reborn ? leases_reborn : op.limiter == 1 ? leases_other : leases_own;
      const bool other =
          how == leases_other || (!world.traits().shared && op.hold == Hold::id && !observed.reborn);
      if (is(Factor::leases, how) || (is(Factor::leases, leases_other) && other)) saw(Factor::leases);
      return;
    }
    case Kind::set_limits:
    case Kind::delete_limits:
    case Kind::put_plan:
      if (is(Factor::changes, changes_asleep) || is(Factor::changes, last_change_)) saw(Factor::changes);
      return;
    case Kind::advance:
      if (is(Factor::clock, clock_ahead)) return;
      if (is(Factor::clock, clock_back) && op.by >= 0) return;
      saw(Factor::clock);
      return;
    default:
      return;
  }
}

void Generator::saw_concurrent(const Op& op, const World& world) {
  const std::vector<Line>& lines = world.observed().answer.lines;
  int count = 0;
  for (const Line& line : lines) count += line.entity == lines[0].entity && line.terms.concurrent() ? 1 : 0;
  if (!is(Factor::concurrent, concurrent_full)) {
    if (count == std::min(shape_.concurrent(), shape_.limits())) saw(Factor::concurrent);
    return;
  }
  for (const Line& line : lines) {
    const BucketState* const bucket = world.oracle().bucket(line.entity, op.request.resource, world.now());
    for (const Held& held : bucket == nullptr ? std::vector<Held>() : bucket->limits) {
      if (held.limit == line.limit && held.slots.size() == most_slots) return saw(Factor::concurrent);
    }
  }
}

void Generator::saw_decision(const Op& op, const World& world) {
  const Observed& observed = world.observed();
  const Answer& answer = observed.answer;
  if (answer.error || answer.lines.empty()) return;
  if (is(Factor::leases, leases_none)) saw(Factor::leases);
  if (is(Factor::changes, changes_none)) saw(Factor::changes);
  saw(Factor::multiplier);
  int buckets = 0;
  int limits = 0;
  int last = -1;
  bool above = false;
  for (const Line& line : answer.lines) {
    if (line.entity != last) ++buckets;
    if (line.entity == answer.lines[0].entity) ++limits;
    last = line.entity;
    above = above || line.terms.burst > line.terms.capacity;
  }
  if (buckets == shape_.depth()) saw(Factor::depth);
  if (limits == shape_.limits()) saw(Factor::limits);
  if (above == shape_.burst_above()) saw(Factor::burst);
  bool of_request = false;
  bool mixed = false;
  bool of_plan = false;
  for (const Line& line : answer.lines) of_plan = of_plan || line.source == Source::plan;
  if (of_plan == shape_.has_plans()) saw(Factor::plans);
  for (const Line& line : answer.lines) {
    if (line.entity != answer.lines[0].entity) continue;
    of_request = of_request || line.source == Source::request;
    mixed = mixed || line.source != answer.lines[0].source;
  }
  if (of_request == shape_.request_limits()) saw(Factor::request);
  if (mixed == shape_.inherits() || shape_.limits() == 1) saw(Factor::inherit);
  const bool left_out = std::any_of(answer.lines.begin(), answer.lines.end(),
                                    [](const Line& line) { return line.would_refuse; });
  if (left_out || !shape_.has_modes()) saw(Factor::modes);
  saw_concurrent(op, world);
  const bool ages[] = {observed.new_bucket, observed.existing_bucket, observed.expired_bucket};
  if (ages[shape_[Factor::age]]) saw(Factor::age);
  bool zeros = false;
  bool all = true;
  for (const Line& line : answer.lines) {
    const auto same = [&](const Asked& asked) { return asked.limit == line.limit; };
    all = all && std::any_of(op.request.consume.begin(), op.request.consume.end(), same);
  }
  for (const Asked& asked : op.request.consume) zeros = zeros || asked.amount == 0;
  const bool names[] = {all, !all, zeros};
  if (names[shape_[Factor::named]]) saw(Factor::named);
  if (is(Factor::clock, clock_ahead) && observed.repaired) saw(Factor::clock);
  if (op.kind != Kind::acquire) return;
  if (is(Factor::keys, keys_none)) saw(Factor::keys);
  if (!answer.repeated) {
    last_keyed_op_ = op.request.key.empty() ? -1 : op.id;
    return;
  }
  const int how = observed.reborn ? keys_after_expiry : last_keyed_op_ >= 0 ? keys_at_once : keys_late;
  if (is(Factor::keys, how)) saw(Factor::keys);
}

}  // namespace weir::twins
