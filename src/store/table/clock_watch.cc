#include "store/table/clock_watch.h"

#include "base/text.h"

namespace weir::table {

std::string rough_duration(Time duration) {
  struct Unit {
    Time length;
    const char* name;
  };
  constexpr Unit units[] = {{86'400'000, " day"}, {3'600'000, " hour"}, {60'000, " minute"}};
  for (const auto& [length, name] : units) {
    const Time count = duration / length;
    if (count > 0) return base::join(std::to_string(count), name, count == 1 ? "" : "s");
  }
  return base::join(std::to_string(duration / 1000), " seconds");
}

std::vector<store::Counter> ClockWatch::counters() const {
  return {{.name = "weir_store_clock_repairs_total",
           .help = "Buckets whose refill time lay too far ahead of the clock and was set back.",
           .labels = {},
           .value = static_cast<double>(repairs_.load(std::memory_order_relaxed))}};
}

std::vector<std::string> ClockWatch::warnings() const {
  const Time ahead = first_ahead_.load(std::memory_order_relaxed);
  if (ahead == 0) return {};
  return {
      base::join("the clock was set back: buckets were written ", rough_duration(ahead),
                 " ahead of it. Each refills again from its next refusal on; check that the clock is right")};
}

}  // namespace weir::table
