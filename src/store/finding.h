// A finding of a store check.
#pragma once

#include <string>

namespace weir::store {

enum class Severity { ok, warning, failure };

/// "ok", "warning" or "failure".
constexpr const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return "ok";
    case Severity::warning:
      return "warning";
    default:
      return "failure";
  }
}

struct Finding {
  Severity severity = Severity::ok;
  std::string what;    ///< a word or two: "schema"
  std::string detail;  ///< the state and, unless it is ok, the remedy
};

}  // namespace weir::store
