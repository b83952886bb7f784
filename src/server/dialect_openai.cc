#include "base/text.h"
#include "server/header_dialect.h"
#include "server/vendor_limits.h"

namespace weir::server {

std::string go_duration(std::chrono::milliseconds duration) {
  const std::int64_t millis = std::max<std::int64_t>(duration.count(), 0);
  if (millis < 1000) return base::join(std::to_string(millis), "ms");
  std::string text;
  const std::int64_t minutes = millis / 60'000;
  if (minutes >= 60) text += base::join(std::to_string(minutes / 60), "h");
  if (minutes > 0) text += base::join(std::to_string(minutes % 60), "m");
  text += std::to_string(millis % 60'000 / 1000);
  if (std::string fraction = std::to_string(1000 + millis % 1000).substr(1); fraction != "000") {
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += base::join(".", fraction);
  }
  return text + "s";
}

void append_openai_fields(std::string& fields, const LimitReport& report) {
  const auto limits = vendor_limits(report);
  const auto append = [&](std::string_view what, const std::optional<LimitStatus>& limit) {
    if (!limit) return;
    fields += base::join("x-ratelimit-limit-", what, ": ", std::to_string(whole(limit->capacity)), "\r\n");
    fields +=
        base::join("x-ratelimit-remaining-", what, ": ", std::to_string(whole(limit->remaining)), "\r\n");
    fields += base::join("x-ratelimit-reset-", what, ": ", go_duration(until_full(*limit)), "\r\n");
  };
  append("requests", limits[static_cast<std::size_t>(VendorLimit::requests)]);
  append("tokens", limits[static_cast<std::size_t>(VendorLimit::tokens)]);
}

}  // namespace weir::server
