// The JSON of plans that callers send, and of settings that several bodies have.
#pragma once

#include <optional>
#include <string_view>

#include "json/document.h"
#include "weir/catalog.h"

namespace weir::service {

/// "enforce", "shadow" or "off".
Mode read_mode(json::Document& document, json::Value& value, std::string_view of);
/// "on" or "off": whether usage is counted. Nothing if it is another word, which makes the document invalid.
std::optional<bool> read_usage(json::Document& document, json::Value& value, std::string_view of);

/// Reads `"resources":{R:{...}}`, where a set is `{"limits":{...},"inherit"?,"mode"?}` or the limits
/// themselves. False: it is another member.
bool read_plan_resources(json::Document& document, std::string_view key, json::Value& value,
                         LimitsPlan& plan);

/// `{"limits":{...},"resources"?:{R:{...}},"inherit"?,"mode"?}`.
json::Parsed<LimitsPlan> parse_plan(std::string_view json, std::string_view name);

}  // namespace weir::service
