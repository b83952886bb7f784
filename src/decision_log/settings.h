// Settings of a decision log, as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "decision_log/entry.h"
#include "weir/result.h"

namespace weir::decision_log {

/// Parses a size such as "64MB": a whole number with KB, MB or GB, which are powers of 1024. Fails below the
/// least size of a log. `option`: the name of the option, for messages.
Result<std::uint64_t> parse_size(std::string_view option, std::string_view text);
/// "off", "refusals" or "all".
Result<Keeps> parse_keeps(std::string_view option, std::string_view text);
/// The file of the log of a process with this store: beside the file of a sqlite: store; empty for others.
std::string path_beside(std::string_view store);

}  // namespace weir::decision_log
