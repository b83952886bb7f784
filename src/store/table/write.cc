#include "store/table/write.h"

#include "base/text.h"
#include "store/table/aligned.h"

namespace weir::table {

LimitReport::Line* report_balances(LimitReport& report, std::string_view resource, const Stop& stop,
                                   bool charged) {
  const std::size_t count = stop.resolution->limits->size();
  return stop.record != nullptr
             ? report_lines(report, stop, stop.record->entity_and_resource(), stop.record->generation,
                            charged, count)
             : report_lines(report, stop, base::join(stop.entity, resource), 0, charged, count);
}

void report_stop(LimitReport& report, std::string_view resource, const Stop& stop, bool charged, Time now) {
  LimitReport::Line* const lines = report_balances(report, resource, stop, charged);
  if (charged) return;
  for (std::size_t i = 0; i < stop.resolution->limits->size(); ++i) lines[i].wait = wait_of(stop, i, now);
}

bucket::State claimed_state(const Stop& stop, std::atomic<std::uint64_t>& next_generation) {
  const bucket::Claims& claims = stop.detour->claims;
  const bucket::State* const old = stop.detour->state ? &*stop.detour->state : nullptr;
  bucket::State state;
  state.refilled_at = claims.at;
  state.version = claims.version;
  state.generation =
      old != nullptr ? old->generation : next_generation.fetch_add(1, std::memory_order_relaxed);
  for (const bucket::LimitClaim& limit : claims.limits) {
    const std::int64_t held = limit.held(old);
    if (bucket::forgettable(limit, held)) continue;
    const std::int64_t consumed =
        limit.index < 0 ? 0 : old->limits[static_cast<std::size_t>(limit.index)].consumed;
    state.limits.push_back({limit.name, limit.parameters, held, consumed});
  }
  return state;
}

Record* make_record(const Key& key, const Stop& stop, bucket::State& state) {
  bucket::Expiry expiry(state.refilled_at, stop.resolution->keep_for);
  for (const bucket::LimitState& limit : state.limits) expiry.hold(limit.parameters, limit.tokens);
  state.expires_at = expiry.expires_at();
  // All limits in force are in the state, so the same number means that there are no others.
  if (state.limits.size() == stop.resolution->limits->size())
    return record_of(key, state, stop.resolution->limits);
  std::vector<limits::NamedParameters> named;
  for (const bucket::LimitState& limit : state.limits) named.push_back({limit.name, limit.parameters});
  return record_of(key, state, limits::LimitSetRef(new limits::LimitSet(std::move(named))));
}

}  // namespace weir::table
