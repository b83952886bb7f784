#include "app/dynamodb_url.h"

#include <algorithm>
#include <array>

#include "app/store_url.h"
#include "app/url.h"
#include "base/text.h"
#include "wire/http_text.h"

namespace weir::app {
namespace {

using base::invalid;
using base::quoted;

bool good_table(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return name.size() >= 3 && name.size() <= 255 && std::all_of(name.begin(), name.end(), allowed);
}

Result<void> read_parameter(dynamodb::StoreOptions& options, std::string_view name,
                            const std::string& value) {
  constexpr std::array<std::string_view, 9> names = {"region",         "endpoint",  "deadline_ms",
                                                     "cache_ms",       "refuse_ms", "settle",
                                                     "clock_bound_ms", "cacert",    "insecure"};
  const auto milliseconds = [&](std::chrono::milliseconds& into, std::int64_t least) -> Result<void> {
    auto read = read_milliseconds(name, value, least);
    if (!read) return read.error();
    into = *read;
    return {};
  };
  if (name == "region") {
    options.region = value;
  } else if (name == "endpoint") {
    if (auto url = aws::parse_url(value); !url) return url.error();
    options.endpoint = value;
  } else if (name == "insecure") {
    if (value != "true" && value != "false")
      return invalid("insecure in the URL of the store is ", quoted(value), "; use true or false");
    options.insecure = value == "true";
  } else if (name == "deadline_ms") {
    return milliseconds(options.deadline, 1);
  } else if (name == "cache_ms") {
    return milliseconds(options.cache_for, 0);
  } else if (name == "refuse_ms") {
    return milliseconds(options.refuse_for, 0);
  } else if (name == "clock_bound_ms") {
    return milliseconds(options.clock_bound, 1);
  } else if (name == "cacert") {
    options.ca_file = value;
  } else if (name == "settle") {
    if (value != "single" && value != "once")
      return invalid("settle in the URL of the store is ", quoted(value), "; use once or single");
    options.settle_single = value == "single";
  } else {
    return invalid("the URL of the store has a parameter ", quoted(name), " that is not known",
                   base::did_you_mean(name, names));
  }
  return {};
}

}  // namespace

Result<std::chrono::milliseconds> read_milliseconds(std::string_view name, std::string_view text,
                                                    std::int64_t least) {
  constexpr std::int64_t hour = 3'600'000;
  const auto number = base::parse_digits(text);
  if (number && *number >= least && *number <= hour) return std::chrono::milliseconds(*number);
  return invalid(name, " in the URL of the store is ", quoted(text), "; use milliseconds from ",
                 std::to_string(least), " to 3600000");
}

Result<void> read_parameters(
    std::string_view query,
    const std::function<Result<void>(std::string_view name, const std::string& value)>& read) {
  std::string value;
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(parameter.size() + 1, query.size()));
    if (parameter.empty()) continue;
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view name = parameter.substr(0, equals);
    if (!wire::http::percent_decode(parameter.substr(std::min(equals + 1, parameter.size())), value))
      return invalid(name, " in the URL of the store has a broken % escape");
    if (auto known = read(name, value); !known) return known;
  }
  return {};
}

Result<dynamodb::StoreOptions> parse_dynamodb_url(std::string_view rest) {
  const std::size_t question = rest.find('?');
  dynamodb::StoreOptions options;
  options.table = rest.substr(0, question);
  if (!good_table(options.table)) {
    return invalid("the URL of the store names the table ", quoted(without_password(options.table)),
                   "; use dynamodb://TABLE with 3 to 255 letters, digits and `-_.`");
  }
  if (question == std::string_view::npos) return options;
  auto read = read_parameters(
      rest.substr(question + 1),
      [&](std::string_view name, const std::string& value) { return read_parameter(options, name, value); });
  if (!read) return read.error();
  if (options.endpoint.empty()) return options;
  if (auto safe = dynamodb::check_endpoint(options, options.endpoint); !safe) return safe.error();
  return options;
}

}  // namespace weir::app
