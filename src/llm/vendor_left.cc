#include "llm/vendor_left.h"

#include "base/text.h"
#include "weir/amount.h"

namespace weir::llm {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  constexpr std::int64_t most = Amount::max_millitokens / 1000;
  const auto number = base::parse_digits(text);
  return number && *number <= most ? number : std::nullopt;
}

}  // namespace

VendorLeft read_vendor_left(Vendor vendor, int status,
                            const std::function<std::string_view(std::string_view name)>& field) {
  VendorLeft left;
  if (vendor == Vendor::anthropic) {
    left.requests = whole_number(field("anthropic-ratelimit-requests-remaining"));
    left.tokens = whole_number(field("anthropic-ratelimit-tokens-remaining"));
    left.input_tokens = whole_number(field("anthropic-ratelimit-input-tokens-remaining"));
    left.output_tokens = whole_number(field("anthropic-ratelimit-output-tokens-remaining"));
  } else {
    left.requests = whole_number(field("x-ratelimit-remaining-requests"));
    left.tokens = whole_number(field("x-ratelimit-remaining-tokens"));
  }
  if (status == 429 && !left.any()) left = {0, 0, 0, 0};
  return left;
}

}  // namespace weir::llm
