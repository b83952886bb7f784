#include "server/rate_limit_fields.h"

#include <algorithm>
#include <vector>

#include "base/text_writer.h"
#include "server/shown_limits.h"

namespace weir::server {
namespace {

using base::TextWriter;

// Structured fields hold integers of up to 15 digits.
constexpr std::int64_t largest = 999'999'999'999'999;

std::int64_t bounded(std::int64_t number) { return std::clamp<std::int64_t>(number, 0, largest); }

/// The usual names of limits that count tokens: tpm, tpd, tokens-per-day. Units beyond requests have no
/// registered name.
bool counts_tokens(std::string_view name) {
  return name.starts_with("tp") || name.find("token") != std::string_view::npos;
}

/// By the lines, which cost less than a LimitStatus of each.
bool shows_any(const LimitReport& report) {
  for (std::size_t i = 0; i < report.size(); ++i) {
    if (report.line(i).name.mode() == Mode::enforce) return true;
  }
  return false;
}

/// The most that one of the fields takes, without its name.
std::size_t room_for(const LimitReport& report) {
  constexpr std::size_t fixed = 48 + 2 * TextWriter::number_room;
  return report.text_size() + report.size() * fixed;
}

}  // namespace

void append_rate_limit_fields(std::string& fields, const LimitReport& report) {
  if (!shows_any(report)) return;
  const std::size_t room = room_for(report);
  constexpr std::size_t names = 64;  // of both fields
  base::append_written(fields, names + 2 * room, [&](TextWriter& writer) {
    // The second field is written after the room of the first and then moved up, so that one pass over the
    // limits is enough.
    char* const second = writer.at() + names + room;
    TextWriter standing(second);
    bool first = true;
    writer.put("RateLimit-Policy: ");
    for_each_name(report, [&](const LimitStatus& limit) {
      if (!first) {
        writer.put(", ");
        standing.put(", ");
      }
      first = false;
      writer.put("\"");
      writer.text(limit.name);
      writer.put("\";q=");
      writer.number(bounded(whole(limit.capacity)));
      // Held amounts of a concurrent limit come back when leases end, not in a window.
      if (limit.kind == Kind::rate) {
        writer.put(";w=");
        writer.number(bounded(limit.window.count()));
      }
      if (counts_tokens(limit.name)) writer.put(";weir-unit=\"tokens\"");
      standing.put("\"");
      standing.text(limit.name);
      standing.put("\";r=");
      standing.number(bounded(whole(limit.remaining)));
      standing.put(";t=");
      standing.number(bounded(wait_of(limit)));
    });
    writer.put("\r\nRateLimit: ");
    writer.move_up(second, standing.at());
    writer.put("\r\n");
  });
}

void append_names_that_would_refuse(std::string& fields, const LimitReport& report) {
  std::vector<std::string_view> names;
  for (const LimitStatus status : report) {
    if (status.would_refuse && std::find(names.begin(), names.end(), status.name) == names.end())
      names.push_back(status.name);
  }
  fields += "Weir-Would-Refuse: ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) fields += ", ";
    fields += names[i];
  }
  fields += "\r\n";
}

void append_retry_after(std::string& fields, const Decision& refused) {
  const auto wait = refused.retry_after();
  if (!wait) return;
  constexpr std::size_t names = 64;
  base::append_written(fields, names + 2 * TextWriter::number_room, [&](TextWriter& writer) {
    writer.put("Retry-After: ");
    writer.number(bounded(std::max<std::int64_t>(seconds(*wait), 1)));
    writer.put("\r\nretry-after-ms: ");
    writer.number(bounded(wait->count()));
    writer.put("\r\n");
  });
}

}  // namespace weir::server
