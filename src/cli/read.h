// Parses values of the command line. Errors name the option.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "telemetry/log.h"
#include "weir/amount.h"
#include "weir/catalog.h"
#include "weir/level.h"
#include "weir/limit.h"
#include "weir/result.h"

namespace weir::cli {

/// One of the choices; the error suggests the closest one.
Result<std::string> read_choice(std::string_view option, const std::string& word,
                                std::span<const std::string_view> choices);

/// `-c NAME=AMOUNT`. The charges point into the texts.
Result<std::vector<Charge>> read_charges(const std::vector<std::string>& texts);
/// `-l NAME:LIMIT`.
Result<std::vector<NamedLimit>> read_limits(const std::vector<std::string>& texts);
/// "30s", "5min", "12h", "90d", "250ms".
Result<std::chrono::milliseconds> read_duration(std::string_view option, std::string_view text);
/// A whole number from `least` to `most`.
Result<int> read_number(std::string_view option, std::string_view text, int least, int most);

/// The level that --system, --resource and --entity name.
Result<Level> read_level(const Arguments& arguments);
Result<Owner> read_owner(const std::string& word);
Result<Source> read_source(const std::string& word);
Result<OnUnavailable> read_on_unavailable(const std::string& word);
Result<bool> read_usage(const std::string& word);
/// --log-format and --log-level; options that are not given leave `into` unchanged.
Result<void> read_log_options(const Arguments& arguments, telemetry::LogOptions& into);

}  // namespace weir::cli
