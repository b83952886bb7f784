// What came of reading a document.
#pragma once

#include <string>

namespace weir::json {

/// Either a value or what is wrong with the text that it was read from.
template <class T>
struct Parsed {
  T value{};
  std::string malformed = {};  ///< not JSON, or not of the shape: 400
  std::string invalid = {};    ///< of the shape, but it cannot be done: 422
  bool ok() const { return malformed.empty() && invalid.empty(); }
};

}  // namespace weir::json
