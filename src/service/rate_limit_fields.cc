#include "service/rate_limit_fields.h"

#include <algorithm>
#include <optional>

#include "base/pen.h"

namespace weir::service {
namespace {

using base::Pen;

// Structured fields hold integers of up to 15 digits.
constexpr std::int64_t largest = 999'999'999'999'999;

std::int64_t bounded(std::int64_t number) { return std::clamp<std::int64_t>(number, 0, largest); }

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

/// The tightest limit of this name from `first` on; nothing if an earlier one has the name.
std::optional<LimitStatus> tightest(const LimitReport& report, std::size_t first) {
  LimitStatus limit = report[first];
  // In one bucket each name stands once.
  if (report.bucket_count() == 1) return limit;
  for (std::size_t i = 0; i < report.size(); ++i) {
    const LimitStatus other = report[i];
    if (other.name != limit.name) continue;
    if (i < first) return std::nullopt;
    if (tighter(other, limit)) limit = other;
  }
  return limit;
}

template <class Visit>
void for_each_name(const LimitReport& report, Visit&& visit) {
  for (std::size_t i = 0; i < report.size(); ++i) {
    if (const auto limit = tightest(report, i)) visit(*limit);
  }
}

/// The most that a name takes, two numbers and what stands between them.
std::size_t room_for(std::string_view name) {
  constexpr std::size_t fixed = 48;
  return fixed + name.size() + 2 * Pen::number_room;
}

}  // namespace

void append_rate_limit_fields(std::string& fields, const LimitReport& report) {
  if (report.empty()) return;
  // The second field is written beside the first, so that each limit is looked at once.
  thread_local std::string standing;
  standing.clear();
  const char* separator = "";
  fields += "RateLimit-Policy: ";
  for_each_name(report, [&](const LimitStatus& limit) {
    base::append_written(fields, room_for(limit.name), [&](Pen& pen) {
      pen.text(separator);
      pen.put("\"");
      pen.text(limit.name);
      pen.put("\";q=");
      pen.number(bounded(whole(limit.capacity)));
      pen.put(";w=");
      pen.number(bounded(limit.window.count()));
      if (counts_tokens(limit.name)) pen.put(";weir-unit=\"tokens\"");
    });
    base::append_written(standing, room_for(limit.name), [&](Pen& pen) {
      pen.text(separator);
      pen.put("\"");
      pen.text(limit.name);
      pen.put("\";r=");
      pen.number(bounded(whole(limit.remaining)));
      pen.put(";t=");
      pen.number(bounded(wait_of(limit)));
    });
    separator = ", ";
  });
  fields += "\r\nRateLimit: ";
  fields += standing;
  fields += "\r\n";
}

void append_retry_after(std::string& fields, const Decision& refused) {
  const auto wait = refused.retry_after();
  if (!wait) return;
  char room[2 * Pen::number_room + 64];
  Pen pen(room);
  pen.put("Retry-After: ");
  pen.number(bounded(std::max<std::int64_t>(seconds(*wait), 1)));
  pen.put("\r\nretry-after-ms: ");
  pen.number(bounded(wait->count()));
  pen.put("\r\n");
  fields.append(room, pen.at());
}

}  // namespace weir::service
