#include "store/table/write.h"

#include <bit>

namespace weir::table {

ReportWriter::ReportWriter(LimitReport& report, std::string_view resource) : report_(report) {
  report_.clear();
  report_.set_resource(resource);
}

void ReportWriter::add(const Stop& stop, bool charged, Time now) {
  const limits::LimitSet& set = *stop.resolution->limits;
  const auto bucket = static_cast<std::uint8_t>(report_.buckets());
  std::uint16_t name_at = report_.add_bucket(stop.entity, stop.resolution->source, stop.resolution->owner, set.names());
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bucket::Parameters& limit = set[i];
    const Time wait = charged ? 0 : wait_of(stop, i, now);
    const auto name_size = static_cast<std::uint8_t>(set.name(i).size());
    report_.add_line({.capacity = limit.capacity,
                      .burst = limit.burst,
                      .requested = stop.amount[i],
                      .remaining = charged ? stop.held[i] - stop.amount[i] : stop.held[i],
                      .wait = wait,
                      .name_at = name_at,
                      .name_size = name_size,
                      .bucket = bucket,
                      .exceeded = wait != 0});
    name_at = static_cast<std::uint16_t>(name_at + name_size);
  }
}

void write_lease(detail::LeaseData& lease, const store::Request& request, Stops& stops, Time now) {
  const auto append = [&](std::string_view text) {
    const auto at = static_cast<std::uint16_t>(lease.text.size());
    lease.text.append(text.data(), text.size());
    return at;
  };
  append(request.resource);
  lease.resource_size = static_cast<std::uint16_t>(request.resource.size());
  for (const Stop& stop : stops) {
    lease.buckets.push_back({append(stop.entity), static_cast<std::uint16_t>(stop.entity.size()), stop.record->generation});
  }
  for (const Charge& charge : request.consume) {
    unsigned charged_in = 0;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      if (stops[i].resolution->limits->find(charge.limit) >= 0) charged_in |= 1U << i;
    }
    lease.amounts.push_back({charge.amount.millitokens(), append(charge.limit),
                             static_cast<std::uint8_t>(charge.limit.size()), static_cast<std::uint8_t>(charged_in)});
  }
  lease.deadline = base::saturating_add(now, request.lease_for);
}

Time expiry_of(const Record& record, Time keep_for, bool in_debt) {
  // Out of debt every limit is full again within its time to fill, which keep_for is never less than.
  if (keep_for == limits::never) return limits::never;
  if (!in_debt) return base::saturating_add(record.refilled_at, keep_for);
  bucket::Expiry expiry(record.refilled_at, keep_for);
  for (std::size_t i = 0; i < record.limits->size(); ++i) expiry.hold((*record.limits)[i], record.balances()[i].tokens);
  return expiry.expires_at();
}

bucket::State claimed_state(const Stop& stop, std::atomic<std::uint64_t>& next_generation) {
  const bucket::Claims& claims = stop.detour->claims;
  const bucket::State* const old = stop.detour->state ? &*stop.detour->state : nullptr;
  bucket::State state;
  state.refilled_at = claims.at;
  state.version = claims.version;
  state.generation = old != nullptr ? old->generation : next_generation.fetch_add(1, std::memory_order_relaxed);
  for (const bucket::LimitClaim& limit : claims.limits) {
    const std::int64_t held = limit.held(old);
    if (bucket::forgettable(limit, held)) continue;
    const std::int64_t consumed = limit.index < 0 ? 0 : old->limits[static_cast<std::size_t>(limit.index)].consumed;
    state.limits.push_back({limit.name, limit.parameters, held, consumed});
  }
  return state;
}

Record* make_record(const Key& key, const Stop& stop, bucket::State& state) {
  bucket::Expiry expiry(state.refilled_at, stop.resolution->keep_for);
  for (const bucket::LimitState& limit : state.limits) expiry.hold(limit.parameters, limit.tokens);
  state.expires_at = expiry.expires_at();
  // All limits in force are in the state, so the same number means that there are no others.
  if (state.limits.size() == stop.resolution->limits->size()) return record_of(key, state, stop.resolution->limits);
  std::vector<limits::NamedParameters> named;
  for (const bucket::LimitState& limit : state.limits) named.push_back({limit.name, limit.parameters});
  return record_of(key, state, limits::LimitSetRef(new limits::LimitSet(std::move(named))));
}

}  // namespace weir::table
