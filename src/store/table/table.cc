#include "store/table/table.h"

#include "base/text.h"
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
  Stops stops;
  Locks locks;
  Stop& first = stops.add(request.entity, nullptr);
  place(request, first);
  locks.lock_first(*first.shard);
  find(request, first, now);
  if (!usable(first.record, request, now)) return false;
  first.resolution = first.record->resolution.get();
  if (first.resolution->parent_resolution) {
    add_chain(request, stops, *first.resolution);
    for (std::size_t i = 1; i < stops.size(); ++i) {
      if (!locks.try_add(*stops[i].shard)) {
        // Somebody is at the parent: start again and lock in order.
        const limits::ResolutionRef resolution(first.resolution);
        locks.release();
        const auto decided = decide({request, resolution}, decision, true);
        return decided && *decided == Progress::decided;
      }
      find(request, stops[i], now);
    }
  }
  // A mistake in the request is reported by the slow door too.
  if (!evaluate(stops, request.consume, now)) return false;
  conclude(request, stops, decision, true, now);
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
  const Verdict verdict = judge(stops, now);
  ReportWriter report(decision.report(), request.resource);
  for (const Stop& stop : stops) report.add(stop, verdict.admitted && charge, now);
  if (!verdict.admitted) {
    decision.set_refused(verdict.never_fits ? std::optional<Time>() : verdict.wait);
    return;
  }
  decision.set_admitted();
  if (!charge) return;
  for (Stop& stop : stops) charge_stop(request, stop, now);
  write_lease(decision.lease_data(), request, stops, now);
}

void Table::charge_stop(const Request& request, Stop& stop, Time now) {
  if (!stop.aligned) return rebuild({request.name_space, stop.entity, request.resource}, stop, now);
  Record& record = *stop.record;
  const limits::LimitSet& set = *record.limits;
  std::int64_t least = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    Balance& balance = record.balances()[i];
    balance.tokens = stop.held[i] - stop.amount[i];
    balance.consumed += stop.amount[i];
    least = std::min(least, balance.tokens);
  }
  record.refilled_at = stop.at;
  record.expires_at = expiry_of(record, stop.resolution->keep_for, least < 0);
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
