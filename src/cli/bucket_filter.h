// Which buckets to show, from the command line, and how full they are.
#pragma once

#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/style.h"
#include "weir/catalog.h"
#include "weir/result.h"

namespace weir::cli {

/// --sort, --below and --by. `usual`: the order if none is said.
Result<BucketsFilter> read_buckets_filter(const Arguments& arguments, BucketOrder usual);

/// "12.5 %", rounded down, of a share in billionths.
std::string percent_text(std::int64_t share);
/// Red if less than a tenth is left, yellow below three tenths.
Tone tone_of_share(std::int64_t share);

}  // namespace weir::cli
