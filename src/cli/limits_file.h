// The limits file of a command, and the state of a store that it is compared with.
#pragma once

#include <string>

#include "cli/session.h"
#include "config/limits_file.h"
#include "config/plan.h"
#include "weir/result.h"

namespace weir::cli {

/// A mistake in a file is a failure, not a misuse of the command.
Error as_failure(const Error& error);

/// Reads a file; "-" is stdin.
Result<config::Desired> read_desired(const World& world, const std::string& file);

/// A file with a namespace is applied to no other, even if a forgotten environment variable names one.
Result<void> choose_namespace(Session& session, const config::Desired& desired);

/// Everything that is stored in the target's namespace.
Result<config::Current> read_current(client::Target& target);

}  // namespace weir::cli
