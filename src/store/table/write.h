// What an operation leaves behind: records, reports and leases.
#pragma once

#include <atomic>

#include "store/table/stops.h"
#include "weir/report.h"

namespace weir::table {

/// Adds a line for each limit of the stop, whose record must be the one after the charge. Waits are left at
/// 0.
LimitReport::Line* report_balances(LimitReport& report, std::string_view resource, const Stop& stop,
                                   bool charged);
/// The same with the waits.
void report_stop(LimitReport& report, std::string_view resource, const Stop& stop, bool charged, Time now);

/// The state of a stop's bucket after the claims of its detour, with nothing charged; a new one where
/// there is none. Dormant limits that are full again are left out.
bucket::State claimed_state(const Stop& stop, std::atomic<std::uint64_t>& next_generation);

/// A record for a state: under the resolved set itself where it has exactly those limits.
Record* make_record(const Key& key, const Stop& stop, bucket::State& state);

}  // namespace weir::table
