#include "store/table/table.h"

#include "base/text.h"
#include "store/table/aligned.h"
#include "store/table/locks.h"
#include "store/table/write.h"

namespace weir::table {

using store::Progress;
using store::Request;

Table::Table(const Clock& clock, base::HashSeed seed, std::uint64_t first_bucket_generation,
             const std::atomic<std::uint64_t>& catalog_generation)
    : clock_(clock),
      seed_(seed),
      next_generation_(first_bucket_generation),
      catalog_generation_(catalog_generation),
      shards_(std::make_unique<Shard[]>(shard_count)) {}

std::uint64_t Table::owner_hash(std::string_view name_space, std::string_view entity) const {
  return base::combine(base::hash(name_space, seed_), base::hash(entity, seed_), seed_);
}

Shard& Table::shard_of(std::uint64_t owner_hash) {
  // Middle bits: the map inside the shard uses the low ones.
  return shards_[owner_hash >> 32U & (shard_count - 1)];
}

void Table::place(const Request& request, Stop& stop) {
  const std::uint64_t owner = owner_hash(request.name_space, stop.entity);
  stop.shard = &shard_of(owner);
  stop.hash = base::combine(owner, base::hash(request.resource, seed_), seed_);
}

void Table::find(const Request& request, Stop& stop, Time now) {
  Record* const record = Locks::map_of(*stop.shard).find(stop.hash, {request.name_space, stop.entity, request.resource});
  stop.record = record != nullptr && record->expires_at > now ? record : nullptr;
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
  for (const limits::Resolution* at = &resolution; at->parent_resolution && !stops.full(); at = at->parent_resolution.get()) {
    // An ancestor without limits is not charged, and has no bucket.
    if (!at->parent_resolution->limits) continue;
    place(request, stops.add(at->parent, at->parent_resolution.get()));
  }
}

bool Table::acquire_carried(const Request& request, Decision& decision) {
  const Time now = clock_.now();
  Stop stop;
  stop.entity = request.entity;
  place(request, stop);
  limits::ResolutionRef resolution;
  {
    const store::Guard guard(stop.shard->lock);
    find(request, stop, now);
    if (!usable(stop.record, request, now)) return false;
    stop.resolution = stop.record->resolution.get();
    const bool alone = !stop.resolution->parent_resolution;
    if (alone && is_aligned(stop.record, *stop.resolution)) return decide_aligned(request, stop, decision, now);
    resolution = stop.record->resolution;
  }
  // The general way, which locks the chain in order. A mistake in the request is left to the slow door.
  const auto decided = decide({request, std::move(resolution)}, decision, true);
  return decided && *decided == Progress::decided;
}

/// A bucket without ancestors that needs no change but the charge. Requires the shard's lock.
bool Table::decide_aligned(const Request& request, Stop& stop, Decision& decision, Time now) {
  const Matched matched = match(stop, request.consume);
  if (matched.twice || matched.charges != all_of(request.consume)) return false;
  refill_aligned(stop, now);
  if (!fits(stop)) {
    report_stop(decision.report(), request.resource, stop, false, now);
    decision.set_refused(wait_of(stop, now));
    return true;
  }
  charge_aligned(stop);
  report_lines(decision.report(), stop, stop.record->entity_and_resource(), stop.record->generation, true);
  decision.set_admitted();
  decision.set_deadline(base::saturating_add(now, request.lease_for));
  return true;
}

void Table::acquire(const store::Plan& plan, Decision& decision, store::Completion<Progress> done) {
  done(decide(plan, decision, true));
}

void Table::peek(const store::Plan& plan, Decision& decision, store::Completion<Progress> done) {
  done(decide(plan, decision, false));
}

Result<Progress> Table::decide(const store::Plan& plan, Decision& decision, bool charge) {
  const Request& request = plan.request;
  const Time now = clock_.now();
  Stops stops;
  Locks locks;
  // An entity without limits of its own is still charged for its ancestors'.
  if (plan.resolution->limits) place(request, stops.add(request.entity, plan.resolution.get()));
  add_chain(request, stops, *plan.resolution);
  locks.lock_all(stops);
  if (!current(*plan.resolution, now)) return Progress::resolve_again;
  for (Stop& stop : stops) find(request, stop, now);
  if (auto evaluated = evaluate(stops, request.consume, now); !evaluated) return evaluated.error();
  conclude(request, stops, decision, charge, now);
  for (Stop& stop : stops) {
    if (stop.record != nullptr && stop.record->resolution.get() != stop.resolution) {
      stop.record->resolution = limits::ResolutionRef(stop.resolution);
    }
  }
  return Progress::decided;
}

void Table::conclude(const Request& request, Stops& stops, Decision& decision, bool charge, Time now) {
  const bool admitted = std::all_of(stops.begin(), stops.end(), [](const Stop& stop) { return stop.fits; });
  const bool charged = admitted && charge;
  std::optional<Time> wait = 0;
  decision.report().clear();
  for (Stop& stop : stops) {
    if (charged) charge_stop(request, stop, now);
    report_stop(decision.report(), request.resource, stop, charged, now);
    const auto longer = wait_of(stop, now);
    wait = wait && longer ? std::optional(std::max(*wait, *longer)) : std::nullopt;
  }
  if (!admitted) return decision.set_refused(wait);
  decision.set_admitted();
  decision.set_deadline(base::saturating_add(now, request.lease_for));
}

void Table::charge_stop(const Request& request, Stop& stop, Time now) {
  if (stop.aligned) return charge_aligned(stop);
  rebuild({request.name_space, stop.entity, request.resource}, stop, now);
}

/// Replaces the record of a bucket that took the detour, or makes it, and charges it.
void Table::rebuild(const Key& key, Stop& stop, Time now) {
  bucket::State state = claimed_state(stop, next_generation_);
  for (bucket::LimitState& limit : state.limits) {
    const int index = stop.resolution->limits->find(limit.name);
    if (index < 0) continue;
    limit.tokens -= stop.amount[static_cast<std::size_t>(index)];
    limit.consumed += stop.amount[static_cast<std::size_t>(index)];
  }
  put(key, stop, state, now);
}

void Table::put(const Key& key, Stop& stop, bucket::State& state, Time now) {
  Record* const record = make_record(key, stop, state);
  record->resolution = limits::ResolutionRef(stop.resolution);
  Locks::map_of(*stop.shard).put(stop.hash, record, now);
  stop.record = record;
}

std::size_t Table::size() {
  std::size_t size = 0;
  for (std::size_t i = 0; i < shard_count; ++i) {
    const store::Guard guard(shards_[i].lock);
    size += shards_[i].map.size();
  }
  return size;
}

}  // namespace weir::table
