// Completion scripts for shells, made from the tree of commands.
#pragma once

#include <string>

#include "cli/shape.h"

namespace weir::cli {

std::string bash_completion(const CommandShape& root);
std::string zsh_completion(const CommandShape& root);
std::string fish_completion(const CommandShape& root);

}  // namespace weir::cli
