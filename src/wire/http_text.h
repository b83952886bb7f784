// The small grammars inside a target or a field: escapes, queries, lists. All work on views of bounded
// length, and bound their output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/maxima.h"

namespace weir::wire::http {

/// Decodes %XX into `out`, which keeps its capacity. False if an escape is broken; "+" stays "+".
bool percent_decode(std::string_view text, std::string& out);

/// Writes everything but letters, digits, `-._~` and the characters in `also` as %XX.
std::string percent_encode(std::string_view text, std::string_view also = {});

/// Walks the segments of a path: "/a/b%2Fc" gives "a" and "b/c"; "/a/" gives "a" and "".
class PathSegments {
 public:
  explicit PathSegments(std::string_view path) : rest_(path) {}
  /// The next segment as it was sent; false at the end.
  bool next(std::string_view& segment);

 private:
  std::string_view rest_;
};

/// Walks the parameters of a query: "a=1&b=x%20y+z" gives a = "1" and b = "x y z" ("+" is a space here).
/// Empty parameters ("&&") are skipped; a parameter without "=" has an empty value.
class QueryParameters {
 public:
  enum class Next : unsigned char { parameter, end, malformed };
  static constexpr std::size_t most = maxima::query_parameters;

  explicit QueryParameters(std::string_view query) : rest_(query) {}
  /// The next parameter, decoded. Malformed if an escape is broken or there are more than `most`.
  Next next(std::string& name, std::string& value);

 private:
  std::string_view rest_;
  std::size_t seen_ = 0;
};

/// Walks a comma-separated list, as in Connection or Accept: spaces around elements are trimmed, empty
/// elements skipped, commas inside quoted strings are part of their element.
class ListElements {
 public:
  explicit ListElements(std::string_view value) : rest_(value) {}
  bool next(std::string_view& element);
  /// Whether no element is left.
  bool at_end() const { return rest_.find_first_not_of(" \t,") == std::string_view::npos; }

 private:
  std::string_view rest_;
};

/// The token in the value of Authorization, "Bearer TOKEN"; empty with another scheme. The scheme is
/// case-insensitive, and any spaces and tabs may stand around the token.
std::string_view bearer_token(std::string_view authorization);

/// Whether the list has that token, case-insensitive.
bool list_has(std::string_view value, std::string_view token);

}  // namespace weir::wire::http
