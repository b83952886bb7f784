// weir sync simulate.
#pragma once

#include "cli/arguments.h"
#include "cli/session.h"

namespace weir::cli {

Result<ExitCode> simulate_sync(Session& session, const Arguments& arguments);

}  // namespace weir::cli
