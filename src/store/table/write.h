// What an operation leaves behind: records, reports and leases.
#pragma once

#include <atomic>

#include "store/table/stops.h"
#include "weir/report.h"

namespace weir::table {

/// Fills a report: one line for each limit of each stop.
class ReportWriter {
 public:
  ReportWriter(LimitReport& report, std::string_view resource);
  void add(const Stop& stop, bool charged, Time now);

 private:
  LimitReport& report_;
};

/// What was charged where.
void write_lease(detail::LeaseData& lease, const store::Request& request, Stops& stops, Time now);

/// When the record may vanish.
Time expiry_of(const Record& record, Time keep_for, bool in_debt);

/// The state of a stop's bucket after the claims of its detour, with nothing charged; a new one where
/// there is none. Dormant limits that are full again are left out.
bucket::State claimed_state(const Stop& stop, std::atomic<std::uint64_t>& next_generation);

/// A record for a state: under the resolved set itself where it has exactly those limits.
Record* make_record(const Key& key, const Stop& stop, bucket::State& state);

}  // namespace weir::table
