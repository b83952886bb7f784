// Entries as the JSON of the HTTP API, of the lines that are shipped, and of `weir explain -o json`.
#pragma once

#include <string>

#include "decision_log/entry.h"

namespace weir::decision_log {

void append_json(std::string& out, const Entry& entry);

inline std::string to_json(const Entry& entry) {
  std::string json;
  append_json(json, entry);
  return json;
}

}  // namespace weir::decision_log
