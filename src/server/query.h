// The query of a call.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/rfc3339.h"
#include "base/text.h"
#include "weir/clock.h"
#include "weir/result.h"
#include "wire/http_text.h"

namespace weir::server {

/// The parameters of a query, each at most once and only those that are known.
class Query {
 public:
  Query(std::string_view text, std::initializer_list<std::string_view> known) {
    using wire::http::QueryParameters;
    QueryParameters parameters(text);
    std::string name;
    std::string value;
    while (error_.empty()) {
      const auto next = parameters.next(name, value);
      if (next == QueryParameters::Next::end) break;
      if (next == QueryParameters::Next::malformed) {
        error_ = "the query cannot be read";
      } else if (std::find(known.begin(), known.end(), name) == known.end()) {
        error_ = base::join("parameter ", base::quoted(name), " is not known here",
                            base::did_you_mean(name, std::span(known.begin(), known.size())));
      } else if (!values_.emplace(name, value).second) {
        error_ = base::join("parameter ", base::quoted(name), " is given twice");
      }
    }
  }
  const std::string& error() const { return error_; }
  bool has(const std::string& name) const { return values_.contains(name); }
  std::string get(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
  }

 private:
  std::map<std::string, std::string> values_;
  std::string error_;
};

/// A moment of the query; one that is not there leaves `moment` as it is. A `+` of an offset that was not
/// escaped arrives as a space.
inline Result<void> read_moment(const Query& query, const char* name, Time& moment) {
  if (!query.has(name)) return {};
  std::string text = query.get(name);
  if (const std::size_t space = text.rfind(' '); space != std::string::npos && space > 10) text[space] = '+';
  const auto parsed = base::parse_rfc3339(text);
  if (!parsed) {
    return base::invalid(name,
                         " must be a moment such as 2026-11-17T05:00:00Z, or a date such as 2026-11-17");
  }
  moment = *parsed;
  return {};
}

}  // namespace weir::server
