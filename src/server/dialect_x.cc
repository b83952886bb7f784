#include "base/text.h"
#include "server/header_dialect.h"
#include "server/shown_limits.h"

namespace weir::server {

void append_x_fields(std::string& fields, const LimitReport& report) {
  std::optional<LimitStatus> limit;
  for_each_name(report, [&](const LimitStatus& other) {
    if (!limit || tighter(other, *limit)) limit = other;
  });
  if (!limit) return;
  const std::int64_t reset = limit->exceeded ? wait_of(*limit) : limit->window.count();
  fields += base::join("X-RateLimit-Limit: ", std::to_string(whole(limit->capacity)),
                       "\r\nX-RateLimit-Remaining: ", std::to_string(whole(limit->remaining)),
                       "\r\nX-RateLimit-Reset: ", std::to_string(reset), "\r\n");
}

}  // namespace weir::server
