#include "base/rfc3339.h"

#include <chrono>
#include <cstdio>

#include "base/text.h"

namespace weir::base {
namespace {

using std::chrono::milliseconds;

/// Reads parts of fixed width, one after the other.
class Parts {
 public:
  explicit Parts(std::string_view text) : text_(text) {}
  bool ok() const { return ok_; }
  bool ended() const { return text_.empty(); }
  /// A number of exactly `digits` digits, from `least` to `most`.
  int number(std::size_t digits, int least, int most) {
    const auto value = text_.size() < digits ? std::nullopt : parse_digits(text_.substr(0, digits));
    ok_ = ok_ && value && *value >= least && *value <= most;
    text_.remove_prefix(std::min(digits, text_.size()));
    return ok_ ? static_cast<int>(*value) : 0;
  }
  bool skip(std::string_view any_of) {
    if (text_.empty() || any_of.find(text_.front()) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(std::string_view any_of) { ok_ = skip(any_of) && ok_; }
  /// The digits after a decimal point, as milliseconds; further ones are dropped.
  int fraction() {
    const std::size_t digits = std::min(text_.find_first_not_of("0123456789"), text_.size());
    std::string thousandths(text_.substr(0, std::min<std::size_t>(digits, 3)));
    ok_ = ok_ && digits > 0;
    text_.remove_prefix(digits);
    thousandths.resize(3, '0');
    return static_cast<int>(parse_digits(thousandths).value_or(0));
  }
  /// "Z" or "+01:00", in minutes.
  int offset() {
    if (skip("Zz")) return 0;
    const int sign = !text_.empty() && text_.front() == '-' ? -1 : 1;
    expect("+-");
    const int hours = number(2, 0, 23);
    expect(":");
    return sign * (hours * 60 + number(2, 0, 59));
  }

 private:
  std::string_view text_;
  bool ok_ = true;
};

}  // namespace

std::optional<Time> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  Parts parts(text);
  const int year = parts.number(4, 0, 9999);
  parts.expect("-");
  const int month = parts.number(2, 1, 12);
  parts.expect("-");
  const int day = parts.number(2, 1, 31);
  const year_month_day date(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day)));
  if (!parts.ok() || !date.ok()) return std::nullopt;
  milliseconds at = sys_days(date).time_since_epoch();
  if (parts.ended()) return at.count();
  parts.expect("Tt");
  at += hours(parts.number(2, 0, 23));
  parts.expect(":");
  at += minutes(parts.number(2, 0, 59));
  parts.expect(":");
  at += seconds(parts.number(2, 0, 60));  // 60: a leap second
  if (parts.skip(".")) at += milliseconds(parts.fraction());
  at -= minutes(parts.offset());
  if (!parts.ok() || !parts.ended()) return std::nullopt;
  return at.count();
}

std::string rfc3339_text(Time at) {
  using namespace std::chrono;
  const sys_time<milliseconds> moment{milliseconds(at)};
  const auto midnight = floor<days>(moment);
  const year_month_day date(midnight);
  const hh_mm_ss time(moment - midnight);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  if (time.subseconds().count() == 0) return join(text, "Z");
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%03dZ", static_cast<int>(time.subseconds().count()));
  return join(text, fraction);
}

}  // namespace weir::base
