#include "store/redis/usage_codec.h"

#include <algorithm>

#include "base/text.h"
#include "base/wide.h"
#include "limits/names.h"
#include "usage/rows.h"

namespace weir::redis {
namespace {

/// Far above what can happen, and far below an overflow of sums.
constexpr std::int64_t most_events = std::int64_t{1} << 45;
constexpr Time latest_hour = bucket::most_stored / usage::hour;

bool is_day(Time day) { return day >= 0 && day < bucket::most_stored / usage::day; }

void append_amounts(Words& words, const std::vector<UsedAmount>& limits) {
  for (const UsedAmount& used : limits) words.name(used.limit).number(used.amount.millitokens());
}

/// `EVENTS (LIMIT AMOUNT)*`. False: damaged.
bool read_amounts(WordReader& reader, UsedWindow& window) {
  window.events = reader.number();
  while (!reader.at_end() && !reader.failed()) {
    const std::string_view limit = reader.name();
    const std::int64_t amount = reader.number();
    if (reader.failed() || !limits::check_limit_name(limit)) return false;
    const UsedAmount used{std::string(limit), Amount::milli(amount)};
    usage::add(window.limits, {&used, 1});
  }
  return reader.done() && window.events >= 0 && window.events <= most_events;
}

}  // namespace

std::string encode_open(const usage::Segment& segment, const std::vector<const bucket::LimitState*>& limits) {
  Words words;
  words.number(segment.hour / usage::hour);
  for (const bucket::LimitState* const limit : limits) {
    const auto used = std::find_if(segment.amounts.begin(), segment.amounts.end(),
                                   [&](const usage::Used& one) { return one.limit == limit->name; });
    words.number(used == segment.amounts.end() ? limit->consumed
                                               : base::wrapping_sub(limit->consumed, used->amount));
  }
  return std::move(words.str());
}

std::optional<usage::Segment> read_open(WordReader reader, std::int64_t events,
                                        const std::vector<bucket::LimitState>& limits) {
  const Time hour = reader.number();
  if (reader.failed() || hour < 0 || hour > latest_hour || events < 0 || events > most_events)
    return std::nullopt;
  usage::Segment segment{.hour = hour * usage::hour, .events = events};
  for (const bucket::LimitState& limit : limits) {
    const std::int64_t amount = base::wrapping_sub(limit.consumed, reader.number());
    if (amount != 0) segment.amounts.push_back({limit.name, amount});
  }
  return reader.done() ? std::optional(std::move(segment)) : std::nullopt;
}

std::string encode_closed(const usage::Segment& segment) {
  Words words;
  words.number((segment.hour - start_of(UsageWindow::day, segment.hour)) / usage::hour);
  words.number(segment.events);
  append_amounts(words, window_of(segment).limits);
  return std::move(words.str());
}

std::string encode_day(const UsedWindow& day) {
  Words words;
  words.number(day.events);
  append_amounts(words, day.limits);
  return std::move(words.str());
}

std::optional<UsedWindow> read_day(Time day, std::string_view line) {
  if (!is_day(day)) return std::nullopt;
  UsedWindow window{.start = day * usage::day};
  WordReader reader(line);
  return read_amounts(reader, window) ? std::optional(std::move(window)) : std::nullopt;
}

std::optional<std::vector<UsedWindow>> read_hours(Time day, std::string_view lines) {
  if (!is_day(day)) return std::nullopt;
  std::vector<UsedWindow> windows;
  do {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    WordReader reader(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const std::int64_t hour = reader.number();
    if (hour < 0 || hour > 23) return std::nullopt;
    UsedWindow window{.start = day * usage::day + hour * usage::hour};
    if (!read_amounts(reader, window)) return std::nullopt;
    windows.push_back(std::move(window));
  } while (!lines.empty());
  return windows;
}

std::string damaged_usage(std::string_view entity, std::string_view resource, std::string_view field) {
  return base::join("the field ", base::quoted(field), " of the usage of ", base::quoted(entity), " on ",
                    base::quoted(resource),
                    " cannot be read; it was written by another version or by hand. Delete it");
}

UsedWindow window_of(const usage::Segment& segment) {
  UsedWindow window{.start = segment.hour, .events = segment.events};
  for (const usage::Used& used : segment.amounts) {
    const UsedAmount one{used.limit, Amount::milli(used.amount)};
    usage::add(window.limits, {&one, 1});
  }
  return window;
}

}  // namespace weir::redis
