// aggregate: counts usage from a stream.
#include "app/aggregate.h"

#include "app/lambda.h"
#include "app/store_url.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "server/signals.h"
#include "telemetry/log.h"

namespace weir::cli {
namespace {

constexpr std::chrono::seconds between_looks{1};
/// A line of progress, where anything was counted, after this many looks.
constexpr int looks_until_report = 60;
constexpr std::chrono::seconds patience{30};

void tell(telemetry::Log& log, const store::AggregationState& state) {
  log.info("usage", {{"events", std::to_string(state.events), true},
                     {"writes", std::to_string(state.writes), true},
                     {"shards", std::to_string(state.shards), true},
                     {"lag_ms", std::to_string(state.lag), true}});
}

}  // namespace

Result<ExitCode> aggregate(Session& session, const Arguments& arguments) {
  app::AggregateOptions options;
  if (arguments.batch) {
    const auto batch = read_duration("--batch", *arguments.batch);
    if (!batch) return batch.error();
    if (batch->count() < 1 || *batch > std::chrono::minutes(5))
      return base::invalid("--batch: use 1ms to 5min");
    options.batch = *batch;
  }
  telemetry::LogOptions log_options;
  if (auto read = read_log_options(arguments, log_options); !read) return read.error();
  telemetry::Log log(session.world().err, session.world().clock, log_options);
  options.report = [&log](const std::string& message) { log.warning("usage", {{"problem", message}}); };
  // On AWS Lambda, which reads the stream itself.
  if (const auto runtime_api = session.world().environment("AWS_LAMBDA_RUNTIME_API")) {
    auto ran = app::run_lambda(session.store(), {*runtime_api, options.report});
    if (!ran) return ran.error();
    return done;
  }
  // Before any thread starts, so that all threads inherit the blocked signals.
  const server::Signals signals;
  auto counting = app::aggregate(session.store(), options);
  if (!counting) return counting.error();
  log.info("weir counts usage", {{"store", app::without_password(session.store())}});
  store::AggregationState last_report;
  for (int looks = 0;; ++looks) {
    const int signal = signals.wait_for(between_looks);
    if (signal == SIGINT || signal == SIGTERM) break;
    const store::AggregationState state = (*counting)->state();
    if (state.trouble != last_report.trouble && !state.trouble.empty())
      log.warning("usage is not counted", {{"error", state.trouble}});
    last_report.trouble = state.trouble;
    if (looks % looks_until_report != 0 || state.events == last_report.events) continue;
    tell(log, state);
    last_report = state;
  }
  (*counting)->stop(patience);
  tell(log, (*counting)->state());
  log.info("weir ends");
  return done;
}

}  // namespace weir::cli
