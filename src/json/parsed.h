// The result of parsing a document.
#pragma once

#include <string>

namespace weir::json {

/// Either a value or the mistake in the text.
template <class T>
struct Parsed {
  T value{};
  std::string malformed = {};  ///< not JSON, or of the wrong shape: 400
  std::string invalid = {};    ///< of the right shape, but with values that cannot be accepted: 422
  bool ok() const { return malformed.empty() && invalid.empty(); }
};

}  // namespace weir::json
