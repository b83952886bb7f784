// The texts of usage in Redis: the open segment in the record of a bucket, and the closed segments of a day.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bucket/state.h"
#include "store/redis/words.h"
#include "usage/segment.h"

namespace weir::redis {

/// How long the key of a bucket outlives the hour of its open segment, so that it can be collected.
inline constexpr Time segment_stays = 25 * usage::hour;

/// The words of an open segment: the hour, counted from 1970, and the counter of each limit when the segment
/// began, in the order of the record.
std::string encode_open(const usage::Segment& segment, const std::vector<const bucket::LimitState*>& limits);
/// The limits must have their names and counters. Nothing: the words do not fit them.
std::optional<usage::Segment> read_open(WordReader reader, std::int64_t events,
                                        const std::vector<bucket::LimitState>& limits);

/// The number of a day since 1970, and the text of a moment's day.
inline Time day_number(Time moment) { return start_of(UsageWindow::day, moment) / usage::day; }

/// The line of a closed segment within its day: `HOUR EVENTS (LIMIT AMOUNT)*`.
std::string encode_closed(const usage::Segment& segment);

/// Usage of one hour or one day.
struct UsedWindow {
  Time start = 0;
  std::int64_t events = 0;
  std::vector<UsedAmount> limits;  ///< by name
};
/// The line of a whole day: `EVENTS (LIMIT AMOUNT)*`.
std::string encode_day(const UsedWindow& day);
std::optional<UsedWindow> read_day(Time day, std::string_view line);
/// The segments of a day, each as its hour. Nothing: a line is damaged.
std::optional<std::vector<UsedWindow>> read_hours(Time day, std::string_view lines);
/// The same of an open segment.
UsedWindow window_of(const usage::Segment& segment);

/// The sentence for a field that cannot be read.
std::string damaged_usage(std::string_view entity, std::string_view resource, std::string_view field);

}  // namespace weir::redis
