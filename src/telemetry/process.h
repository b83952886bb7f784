// Metrics of the process, under the names that Prometheus clients use.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace weir::telemetry {

/// process_resident_memory_bytes and the like; those that cannot be read are left out.
std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace weir::telemetry
