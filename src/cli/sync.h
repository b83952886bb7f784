// weir sync: its region, opened, and its other actions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/session.h"
#include "sync/sync_file.h"

namespace weir::cli {

/// Everything that a cycle needs.
struct OpenedSync {
  sync::SyncFile file;
  std::shared_ptr<Limiter> limiter;
  std::unique_ptr<sync::Exchange> exchange;
  std::unique_ptr<sync::Runner> runner;
};

/// Reads the file of sync, and opens the store and the exchange that it names.
Result<OpenedSync> open_sync(Session& session, const Arguments& arguments);

/// The problems of a cycle for people: the first ones, and how many there are beyond those.
std::vector<std::string> problems_to_show(const sync::CycleReport& report);
/// "rpm=15 tpm=1500".
std::string shares_of(const sync::Write& write);

Result<ExitCode> show_sync_status(Session& session, const Arguments& arguments);
Result<ExitCode> simulate_sync(Session& session, const Arguments& arguments);

}  // namespace weir::cli
