#include "service/rate_limit_fields.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace weir::service {
namespace {

// Structured fields hold integers of up to 15 digits.
constexpr std::int64_t largest = 999'999'999'999'999;

void append_number(std::string& text, std::int64_t number) {
  char digits[24];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, std::clamp<std::int64_t>(number, 0, largest));
  text.append(digits, end.ptr);
}

std::int64_t whole(Amount amount) { return std::max<std::int64_t>(amount.millitokens(), 0) / 1000; }

std::int64_t seconds(std::chrono::milliseconds wait) {
  return wait.count() / 1000 + (wait.count() % 1000 != 0 ? 1 : 0);
}

/// How long this limit must wait; one that can never fit waits for its whole window.
std::int64_t wait_of(const LimitStatus& status) {
  if (!status.exceeded) return 0;
  return status.retry_after ? seconds(*status.retry_after) : status.window.count();
}

bool tighter(const LimitStatus& a, const LimitStatus& b) {
  if (wait_of(a) != wait_of(b)) return wait_of(a) > wait_of(b);
  return a.remaining < b.remaining;
}

/// Names by which people count tokens: tpm, tpd, tokens-per-day. Units beyond requests have no registered
/// name.
bool counts_tokens(std::string_view name) {
  return name.starts_with("tp") || name.find("token") != std::string_view::npos;
}

std::vector<LimitStatus> tightest(const LimitReport& report) {
  std::vector<LimitStatus> limits;
  limits.reserve(report.size());
  for (const LimitStatus status : report) {
    const auto same = std::find_if(limits.begin(), limits.end(),
                                   [&](const LimitStatus& other) { return other.name == status.name; });
    if (same == limits.end()) {
      limits.push_back(status);
    } else if (tighter(status, *same)) {
      *same = status;
    }
  }
  return limits;
}

}  // namespace

void append_rate_limit_fields(std::string& fields, const LimitReport& report) {
  const std::vector<LimitStatus> limits = tightest(report);
  if (limits.empty()) return;
  const char* separator = "RateLimit-Policy: \"";
  for (const LimitStatus& limit : limits) {
    fields += separator;
    fields += limit.name;
    fields += "\";q=";
    append_number(fields, whole(limit.capacity));
    fields += ";w=";
    append_number(fields, limit.window.count());
    if (counts_tokens(limit.name)) fields += ";weir-unit=\"tokens\"";
    separator = ", \"";
  }
  separator = "\r\nRateLimit: \"";
  for (const LimitStatus& limit : limits) {
    fields += separator;
    fields += limit.name;
    fields += "\";r=";
    append_number(fields, whole(limit.remaining));
    fields += ";t=";
    append_number(fields, wait_of(limit));
    separator = ", \"";
  }
  fields += "\r\n";
}

void append_retry_after(std::string& fields, const Decision& refused) {
  const auto wait = refused.retry_after();
  if (!wait) return;
  fields += "Retry-After: ";
  append_number(fields, std::max<std::int64_t>(seconds(*wait), 1));
  fields += "\r\nretry-after-ms: ";
  append_number(fields, wait->count());
  fields += "\r\n";
}

}  // namespace weir::service
