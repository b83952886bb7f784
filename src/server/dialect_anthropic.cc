#include "base/rfc3339.h"
#include "base/text.h"
#include "server/header_dialect.h"
#include "server/vendor_limits.h"

namespace weir::server {

void append_anthropic_fields(std::string& fields, const LimitReport& report, Time now) {
  constexpr std::array<std::string_view, 4> names{"requests", "tokens", "input-tokens", "output-tokens"};
  const auto limits = vendor_limits(report);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& limit = limits[i];
    if (!limit) continue;
    const auto append = [&](std::string_view what, std::string_view value) {
      fields += base::join("anthropic-ratelimit-", names[i], "-", what, ": ", value, "\r\n");
    };
    append("limit", std::to_string(whole(limit->capacity)));
    append("remaining", std::to_string(whole(limit->remaining)));
    append("reset", base::rfc3339_text((now + until_full(*limit).count() + 999) / 1000 * 1000));
  }
}

}  // namespace weir::server
