#include "cli/bucket_filter.h"

#include "base/text.h"
#include "cli/read.h"

namespace weir::cli {
namespace {

constexpr std::int64_t percent = 10'000'000;

/// "10%" or "10".
Result<Amount> read_percent(std::string_view option, std::string_view text) {
  std::string_view number = text;
  if (number.ends_with('%')) number.remove_suffix(1);
  const auto read = Amount::parse(number);
  if (read && *read > Amount() && *read <= Amount(1000)) return *read;
  return base::invalid(option, ": ", base::quoted(text),
                       " is not a percentage above 0; write 10%, or 2.5% with up to three decimals");
}

}  // namespace

Result<BucketsFilter> read_buckets_filter(const Arguments& arguments, BucketOrder usual) {
  constexpr std::string_view orders[] = {"entity", "remaining", "consumed"};
  BucketsFilter filter{.order = usual, .limit = arguments.by.value_or("")};
  if (arguments.by && arguments.by->empty()) return base::invalid("--by is empty; name a limit, such as tpm");
  if (arguments.sort) {
    const auto order = read_choice("--sort", *arguments.sort, orders);
    if (!order) return order.error();
    filter.order = *order == "remaining"  ? BucketOrder::remaining
                   : *order == "consumed" ? BucketOrder::consumed
                                          : BucketOrder::entity;
  }
  if (arguments.below) {
    const auto below = read_percent("--below", *arguments.below);
    if (!below) return below.error();
    filter.below_percent = *below;
  }
  return filter;
}

std::string percent_text(std::int64_t share) {
  const std::int64_t tenths = share / (percent / 10) - (share % (percent / 10) < 0 ? 1 : 0);
  return base::join(Amount::milli(tenths * 100).to_string(), " %");
}

Tone tone_of_share(std::int64_t share) {
  if (share < 10 * percent) return Tone::bad;
  return share < 30 * percent ? Tone::warning : Tone::good;
}

}  // namespace weir::cli
