// How long usage is kept, and what becomes of it: hours are folded into days, and days are deleted.
#pragma once

#include "weir/usage.h"

namespace weir::usage {

/// How long usage is kept.
struct Kept {
  Time hours = Time{90} * 24 * 3'600'000;  ///< then the hours of a day are folded into one row
  Time days = Time{730} * 24 * 3'600'000;  ///< then it is deleted
};

/// The range that is kept at a moment. Both ends are starts of days, so that the row of a day never stands
/// beside hours of the same day.
struct Retention {
  Time first_hour = 0;  ///< usage before it is kept in days
  Time first_day = 0;   ///< usage before it is not kept
};
inline Retention retention_at(Time now, const Kept& kept) {
  return {start_of(UsageWindow::day, now - kept.hours), start_of(UsageWindow::day, now - kept.days)};
}

/// Turns an hour that is not kept as one any more into its day.
inline void fold_into_day(Usage& row, const Retention& retention) {
  if (row.start >= retention.first_hour) return;
  row.window = UsageWindow::day;
  row.start = start_of(UsageWindow::day, row.start);
}

}  // namespace weir::usage
