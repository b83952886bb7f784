// The program, independent of its environment.
#pragma once

#include <string>
#include <vector>

#include "cli/world.h"

namespace weir::cli {

/// Runs one command line, without the name of the program; returns the exit code.
int run(const std::vector<std::string>& words, World& world);

}  // namespace weir::cli
