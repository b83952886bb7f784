#include "base/text.h"
#include "base/text_writer.h"
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
    const std::string reset = go_duration(until_full(*limit));
    constexpr std::size_t names = 128;
    base::append_written(fields, names + 2 * base::TextWriter::number_room + reset.size(),
                         [&](base::TextWriter& writer) {
                           writer.put("x-ratelimit-limit-");
                           writer.text(what);
                           writer.put(": ");
                           writer.number(whole(limit->capacity));
                           writer.put("\r\nx-ratelimit-remaining-");
                           writer.text(what);
                           writer.put(": ");
                           writer.number(whole(limit->remaining));
                           writer.put("\r\nx-ratelimit-reset-");
                           writer.text(what);
                           writer.put(": ");
                           writer.text(reset);
                           writer.put("\r\n");
                         });
  };
  append("requests", limits[static_cast<std::size_t>(VendorLimit::requests)]);
  append("tokens", limits[static_cast<std::size_t>(VendorLimit::tokens)]);
}

}  // namespace weir::server
