// Turns off one rule at a time: the checker must find what the rule is there for.
#pragma once

#include <string>

namespace weir::model {

/// Runs the mutation of that name, or all of them. Returns 0 if each was caught.
int run_mutations(const std::string& name, bool traces);

}  // namespace weir::model
