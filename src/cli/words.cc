#include "cli/words.h"

#include <cstdint>
#include <cstdio>

#include "base/text.h"
#include "limits/short_form.h"

namespace weir::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t second = 1000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;

/// "1234567.5" as "1,234,567.5".
std::string with_commas(std::string text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t at = point; at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::int64_t divided_up(std::int64_t number, std::int64_t by) { return (number + by - 1) / by; }

struct Unit {
  std::int64_t length;
  const char* name;
};

/// The length in a unit and the next smaller one, rounded up: "2 min 5 s", "2 min".
std::string in_two_units(std::int64_t length, Unit large, Unit small) {
  const std::int64_t smalls = divided_up(length, small.length);
  const std::int64_t per_large = large.length / small.length;
  std::string text = base::join(count_text(static_cast<std::size_t>(smalls / per_large)), " ", large.name);
  if (const std::int64_t rest = smalls % per_large; rest != 0)
    text += base::join(" ", std::to_string(rest), " ", small.name);
  return text;
}

/// A period such as "min", "10 s" or "1,500 ms", in the largest unit that is exact.
std::string period_text(milliseconds period) {
  constexpr Unit units[] = {{day, "day"}, {hour, "h"}, {minute, "min"}, {second, "s"}, {1, "ms"}};
  for (const Unit& unit : units) {
    if (period.count() % unit.length != 0) continue;
    const std::int64_t count = period.count() / unit.length;
    return count == 1 ? unit.name : base::join(std::to_string(count), " ", unit.name);
  }
  return "ms";
}

/// To the nearest multiple of the smaller unit that is shown. A wait is rounded up instead, since it must be
/// over.
milliseconds rounded(milliseconds length) {
  const std::int64_t ms = length.count();
  const std::int64_t unit = ms >= day ? hour : ms >= hour ? minute : ms >= minute ? second : 1;
  return milliseconds((ms + unit / 2) / unit * unit);
}

}  // namespace

std::string amount_text(Amount amount) { return with_commas(amount.to_string()); }
std::string count_text(std::size_t count) { return with_commas(std::to_string(count)); }

std::string duration_text(milliseconds duration) {
  const std::int64_t length = duration.count();
  if (length < second) return base::join(std::to_string(length), " ms");
  if (length <= 9900) {
    const std::int64_t tenths = divided_up(length, second / 10);
    return base::join(std::to_string(tenths / 10), ".", std::to_string(tenths % 10), " s");
  }
  if (length <= minute - second) return base::join(std::to_string(divided_up(length, second)), " s");
  if (length <= hour - second) return in_two_units(length, {minute, "min"}, {second, "s"});
  if (length <= day - minute) return in_two_units(length, {hour, "h"}, {minute, "min"});
  return in_two_units(length, {day, "d"}, {hour, "h"});
}

std::string relative_text(Time at, Time now) {
  if (at > now) return base::join("in ", duration_text(rounded(milliseconds(at - now))));
  const std::int64_t ago = now - at;
  if (ago < second) return "now";
  constexpr Unit units[] = {{day, "d"}, {hour, "h"}, {minute, "min"}, {second, "s"}};
  for (const Unit& unit : units) {
    if (ago >= unit.length)
      return base::join(count_text(static_cast<std::size_t>(ago / unit.length)), " ", unit.name, " ago");
  }
  return "now";
}

std::string moment_text(Time at) {
  using std::chrono::floor;
  const std::chrono::sys_time<milliseconds> moment{milliseconds(at)};
  const auto midnight = floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss time(floor<std::chrono::seconds>(moment - midnight));
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d UTC", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

std::string refill_text(const Limit& limit) {
  if (limit.kind() == Kind::concurrent) return "concurrent";
  return base::join(amount_text(limit.refill_amount()), " / ", period_text(limit.refill_period()));
}

std::string option_text(std::span<const NamedLimit> limits) {
  std::string text;
  for (const NamedLimit& named : limits)
    text += base::join(text.empty() ? "" : " ", named.name, ":", limits::to_text(named.limit));
  return text;
}

std::string level_text(const Level& level) {
  switch (level.kind()) {
    case Source::entity:
      return base::join(level.entity(), " on ", level.resource());
    case Source::entity_default:
      return base::join(level.entity(), " on every resource");
    case Source::resource:
      return base::join("resource ", level.resource());
    default:
      return "the system";
  }
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; at < out.size(); ++at) {
    const auto byte = static_cast<unsigned char>(out[at]);
    if (byte < 0x20 || byte == 0x7f) out[at] = '?';
    // The second byte of U+0080 to U+009f, which some terminals interpret as the start of an escape sequence.
    if (byte == 0xc2 && at + 1 < out.size() && static_cast<unsigned char>(out[at + 1]) < 0xa0)
      out.replace(at, 2, "?");
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0U) != 0x80 ? 1 : 0;
  return count;
}

}  // namespace weir::cli
