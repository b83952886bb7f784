#include "cli/read.h"

#include <cstdint>

#include "base/duration.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::cli {
namespace {

using base::invalid;
using base::join;
using std::chrono::milliseconds;

Error in_option(std::string_view option, const Error& error) {
  return {error.code, join(option, ": ", error.message)};
}

}  // namespace

Result<std::string> read_choice(std::string_view option, const std::string& word,
                                std::span<const std::string_view> choices) {
  std::string all;
  for (const std::string_view choice : choices) {
    if (word == choice) return word;
    all += join(all.empty() ? "" : (choice == choices.back() ? " or " : ", "), choice);
  }
  if (const std::string guess = base::did_you_mean(word, choices); !guess.empty())
    return invalid(option, ": ", base::quoted(word), " is not known", guess);
  return invalid(option, ": ", base::quoted(word), " is not known; use ", all);
}

Result<std::vector<Charge>> read_charges(const std::vector<std::string>& texts) {
  std::vector<Charge> charges;
  for (const std::string_view text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return invalid("-c ", base::quoted(text), ": write NAME=AMOUNT, such as -c rpm=1");
    const std::string_view name = text.substr(0, equals);
    const std::string option = join("-c ", name);
    if (auto checked = limits::check_limit_name(name); !checked) return in_option("-c", checked.error());
    auto amount = Amount::parse(text.substr(equals + 1));
    if (!amount) return in_option(option, amount.error());
    charges.push_back({name, *amount});
  }
  return charges;
}

Result<std::vector<NamedLimit>> read_limits(const std::vector<std::string>& texts) {
  std::vector<NamedLimit> limits;
  for (const std::string_view text : texts) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0)
      return invalid("-l ", base::quoted(text),
                     ": write NAME:LIMIT, such as -l rpm:100/min or -l rpm:100/min:150");
    const std::string_view name = text.substr(0, colon);
    if (auto checked = limits::check_limit_name(name); !checked) return in_option("-l", checked.error());
    auto limit = Limit::parse(text.substr(colon + 1));
    if (!limit) return in_option(join("-l ", name), limit.error());
    limits.push_back({std::string(name), *limit});
  }
  return limits;
}

Result<milliseconds> read_duration(std::string_view option, std::string_view text) {
  if (const auto time = base::parse_duration(text)) return milliseconds(*time);
  return invalid(option, ": ", base::quoted(text),
                 " is not a length of time from 1 ms to 100 years; write one such as 30s, 5min, 12h or 90d");
}

Result<int> read_number(std::string_view option, std::string_view text, int least, int most) {
  const auto number = base::parse_digits(text);
  if (number && *number >= least && *number <= most) return static_cast<int>(*number);
  return invalid(option, ": ", base::quoted(text), " is not a whole number from ", std::to_string(least),
                 " to ", std::to_string(most));
}

Result<Level> read_level(const Arguments& arguments) {
  if (arguments.system && (arguments.entity || arguments.resource))
    return invalid("--system stands alone; leave out --entity and --resource, or --system");
  if (arguments.system) return Level::system();
  if (arguments.entity && arguments.resource == "_default_")
    return invalid("--resource _default_: leave out --resource, and the limits hold on every resource");
  if (arguments.entity && arguments.resource) return Level::entity(*arguments.entity, *arguments.resource);
  if (arguments.entity) return Level::entity_default(*arguments.entity);
  if (arguments.resource) return Level::resource(*arguments.resource);
  return invalid("say which limits: --system, --resource R, --entity E, or --entity E --resource R");
}

Result<Owner> read_owner(const std::string& word) {
  constexpr std::string_view choices[] = {"operator", "sync"};
  auto choice = read_choice("--owner", word, choices);
  if (!choice) return choice.error();
  return *choice == "sync" ? Owner::sync : Owner::operator_;
}

Result<Source> read_source(const std::string& word) {
  constexpr std::string_view choices[] = {"entity", "entity_default", "resource", "system"};
  auto choice = read_choice("--level", word, choices);
  if (!choice) return choice.error();
  for (const Source source : {Source::entity, Source::entity_default, Source::resource}) {
    if (*choice == name_of(source)) return source;
  }
  return Source::system;
}

Result<OnUnavailable> read_on_unavailable(const std::string& word) {
  constexpr std::string_view choices[] = {"allow", "deny"};
  auto choice = read_choice("--on-unavailable", word, choices);
  if (!choice) return choice.error();
  return *choice == "allow" ? OnUnavailable::allow : OnUnavailable::deny;
}

Result<bool> read_usage(const std::string& word) {
  constexpr std::string_view choices[] = {"on", "off"};
  auto choice = read_choice("--usage", word, choices);
  if (!choice) return choice.error();
  return *choice == "on";
}

Result<void> read_log_options(const Arguments& arguments, telemetry::LogOptions& into) {
  if (arguments.log_format) {
    const auto format = telemetry::parse_log_format(*arguments.log_format);
    if (!format) return base::invalid("--log-format: use text or json");
    into.format = *format;
  }
  if (arguments.log_level) {
    const auto level = telemetry::parse_log_level(*arguments.log_level);
    if (!level) return base::invalid("--log-level: use debug, info, warning or error");
    into.level = *level;
  }
  return {};
}

}  // namespace weir::cli
