#include "limits/short_form.h"

#include <chrono>

#include "base/text.h"

namespace weir::limits {
namespace {

/// "min", "10s", "2h": in the largest unit that divides it; empty where no unit does.
std::string period_text(std::chrono::milliseconds period) {
  struct Unit {
    const char* name;
    const char* name_of_one;
    std::int64_t milliseconds;
  };
  constexpr Unit units[] = {
      {"d", "day", 86'400'000}, {"h", "hour", 3'600'000}, {"min", "min", 60'000}, {"s", "s", 1000}};
  for (const Unit& unit : units) {
    if (period.count() % unit.milliseconds != 0) continue;
    const std::int64_t count = period.count() / unit.milliseconds;
    return count == 1 ? unit.name_of_one : std::to_string(count) + unit.name;
  }
  return {};
}

}  // namespace

std::string to_text(const Limit& limit) {
  const std::string mode =
      limit.mode() == Mode::enforce ? std::string() : base::join(":", weir::to_text(limit.mode()));
  if (limit.kind() == Kind::concurrent) return base::join(limit.capacity().to_string(), ":concurrent", mode);
  const Amount usual_refill = limit.capacity() == Amount() ? Amount(1) : limit.capacity();
  const std::string period = period_text(limit.refill_period());
  if (limit.refill_amount() != usual_refill || period.empty()) return limit.to_json();
  std::string text = base::join(limit.capacity().to_string(), "/", period);
  if (limit.burst() != limit.capacity()) text += ":" + limit.burst().to_string();
  return text + mode;
}

std::string to_text(std::span<const NamedLimit> limits) {
  std::string text;
  for (const NamedLimit& limit : limits) {
    if (!text.empty()) text += ", ";
    text += base::join(limit.name, " ", to_text(limit.limit));
  }
  return text;
}

}  // namespace weir::limits
