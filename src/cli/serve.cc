// serve: the HTTP service.
#include "service/serve.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "decision_log/settings.h"

namespace weir::cli {
namespace {

Result<void> read_decision_log(const Arguments& arguments, decision_log::DecisionLogOptions& into) {
  into.path = arguments.decision_log.value_or("");
  into.lines = arguments.decision_log_lines.value_or("");
  if (arguments.decision_log && arguments.decision_log->empty())
    return base::invalid("--decision-log: name a file, or leave it out");
  if (arguments.decision_log_mode) {
    const auto keeps = decision_log::parse_keeps("--decision-log-mode", *arguments.decision_log_mode);
    if (!keeps) return keeps.error();
    into.keeps = *keeps;
  }
  if (arguments.decision_log_size) {
    const auto bytes = decision_log::parse_size("--decision-log-size", *arguments.decision_log_size);
    if (!bytes) return bytes.error();
    into.most_bytes = *bytes;
  }
  if (arguments.decision_log_keep) {
    const auto time = read_duration("--decision-log-keep", *arguments.decision_log_keep);
    if (!time) return time.error();
    into.keep_for = *time;
  }
  return {};
}

}  // namespace

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
  if (auto read = read_decision_log(arguments, options.decisions); !read) return read.error();
  options.aggregate = arguments.aggregate;
  auto served = service::serve(options, session.out(), session.world().err);
  if (!served) return served.error();
  return done;
}

}  // namespace weir::cli
