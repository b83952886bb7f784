#include "store/aggregation.h"

namespace weir::store {

std::vector<Counter> counters_of(const AggregationState& state) {
  std::vector<Counter> counters;
  const auto add = [&](std::string_view name, std::string_view help, std::uint64_t count) {
    counters.push_back({name, help, {}, static_cast<double>(count)});
  };
  add("weir_usage_records_total", "Changes of buckets that were read from the stream.", state.records);
  add("weir_usage_events_total", "Changes of buckets that were counted as usage.", state.events);
  add("weir_usage_deltas_total", "Changes of one limit that were counted as usage.", state.deltas);
  add("weir_usage_writes_total", "Writes of usage.", state.writes);
  add("weir_usage_trimmed_total", "Places at which the stream dropped records before they were counted.",
      state.trimmed);
  add("weir_usage_made_good_total", "Records whose images also contained the change of a dropped record.",
      state.made_good);
  add("weir_usage_malformed_total", "Records of buckets that cannot be used.", state.malformed);
  return counters;
}

}  // namespace weir::store
