#include "cli/usage_range.h"

#include <algorithm>
#include <limits>

#include "base/rfc3339.h"
#include "base/text.h"
#include "cli/read.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

constexpr Time one_day = 86'400'000;

/// Why a text is no moment.
Error wrong_moment(std::string_view option, std::string_view text) {
  constexpr std::string_view words[] = {"now", "today", "yesterday"};
  constexpr const char* forms =
      "; write today, yesterday, 24h or 7d (that long ago), 2026-11-17 or 2026-11-17T05:00:00Z";
  if (const std::string guess = base::did_you_mean(text, words); !guess.empty())
    return base::invalid(option, ": ", base::quoted(text), " is not a moment", guess);
  const bool like_a_date = text.size() >= 10 && text[4] == '-' && text[7] == '-';
  if (like_a_date && text.size() == 10)
    return base::invalid(option, ": there is no day ", base::quoted(text));
  if (like_a_date) {
    return base::invalid(option, ": ", base::quoted(text),
                         " is not a moment; write the time with its zone, as in 2026-11-17T05:00:00Z or "
                         "2026-11-17T06:00:00+01:00");
  }
  return base::invalid(option, ": ", base::quoted(text), " is not a moment", forms);
}

}  // namespace

Result<Time> read_moment(std::string_view option, std::string_view text, Time now) {
  const Time today = start_of(UsageWindow::day, now);
  if (text == "now") return now;
  if (text == "today") return today;
  if (text == "yesterday") return today - one_day;
  if (const auto moment = base::parse_rfc3339(text)) return *moment;
  const bool starts_with_digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  const bool has_separator = text.find_first_of("-:./T") != std::string_view::npos;
  if (!starts_with_digit || has_separator) return wrong_moment(option, text);
  const auto ago = read_duration(option, text);
  if (!ago) return wrong_moment(option, text);
  return std::max<Time>(0, now - ago->count());
}

Result<UsageFilter> read_usage_filter(const Arguments& arguments, Time now) {
  if (!arguments.entity && !arguments.children_of && !arguments.resource) {
    return base::invalid(
        "say whose usage: an ENTITY, --children-of P or --resource R, as in weir usage --resource gpt-4 "
        "--top "
        "10");
  }
  if (arguments.entity && arguments.children_of)
    return base::invalid("say an ENTITY or --children-of P, not both");
  UsageFilter filter{.entity = arguments.entity.value_or(""),
                     .parent = arguments.children_of.value_or(""),
                     .resource = arguments.resource.value_or("")};
  constexpr std::string_view windows[] = {"hour", "day"};
  if (arguments.window) {
    const auto window = read_choice("--window", *arguments.window, windows);
    if (!window) return window.error();
    if (*window == "day") filter.window = UsageWindow::day;
  }
  const char* const usual = filter.window == UsageWindow::day ? "30d" : "24h";
  const auto from = read_moment("--from", arguments.from.value_or(usual), now);
  if (!from) return from.error();
  filter.from = *from;
  if (arguments.to) {
    const auto to = read_moment("--to", *arguments.to, now);
    if (!to) return to.error();
    filter.to = *to;
  }
  if (filter.from >= filter.to) {
    return base::invalid("--from ", arguments.from.value_or(usual), " (", moment_text(filter.from),
                         ") must be before --to ", *arguments.to, " (", moment_text(filter.to), ")");
  }
  return filter;
}

}  // namespace weir::cli
