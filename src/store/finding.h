// What a check of a store found.
#pragma once

#include <string>

namespace weir::store {

enum class Severity { ok, warning, failure };

struct Finding {
  Severity severity = Severity::ok;
  std::string what;    ///< a word or two: "schema"
  std::string detail;  ///< what was found and, unless it is ok, what to do
};

}  // namespace weir::store
