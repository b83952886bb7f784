// What a vendor says is left of its own limits, in the fields of its answers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "llm/endpoint.h"

namespace weir::llm {

/// Nothing: the vendor did not say.
struct VendorLeft {
  std::optional<std::int64_t> requests = {};
  std::optional<std::int64_t> tokens = {};
  std::optional<std::int64_t> input_tokens = {};
  std::optional<std::int64_t> output_tokens = {};
  bool any() const { return requests || tokens || input_tokens || output_tokens; }
};

/// `field`: the value of a field of the answer, empty if it is not there. A number that is negative, too
/// large or no integer counts as not said. An answer with 429 that says nothing leaves nothing of any limit.
VendorLeft read_vendor_left(Vendor vendor, int status,
                            const std::function<std::string_view(std::string_view name)>& field);

}  // namespace weir::llm
