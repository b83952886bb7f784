#include "store/table/table.h"

#include "base/text.h"
#include "store/table/aligned.h"
#include "store/table/locks.h"
#include "store/table/write.h"

namespace weir::table {

using store::Progress;
using store::Request;

Table::Table(const Clock& clock, base::HashSeed seed, std::uint64_t first_bucket_generation,
             const std::atomic<std::uint64_t>& catalog_generation, Backing* backing)
    : clock_(clock),
      seed_(seed),
      next_generation_(first_bucket_generation),
      catalog_generation_(catalog_generation),
      backing_(backing),
      shards_(std::make_unique<Shard[]>(shard_count)) {}

std::uint64_t Table::token_of(std::string_view name_space) const { return base::hash(name_space, seed_); }

std::uint64_t Table::owner_hash(std::uint64_t name_space_token, std::string_view entity) const {
  return base::hash(entity, seed_, name_space_token);
}

Shard& Table::shard_of(std::uint64_t owner_hash) const {
  // Middle bits: the map inside the shard uses the low ones.
  return shards_[owner_hash >> 32U & (shard_count - 1)];
}

Table::Place Table::place_of(const Request& request, std::string_view entity) const {
  const std::uint64_t token = request.name_space_token;
  const std::uint64_t owner = owner_hash(token != 0 ? token : token_of(request.name_space), entity);
  return {&shard_of(owner), base::hash(request.resource, seed_, owner)};
}

void Table::place(const Request& request, Stop& stop) {
  const Place place = place_of(request, stop.entity);
  stop.shard = place.shard;
  stop.hash = place.hash;
}

Record* Table::find(const Request& request, std::string_view entity, const Place& place, Time now) {
  Record* const record =
      Locks::map_of(*place.shard).find(place.hash, {request.name_space, entity, request.resource});
  return record != nullptr && record->expires_at > now ? record : nullptr;
}

void Table::find(const Request& request, Stop& stop, Time now) {
  stop.record = find(request, stop.entity, {stop.shard, stop.hash}, now);
}

bool Table::current(const limits::Resolution& resolution, Time now) const {
  return resolution.catalog_generation == catalog_generation_.load(std::memory_order_acquire) &&
         resolution.valid_until > now;
}

bool Table::usable(const Record* record, const Request& request, Time now) const {
  if (record == nullptr || !record->resolution) return false;
  const limits::Resolution& resolution = *record->resolution;
  if (resolution.source == Source::request && request.request_limits != resolution.limits.get()) return false;
  return current(resolution, now);
}

/// The stops behind the first one, along the chain of parents.
void Table::add_chain(const Request& request, Stops& stops, const limits::Resolution& resolution) {
  for (const limits::Resolution* at = &resolution; at->parent_resolution && !stops.full();
       at = at->parent_resolution.get()) {
    // An ancestor without limits is not charged, and has no bucket.
    if (!at->parent_resolution->limits) continue;
    place(request, stops.add(at->parent, at->parent_resolution.get()));
  }
}

/// A stop at a record, under the limits that it carries.
inline void start(Stop& stop, const Request& request, Record& record) {
  stop.entity = request.entity;
  stop.resolution = record.resolution.get();
  stop.record = &record;
}

/// Puts the expiry of a record off, so that it is still there at the moment and for as long after it as an
/// unused bucket is kept: who waits comes a little late.
inline void keep_until(Record& record, Time moment, Time keep_for) {
  if (keep_for == limits::never) return;
  record.expires_at = std::max(record.expires_at, base::saturating_add(moment, keep_for));
}

/// Reports a refusal. Brings the bucket to the present once more, so that the stop of an admitted request has
/// no address and the compiler can keep it in registers.
void Table::refuse(const Request& request, Record& record, Decision& decision, Time now) {
  Stop stop;
  start(stop, request, record);
  match(stop, request.consume);
  refill_aligned(stop, now, record.limit_count);
  report_stop(decision.report(), request.resource, stop, false, now);
  const auto wait = wait_of(stop, now);
  if (wait) keep_until(record, base::saturating_add(now, *wait), stop.resolution->keep_for);
  decision.set_refused(wait);
}

/// A bucket without ancestors that needs no change but the charge. Requires the shard's lock. `count`: of its
/// limits.
template <class Count>
bool Table::decide_aligned(const Request& request, Record& record, Decision& decision, Time now,
                           Count count) {
  Stop stop;
  start(stop, request, record);
  if (!match_in_order(stop, request.consume, count)) {
    const Matched matched = match(stop, request.consume);
    const bool other = request.every != nullptr;
    if (other || matched.twice || matched.charges != all_of(request.consume)) [[unlikely]]
      return false;
  }
  refill_aligned(stop, now, count);
  decision.report().clear();
  if (!fits(stop, count)) [[unlikely]] {
    refuse(request, record, decision, now);
    return true;
  }
  charge_aligned(stop, count);
  decision.set_admitted();
  decision.set_deadline(base::saturating_add(now, request.lease_for));
  report_lines(decision.report(), stop, record.entity_and_resource(), record.generation, true, count);
  return true;
}

// One function with all that it runs through, since calls would cost as much as the rest.
[[gnu::flatten]] bool Table::acquire_carried(const Request& request, Decision& decision) {
  const Time now = clock_.now();
  const Place place = place_of(request, request.entity);
  limits::ResolutionRef resolution;
  {
    const base::Guard guard(place.shard->lock);
    Record* const record = find(request, request.entity, place, now);
    if (!usable(record, request, now)) [[unlikely]]
      return false;
    const bool alone = !record->resolution->parent_resolution;
    if (alone && is_aligned(record, *record->resolution)) [[likely]] {
      if (backing_ != nullptr) [[unlikely]]
        return decide_and_touch(request, place, *record, decision, now);
      // Requests and tokens: where the compiler knows the number, it unrolls every loop.
      if (record->limit_count == 2)
        return decide_aligned(request, *record, decision, now, std::integral_constant<std::size_t, 2>());
      return decide_any_aligned(request, *record, decision, now);
    }
    // What the limits of a whole chain are called is found out on the way that resolves it.
    if (request.every != nullptr) return false;
    resolution = record->resolution;
  }
  return acquire_chain({request, std::move(resolution)}, decision);
}

bool Table::decide_any_aligned(const Request& request, Record& record, Decision& decision, Time now) {
  return decide_aligned(request, record, decision, now, std::size_t{record.limit_count});
}

/// The same with something behind the table, which has to be told of what changes.
bool Table::decide_and_touch(const Request& request, const Place& place, Record& record, Decision& decision,
                             Time now) {
  const Time expires_at = record.expires_at;
  const bool decided = decide_any_aligned(request, record, decision, now);
  if (decided && (decision.admitted() || record.expires_at != expires_at))
    touch(*place.shard, place.hash, record);
  return decided;
}

/// The general way, which locks the chain in order. A mistake in the request is left to the slow door.
bool Table::acquire_chain(const store::Plan& plan, Decision& decision) {
  const auto decided = decide(plan, decision, Effect::charge);
  return decided && *decided == Progress::decided;
}

void Table::acquire(const store::Plan& plan, Decision& decision, store::Completion<Progress> done) {
  done(plan.request.once == nullptr ? decide(plan, decision, Effect::charge) : decide_once(plan, decision));
}

void Table::peek(const store::Plan& plan, Decision& decision, store::Completion<Progress> done) {
  done(decide(plan, decision, Effect::look));
}

Result<Progress> Table::decide_once(const store::Plan& plan, Decision& decision) {
  const Nonce& nonce = *plan.request.once;
  const Time now = clock_.now();
  const base::Guard guard(markers_.mutex);
  auto marker = find_marker(nonce, now);
  if (!marker) return marker.error();
  const bool repeated = *marker != nullptr && (*marker)->deadline > now;
  auto progress = decide(plan, decision, repeated ? Effect::repeat : Effect::charge);
  if (!progress || *progress != Progress::decided || decision.refused()) return progress;
  if (repeated) {
    decision.set_deadline((*marker)->deadline);
    return progress;
  }
  const detail::LeaseData& lease = decision.lease_data();
  markers_.put(nonce, {{.ending = lease.ending, .amounts = lease.amounts, .keys = {}}, lease.deadline}, now);
  if (backing_ != nullptr) markers_.dirty.push_back(nonce);
  return progress;
}

Result<Progress> Table::decide(const store::Plan& plan, Decision& decision, Effect effect) {
  const Request& request = plan.request;
  const Time now = clock_.now();
  Stops stops;
  Locks locks;
  // An entity without limits of its own is still charged for its ancestors'.
  if (plan.resolution->limits) place(request, stops.add(request.entity, plan.resolution.get()));
  add_chain(request, stops, *plan.resolution);
  auto locked = lock(request, stops, locks, now);
  if (!locked) return locked.error();
  if (!*locked || !current(*plan.resolution, now)) return Progress::resolve_again;
  for (Stop& stop : stops) find(request, stop, now);
  if (auto evaluated = evaluate(stops, request.consume, now); !evaluated) return evaluated.error();
  conclude(request, stops, decision, effect, now);
  for (Stop& stop : stops) {
    if (stop.record != nullptr && stop.record->resolution.get() != stop.resolution) {
      stop.record->resolution = limits::ResolutionRef(stop.resolution);
    }
  }
  return Progress::decided;
}

void Table::conclude(const Request& request, Stops& stops, Decision& decision, Effect effect, Time now) {
  const bool admitted = std::all_of(stops.begin(), stops.end(), [](const Stop& stop) { return stop.fits; });
  const bool charged = admitted && effect == Effect::charge;
  decision.report().clear();
  for (Stop& stop : stops) {
    if (effect == Effect::repeat) {
      report_balances(decision.report(), request.resource, stop, false);
      continue;
    }
    if (charged) charge_stop(request, stop, now);
    report_stop(decision.report(), request.resource, stop, charged, now);
  }
  if (admitted || effect == Effect::repeat) {
    decision.set_admitted();
    decision.set_deadline(base::saturating_add(now, request.lease_for));
    return;
  }
  const auto wait = wait_of(stops, now);
  decision.set_refused(wait);
  if (effect == Effect::charge && wait) keep_promise(request, stops, base::saturating_add(now, *wait), now);
}

/// A refusal names the moment from which on the same request would be admitted. So no bucket may vanish
/// before, and one that has to grow first must exist under the limits that it grows by. Neither changes what
/// it holds.
void Table::keep_promise(const Request& request, Stops& stops, Time moment, Time now) {
  for (Stop& stop : stops) {
    if (!stop.aligned && !stop.fits) {
      bucket::State state = claimed_state(stop, next_generation_);
      put({request.name_space, stop.entity, request.resource}, stop, state, now);
    }
    if (stop.record == nullptr) continue;
    const Time expires_at = stop.record->expires_at;
    keep_until(*stop.record, moment, stop.resolution->keep_for);
    if (stop.record->expires_at != expires_at) touch(stop);
  }
}

void Table::charge_stop(const Request& request, Stop& stop, Time now) {
  if (stop.aligned) {
    charge_aligned(stop, stop.record->limit_count);
    return touch(stop);
  }
  rebuild({request.name_space, stop.entity, request.resource}, stop, now);
}

/// Replaces the record of a bucket that took the detour, or makes it, and charges it.
void Table::rebuild(const Key& key, Stop& stop, Time now) {
  bucket::State state = claimed_state(stop, next_generation_);
  for (bucket::LimitState& limit : state.limits) {
    const int index = stop.resolution->limits->find(limit.name);
    if (index < 0) continue;
    limit.tokens -= stop.amount[static_cast<std::size_t>(index)];
    limit.consumed = base::wrapping_add(limit.consumed, stop.amount[static_cast<std::size_t>(index)]);
  }
  put(key, stop, state, now);
}

void Table::put(const Key& key, Stop& stop, bucket::State& state, Time now) {
  Record* const record = make_record(key, stop, state);
  record->resolution = limits::ResolutionRef(stop.resolution);
  record->stored = stop.record != nullptr && stop.record->stored;
  Locks::map_of(*stop.shard).put(stop.hash, record, now);
  stop.record = record;
  touch(stop);
}

bool Table::has_bucket(std::string_view name_space, std::string_view entity) {
  Shard& shard = shard_of(owner_hash(token_of(name_space), entity));
  const Time now = clock_.now();
  const base::Guard guard(shard.lock);
  bool found = false;
  shard.map.for_each([&](const Record& record) {
    found = found || (record.expires_at > now && record.belongs_to(name_space, entity));
  });
  return found;
}

void Table::forget(std::string_view name_space, std::string_view entity) {
  Shard& shard = shard_of(owner_hash(token_of(name_space), entity));
  const base::Guard guard(shard.lock);
  shard.map.erase_if([&](const Record& record) { return record.belongs_to(name_space, entity); });
}

void Table::prolong(std::string_view name_space, std::string_view entity,
                    const std::function<base::Ref<limits::Resolution>(std::string_view resource)>& resolve) {
  const std::uint64_t owner = owner_hash(token_of(name_space), entity);
  Shard& shard = shard_of(owner);
  const Time now = clock_.now();
  const base::Guard guard(shard.lock);
  shard.map.for_each([&](Record& record) {
    if (record.expires_at <= now || !record.belongs_to(name_space, entity)) return;
    const auto resolution = resolve(record.resource());
    if (!resolution->limits) return;
    bucket::Expiry expiry(std::max(now, record.refilled_at), resolution->keep_for);
    for (std::size_t i = 0; i < resolution->limits->size(); ++i) {
      const int at = record.limits->find(resolution->limits->name(i));
      if (at >= 0) expiry.hold((*resolution->limits)[i], record.balances()[at].tokens);
    }
    if (expiry.expires_at() <= record.expires_at) return;
    record.expires_at = expiry.expires_at();
    touch(shard, base::hash(record.resource(), seed_, owner), record);
  });
}

std::size_t Table::size() {
  std::size_t size = 0;
  for (std::size_t i = 0; i < shard_count; ++i) {
    const base::Guard guard(shards_[i].lock);
    size += shards_[i].map.size();
  }
  return size;
}

}  // namespace weir::table
