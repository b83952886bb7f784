// gateway: the reverse proxy.
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/read.h"
#include "gateway/run.h"

namespace weir::cli {

Result<ExitCode> gateway(Session& session, const Arguments& arguments) {
  if (arguments.check) {
    const auto settings = gateway::check(arguments.config);
    if (!settings) return settings.error();
    session.out() << arguments.config << ": " << settings->routes.size()
                  << (settings->routes.size() == 1 ? " route" : " routes") << ", nothing to fix\n";
    return done;
  }
  gateway::RunOptions options;
  options.config = arguments.config;
  options.store = said(arguments.common.store, session.world(), "WEIR_STORE");
  if (session.namespace_was_said()) options.name_space = session.options().name_space;
  if (auto read = read_log_options(arguments, options.log); !read) return read.error();
  auto served = gateway::run(options, session.out(), session.world().err);
  if (!served) return served.error();
  return done;
}

}  // namespace weir::cli
