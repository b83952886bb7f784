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

/// Gemini takes a key as ?key=, and Google's APIs take all such parameters with a $, too.
bool is_key_parameter(std::string_view parameter) {
  const std::string_view written = parameter.substr(0, parameter.find('='));
  std::string name;
  if (!wire::http::percent_decode(written, name)) name = written;
  if (name.starts_with('$')) name.erase(0, 1);
  constexpr std::array<std::string_view, 3> names{"key", "access_token", "oauth_token"};
  return is_one_of(name, names);
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

std::size_t keys_in(const wire::http::Fields& fields) {
  std::size_t keys = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) keys += is_model_key(fields[i].name) ? 1U : 0U;
  return keys;
}

std::size_t keys_in_query(std::string_view query) {
  std::size_t keys = 0;
  each_parameter(query, [&](std::string_view parameter) { keys += is_key_parameter(parameter) ? 1U : 0U; });
  return keys;
}

std::string query_without_keys(std::string_view query) {
  std::string kept;
  each_parameter(query, [&](std::string_view parameter) {
    if (is_key_parameter(parameter)) return;
    if (!kept.empty()) kept += '&';
    kept += parameter;
  });
  return kept;
}

}  // namespace weir::gateway
