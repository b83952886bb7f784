// The program, apart from the machine that it runs on.
#pragma once

#include <string>
#include <vector>

#include "cli/world.h"

namespace weir::cli {

/// Runs one command line, without the name of the program; returns what the program ends with.
int run(const std::vector<std::string>& words, World& world);

}  // namespace weir::cli
