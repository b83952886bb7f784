#include "usage/segment.h"

namespace weir {

const char* name_of(UsageWindow window) { return window == UsageWindow::hour ? "hour" : "day"; }

Time length_of(UsageWindow window) { return window == UsageWindow::hour ? usage::hour : usage::day; }

Time start_of(UsageWindow window, Time moment) {
  const Time length = length_of(window);
  const Time past = moment % length;
  return moment - (past < 0 ? past + length : past);
}

}  // namespace weir
