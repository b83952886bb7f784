// Usage: what each entity used of each resource, by hours and by days.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "weir/amount.h"
#include "weir/clock.h"
#include "weir/detail/export.h"

namespace weir {

/// The length of a window, which begins at a whole hour or day of UTC.
enum class UsageWindow : unsigned char { hour, day };

/// "hour" or "day".
WEIR_API const char* name_of(UsageWindow window);
/// In milliseconds.
WEIR_API Time length_of(UsageWindow window);
/// The start of the window that a moment lies in.
WEIR_API Time start_of(UsageWindow window, Time moment);

/// How much of one limit was used.
struct UsedAmount {
  std::string limit;
  Amount amount;  ///< less than 0 where more was given back than charged; may exceed Amount::in_range()
  friend bool operator==(const UsedAmount&, const UsedAmount&) = default;
};

/// What one entity used of one resource within one window. A refund, settle or adjust counts in the window in
/// which it happened. Concurrent limits are not counted.
struct Usage {
  std::string entity;
  std::string resource;
  UsageWindow window = UsageWindow::hour;
  Time start = 0;
  std::vector<UsedAmount> limits;  ///< by name
  std::int64_t events = 0;         ///< operations that changed one of the amounts
  friend bool operator==(const Usage&, const Usage&) = default;
};

/// Which usage to read. At least one of entity, parent and resource must be given.
struct UsageFilter {
  std::string entity = {};    ///< this entity
  std::string parent = {};    ///< the children of this entity, instead of one entity
  std::string resource = {};  ///< this resource; empty: every one
  UsageWindow window = UsageWindow::hour;
  Time from = 0;                               ///< the window that holds this moment is the first
  Time to = std::numeric_limits<Time>::max();  ///< windows that start here or later are left out
};

/// What one entity used within the range of a filter.
struct UsageTotal {
  std::string entity;
  std::string resource;  ///< empty: of every resource together
  std::vector<UsedAmount> limits;
  std::int64_t events = 0;
  std::vector<Usage> series;  ///< its windows, by start; their sum is the total
  friend bool operator==(const UsageTotal&, const UsageTotal&) = default;
};

}  // namespace weir
