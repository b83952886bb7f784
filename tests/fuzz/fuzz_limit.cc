// Limits and amounts as text. A text that is accepted must be within the bounds of exactness, and must read
// as the same after it was written again.
#include <cstdlib>
#include <string_view>

#include "weir/limit.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto amount = weir::Amount::parse(text)) {
    const auto again = weir::Amount::parse(amount->to_string());
    if (!amount->in_range() || !again || *again != *amount) std::abort();
  }
  if (const auto limit = weir::Limit::parse(text)) {
    const auto again = weir::Limit::parse(limit->to_json());
    if (!again || *again != *limit) std::abort();
    const bool refills = limit->refill_amount() > weir::Amount();
    if (limit->burst() < limit->capacity() || refills != (limit->kind() == weir::Kind::rate)) std::abort();
  }
  return 0;
}
