#include <cstdio>
#include <cstdlib>

#include "weir/result.h"

namespace weir {

void detail::value_of_error(const Error& error) {
  std::fprintf(stderr, "weir: the value of a Result was taken, but it is an error: %s: %s\n",
               name_of(error.code), error.message.c_str());
  std::abort();
}

void detail::error_of_value() {
  std::fputs("weir: the error of a Result was taken, but it is a success\n", stderr);
  std::abort();
}

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid-argument";
    case ErrorCode::unknown_limit:
      return "unknown-limit";
    case ErrorCode::no_limits:
      return "no-limits";
    case ErrorCode::not_found:
      return "not-found";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::operator_owned:
      return "operator-owned";
    case ErrorCode::expired:
      return "expired";
    case ErrorCode::exhausted:
      return "exhausted";
    case ErrorCode::unavailable:
      return "store-unavailable";
    case ErrorCode::contention:
      return "contention";
    case ErrorCode::outcome_unknown:
      return "outcome-unknown";
  }
  return "unknown";
}

}  // namespace weir
