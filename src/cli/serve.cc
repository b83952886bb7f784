// serve: the HTTP service.
#include "service/serve.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"

namespace weir::cli {

Result<ExitCode> serve(Session& session, const Arguments& arguments) {
  service::ServeOptions options;
  options.store = session.store();
  if (arguments.listen) options.listen = *arguments.listen;
  options.tokens = arguments.tokens.value_or("");
  options.tls_cert = arguments.tls_cert.value_or("");
  options.tls_key = arguments.tls_key.value_or("");
  options.insecure = arguments.insecure;
  if (arguments.threads) {
    const auto threads = base::parse_digits(*arguments.threads);
    if (!threads || *threads < 1 || *threads > 256) return base::invalid("--threads: use 1 to 256");
    options.threads = static_cast<unsigned>(*threads);
  }
  if (arguments.on_unavailable) {
    const auto policy = read_on_unavailable(*arguments.on_unavailable);
    if (!policy) return policy.error();
    options.on_unavailable = *policy;
  }
  if (auto read = read_log_options(arguments, options.log); !read) return read.error();
  options.access_log = arguments.access_log.value_or("");
  options.aggregate = arguments.aggregate;
  auto served = service::serve(options, session.out(), session.world().err);
  if (!served) return served.error();
  return done;
}

}  // namespace weir::cli
