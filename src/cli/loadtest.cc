// loadtest: how fast one's own service answers.
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/load_run.h"
#include "cli/progress.h"
#include "cli/read.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using base::invalid;
using base::join;

bool is_this_machine(std::string_view host) {
  const bool is_address = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "::1" || (is_address && host.starts_with("127."));
}

/// A load on somebody else's service is an attack, so one on another machine must be confirmed by its name.
Result<void> check_server(const Session& session, const Arguments& arguments) {
  const auto* const server = session.server();
  if (server == nullptr)
    return invalid(
        "a load test asks a service; say which with --server, such as --server http://127.0.0.1:8080");
  const std::string& host = server->host;
  if (is_this_machine(host) || arguments.confirm == host) return {};
  if (arguments.confirm) {
    return invalid("--confirm ", base::quoted(*arguments.confirm), " is not the host of --server, which is ",
                   base::quoted(host));
  }
  return invalid(base::quoted(host),
                 " is not this machine; if the service there is yours, and may be loaded, add "
                 "--confirm ",
                 host);
}

Result<LoadOptions> read_load_options(const Arguments& arguments) {
  LoadOptions options;
  if (arguments.concurrency) {
    const auto threads = read_number("--concurrency", *arguments.concurrency, 1, 256);
    if (!threads) return threads.error();
    options.concurrency = static_cast<unsigned>(*threads);
  }
  if (arguments.rate) {
    const auto rate = read_number("--rate", *arguments.rate, 1, 1'000'000);
    if (!rate) return rate.error();
    options.rate = static_cast<unsigned>(*rate);
  }
  if (arguments.requests && arguments.duration)
    return invalid("--requests and --duration both say when to end; say one");
  if (arguments.requests) {
    const auto requests = read_number("--requests", *arguments.requests, 1, 1'000'000'000);
    if (!requests) return requests.error();
    options.requests = static_cast<std::uint64_t>(*requests);
  }
  if (arguments.duration) {
    const auto duration = read_duration("--duration", *arguments.duration);
    if (!duration) return duration.error();
    if (*duration < std::chrono::milliseconds(1) || *duration > std::chrono::hours(1))
      return invalid("--duration must be from 1ms to 1h");
    options.duration = *duration;
  }
  return options;
}

std::string rounded(double number, int decimals) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals, number);
  return text;
}

std::string milliseconds_of(Latencies::Duration duration) {
  return rounded(static_cast<double>(duration.count()) / 1000, 3);
}

double per_second(const LoadReport& report) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(report.elapsed.count(), 1)) / 1e6;
  return static_cast<double>(report.answered() + report.failed) / seconds;
}

std::string report_json(const LoadReport& report, const LoadOptions& options) {
  const Latencies& took = report.latencies;
  auto latency = base::JsonWriter::object();
  latency.raw("mean", milliseconds_of(took.mean())).raw("p50", milliseconds_of(took.percentile(500)));
  latency.raw("p90", milliseconds_of(took.percentile(900))).raw("p99", milliseconds_of(took.percentile(990)));
  latency.raw("p99_9", milliseconds_of(took.percentile(999))).raw("max", milliseconds_of(took.longest()));
  auto steps = base::JsonWriter::array();
  for (const Latencies::Step& step : took.steps()) {
    steps.add(base::JsonWriter::object()
                  .raw("below_ms", milliseconds_of(step.below))
                  .raw("count", std::to_string(step.count))
                  .str());
  }
  auto failures = base::JsonWriter::object();
  for (const auto& [why, times] : report.failures) failures.raw(why, std::to_string(times));
  return base::JsonWriter::object()
      .raw("seconds", rounded(static_cast<double>(report.elapsed.count()) / 1e6, 3))
      .raw("per_second", rounded(per_second(report), 1))
      .raw("concurrency", std::to_string(options.concurrency))
      .raw("admitted", std::to_string(report.admitted))
      .raw("refused", std::to_string(report.refused))
      .raw("degraded", std::to_string(report.degraded))
      .raw("failed", std::to_string(report.failed))
      .raw("latency_ms", latency.str())
      .raw("steps", steps.str())
      .raw("failures", failures.str())
      .str();
}

void print_report(const Session& session, const LoadReport& report, const LoadOptions& options) {
  const Latencies& took = report.latencies;
  const auto counted = [](std::uint64_t number) { return number == 0 ? std::string() : count_text(number); };
  const auto percentile = [&](unsigned thousandths) { return latency_text(took.percentile(thousandths)); };
  session.print_fields(
      {{"requests", join(count_text(report.answered() + report.failed), " in ",
                         duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(report.elapsed)),
                         ", ", rounded(per_second(report), 0), " a second, ",
                         std::to_string(options.concurrency), " at a time")},
       {"admitted", count_text(report.admitted)},
       {"refused", counted(report.refused)},
       {"degraded", counted(report.degraded)},
       {"failed", counted(report.failed)},
       {"latency", took.count() == 0
                       ? std::string()
                       : join("p50 ", percentile(500), ", p90 ", percentile(900), ", p99 ", percentile(990),
                              ", p99.9 ", percentile(999), ", longest ", latency_text(took.longest()))}});
  session.out() << plot_of(took, charset_of(session.world().environment));
  for (const auto& [why, times] : report.failures)
    session.out() << session.style()(Tone::bad, join(count_text(times), " failed: ")) << printable(why)
                  << '\n';
}

}  // namespace

Result<ExitCode> loadtest(Session& session, const Arguments& arguments) {
  if (auto checked = check_server(session, arguments); !checked) return checked.error();
  const auto options = read_load_options(arguments);
  if (!options) return options.error();
  const auto consume = read_charges(arguments.consume);
  if (!consume) return consume.error();
  const auto limits = read_limits(arguments.limits);
  if (!limits) return limits.error();
  const client::Request request{.entity = *arguments.entity,
                                .resource = *arguments.resource,
                                .consume = *consume,
                                .limits = *limits,
                                .keyed = false};
  // One call first: a mistake in the names or the token would fail every one.
  const auto first = session.target().acquire(request, false);
  if (!first) return first.error();
  Progress progress(session.world(), "asking");
  const auto report = run_load(
      *options, request, [&] { return session.another_target(); },
      [&](unsigned percent) {
        progress.show(percent, 100);
        return session.world().wait(std::chrono::milliseconds(0));
      });
  progress.clear();
  session.json() ? session.print_json(report_json(report, *options))
                 : print_report(session, report, *options);
  return report.failed == 0 ? done : failure;
}

}  // namespace weir::cli
