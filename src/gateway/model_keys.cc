#include "gateway/model_keys.h"

#include <algorithm>
#include <array>

#include "wire/http_chars.h"
#include "wire/http_text.h"

namespace weir::gateway {
namespace {

using wire::http::same_name;

template <std::size_t Size>
bool is_one_of(std::string_view name, const std::array<std::string_view, Size>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view other) { return same_name(name, other); });
}

/// The decoded text; the text itself where an escape is broken.
std::string decoded(std::string_view written) {
  std::string text;
  return wire::http::percent_decode(written, text) ? text : std::string(written);
}

/// A parameter of a query. Google's APIs take all parameters of their own with a $, too.
struct Parameter {
  explicit Parameter(std::string_view written) {
    const std::size_t end = std::min(written.find('='), written.size());
    name = decoded(written.substr(0, end));
    value = decoded(written.substr(std::min(end + 1, written.size())));
    has_dollar = name.starts_with('$');
    if (has_dollar) name.erase(0, 1);
  }
  std::string name;  ///< without the $
  std::string value;
  bool has_dollar = false;
};

/// Gemini takes a key as ?key=.
bool is_key(const Parameter& parameter) {
  constexpr std::array<std::string_view, 3> names{"key", "access_token", "oauth_token"};
  return is_one_of(parameter.name, names);
}

bool is_form(const Parameter& parameter) { return same_name(parameter.name, "alt"); }

/// Google's servers take such a parameter for the method or the fields of the request.
bool replaces_head(const Parameter& parameter) {
  constexpr std::array<std::string_view, 2> names{"httpmethod", "httpheaders"};
  return parameter.has_dollar && is_one_of(parameter.name, names);
}

/// Whether the answer may lack its usage with it, or hide it in a script. A name with a $ that is not known
/// here may do the same.
bool may_hide_usage(const Parameter& parameter) {
  constexpr std::array<std::string_view, 2> names{"fields", "callback"};
  return parameter.has_dollar || is_one_of(parameter.name, names);
}

bool is_dropped(const Parameter& parameter, const QueryRules& rules) {
  if (is_key(parameter)) return rules.drops_keys;
  if (replaces_head(parameter)) return true;
  return rules.counts_tokens && !is_form(parameter) && may_hide_usage(parameter);
}

/// Calls visit(parameter) with each parameter of the query as it is written.
template <class Visit>
void each_parameter(std::string_view query, Visit&& visit) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    visit(query.substr(0, end));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
}

}  // namespace

bool is_model_key(std::string_view name) {
  constexpr std::array<std::string_view, 4> names{"authorization", "x-api-key", "api-key", "x-goog-api-key"};
  return is_one_of(name, names);
}

bool is_model_account(std::string_view name) {
  constexpr std::array<std::string_view, 3> names{"openai-organization", "openai-project",
                                                  "x-goog-user-project"};
  return is_one_of(name, names);
}

bool is_other_method(std::string_view name) {
  constexpr std::array<std::string_view, 3> names{"x-http-method-override", "x-http-method",
                                                  "x-method-override"};
  return is_one_of(name, names);
}

bool is_field_mask(std::string_view name) { return same_name(name, "x-goog-fieldmask"); }

std::size_t keys_in(const wire::http::Fields& fields) {
  std::size_t keys = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) keys += is_model_key(fields[i].name) ? 1U : 0U;
  return keys;
}

std::size_t keys_in_query(std::string_view query) {
  std::size_t keys = 0;
  each_parameter(query, [&](std::string_view parameter) { keys += is_key(Parameter(parameter)) ? 1U : 0U; });
  return keys;
}

bool asks_for_unreadable_form(std::string_view query) {
  constexpr std::array<std::string_view, 2> readable{"json", "sse"};
  bool asks = false;
  each_parameter(query, [&](std::string_view written) {
    const Parameter parameter(written);
    asks = asks || (is_form(parameter) && !is_one_of(parameter.value, readable));
  });
  return asks;
}

std::string query_for_vendor(std::string_view query, const QueryRules& rules) {
  std::string kept;
  each_parameter(query, [&](std::string_view written) {
    if (written.empty() || is_dropped(Parameter(written), rules)) return;
    if (!kept.empty()) kept += '&';
    kept += written;
  });
  return kept;
}

}  // namespace weir::gateway
