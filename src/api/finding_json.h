// The findings of a store check as JSON. Pure functions.
#pragma once

#include <string>

#include "base/json.h"
#include "store/finding.h"

namespace weir::api {

inline std::string to_json(const store::Finding& finding) {
  auto json = base::JsonWriter::object();
  json.text("severity", store::name_of(finding.severity));
  json.text("what", finding.what).text("detail", finding.detail);
  return json.str();
}

}  // namespace weir::api
