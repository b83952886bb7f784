// A decision in words.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/session.h"
#include "decision_log/entry.h"

namespace weir::cli {

/// The entities that used a limit which refused, in the minutes before.
struct UsedBefore {
  std::string entity;  ///< whose limit it is
  std::string limit;
  struct By {
    std::string entity;
    Amount amount;
    std::size_t decisions = 0;
  };
  std::vector<By> by = {};  ///< the largest first
};

struct Explanation {
  decision_log::Entry entry;
  std::vector<UsedBefore> used = {};
  bool knows_use = false;                               ///< the log has admitted requests of that time
  std::vector<decision_log::Entry> more_refusals = {};  ///< of the same time, if it was asked for by time
};

/// The limits that refused, and for each the commands that change it.
std::vector<std::string> commands_for(const decision_log::Entry& entry);

void print(const Session& session, const Explanation& explanation);
std::string to_json(const Explanation& explanation);

}  // namespace weir::cli
