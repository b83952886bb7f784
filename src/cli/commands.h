// The commands. Each runs in a session and returns the exit code, or an error.
#pragma once

#include "cli/arguments.h"
#include "cli/session.h"
#include "weir/result.h"

namespace weir::cli {

using Command = Result<ExitCode> (*)(Session& session, const Arguments& arguments);

Result<ExitCode> acquire(Session& session, const Arguments& arguments);
Result<ExitCode> available(Session& session, const Arguments& arguments);
Result<ExitCode> lease_adjust(Session& session, const Arguments& arguments);
Result<ExitCode> lease_settle(Session& session, const Arguments& arguments);
Result<ExitCode> lease_rollback(Session& session, const Arguments& arguments);
Result<ExitCode> lease_extend(Session& session, const Arguments& arguments);

Result<ExitCode> limits_set(Session& session, const Arguments& arguments);
Result<ExitCode> limits_get(Session& session, const Arguments& arguments);
Result<ExitCode> limits_delete(Session& session, const Arguments& arguments);
Result<ExitCode> limits_effective(Session& session, const Arguments& arguments);
Result<ExitCode> limits_list(Session& session, const Arguments& arguments);
Result<ExitCode> limits_plan(Session& session, const Arguments& arguments);
Result<ExitCode> limits_apply(Session& session, const Arguments& arguments);
Result<ExitCode> limits_diff(Session& session, const Arguments& arguments);

Result<ExitCode> plan_set(Session& session, const Arguments& arguments);
Result<ExitCode> plan_get(Session& session, const Arguments& arguments);
Result<ExitCode> plan_delete(Session& session, const Arguments& arguments);
Result<ExitCode> plan_list(Session& session, const Arguments& arguments);
Result<ExitCode> plan_members(Session& session, const Arguments& arguments);

Result<ExitCode> block(Session& session, const Arguments& arguments);
Result<ExitCode> exempt(Session& session, const Arguments& arguments);
Result<ExitCode> reset(Session& session, const Arguments& arguments);
Result<ExitCode> grant(Session& session, const Arguments& arguments);
Result<ExitCode> entity_create(Session& session, const Arguments& arguments);
Result<ExitCode> entity_get(Session& session, const Arguments& arguments);
Result<ExitCode> entity_delete(Session& session, const Arguments& arguments);
Result<ExitCode> entity_list(Session& session, const Arguments& arguments);
Result<ExitCode> entity_children(Session& session, const Arguments& arguments);

Result<ExitCode> namespace_list(Session& session, const Arguments& arguments);
Result<ExitCode> namespace_create(Session& session, const Arguments& arguments);
Result<ExitCode> namespace_purge(Session& session, const Arguments& arguments);
Result<ExitCode> namespace_restore(Session& session, const Arguments& arguments);

Result<ExitCode> usage(Session& session, const Arguments& arguments);
Result<ExitCode> audit(Session& session, const Arguments& arguments);

Result<ExitCode> explain(Session& session, const Arguments& arguments);
Result<ExitCode> what_if(Session& session, const Arguments& arguments);

Result<ExitCode> store_init(Session& session, const Arguments& arguments);
Result<ExitCode> loadtest(Session& session, const Arguments& arguments);
Result<ExitCode> bench(Session& session, const Arguments& arguments);
Result<ExitCode> store_migrate(Session& session, const Arguments& arguments);
Result<ExitCode> store_copy(Session& session, const Arguments& arguments);
Result<ExitCode> store_check(Session& session, const Arguments& arguments);
Result<ExitCode> store_show(Session& session, const Arguments& arguments);
Result<ExitCode> store_list(Session& session, const Arguments& arguments);
Result<ExitCode> top(Session& session, const Arguments& arguments);

Result<ExitCode> serve(Session& session, const Arguments& arguments);
Result<ExitCode> aggregate(Session& session, const Arguments& arguments);
Result<ExitCode> sync(Session& session, const Arguments& arguments);
Result<ExitCode> gateway(Session& session, const Arguments& arguments);
Result<ExitCode> completion(Session& session, const Arguments& arguments);
Result<ExitCode> help(Session& session, const Arguments& arguments);

}  // namespace weir::cli
