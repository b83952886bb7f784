#include "server/header_dialect.h"

#include "server/rate_limit_fields.h"

namespace weir::server {

void append_dialect(std::string& fields, Dialect dialect, const LimitReport& report, Time now) {
  if (dialect == Dialect::x) return append_x_fields(fields, report);
  append_rate_limit_fields(fields, report);
  if (dialect == Dialect::openai) append_openai_fields(fields, report);
  if (dialect == Dialect::anthropic) append_anthropic_fields(fields, report, now);
}

void append_refusal(std::string& fields, Dialect dialect, const Decision& refused) {
  append_retry_after(fields, refused);
  // The clients of these vendors wait up to a minute; after a longer wait they would be refused again.
  constexpr std::chrono::minutes longest_wait{1};
  const bool pointless = !refused.retry_after() || *refused.retry_after() > longest_wait;
  if (pointless && (dialect == Dialect::openai || dialect == Dialect::anthropic))
    fields += "x-should-retry: false\r\n";
}

}  // namespace weir::server
