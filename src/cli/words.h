// Amounts, limits and times as readable text. Pure: the present time is passed in.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/amount.h"
#include "weir/clock.h"
#include "weir/level.h"
#include "weir/limit.h"

namespace weir::cli {

/// "1,250,000.5".
std::string amount_text(Amount amount);
/// The same for a count: "12,345".
std::string count_text(std::size_t count);

/// "345 ms", "1.2 s", "12 s", "2 min 5 s", "3 h 10 min", "2 d 4 h". Rounded up: waiting that long is enough.
std::string duration_text(std::chrono::milliseconds duration);
/// "in 12 s", "now", "3 min ago".
std::string relative_text(Time at, Time now);
/// "2026-11-05 12:00:01 UTC".
std::string moment_text(Time at);

/// How fast it refills: "100 / min", "5 / 10 s".
std::string refill_text(const Limit& limit);
/// As `-l` reads them: "rpm:100/min:150 tpm:50000/min".
std::string option_text(std::span<const NamedLimit> limits);

/// "key-1 on gpt-4", "key-1 on every resource", "resource gpt-4", "the system".
std::string level_text(const Level& level);

/// The text with control characters, such as escape sequences, replaced by '?'.
std::string printable(std::string_view text);
/// The width of the text in columns, counted in characters.
std::size_t columns(std::string_view text);

}  // namespace weir::cli
