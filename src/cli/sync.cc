// sync: shares limits between regions.
#include "cli/sync.h"

#include <algorithm>

#include "app/lambda.h"
#include "app/store_url.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "server/signals.h"
#include "telemetry/log.h"

namespace weir::cli {
namespace {

constexpr std::size_t largest_config = std::size_t{16} << 20U;

/// Counts since the program began.
struct Counts {
  std::uint64_t cycles = 0, failed_cycles = 0, written = 0, operator_owned = 0, skipped = 0, failed = 0,
                unreadable = 0;
  std::size_t owned_by_operators = 0;  ///< at the moment
  Time last = 0;
};

Result<sync::SyncFile> read_config(const Arguments& arguments) {
  if (!arguments.sync_config) return base::invalid("--config is missing; name the file of sync");
  auto text = base::read_file(*arguments.sync_config, largest_config);
  if (!text) return text.error();
  return sync::read_sync_file(*text, *arguments.sync_config);
}

std::string to_json(const sync::Write& write) {
  auto shares = base::JsonWriter::object();
  for (const auto& [name, share] : write.shares) shares.raw(name, Amount::milli(share).to_string());
  return base::JsonWriter::object()
      .text("entity", write.entity)
      .text("resource", write.resource)
      .raw("shares", shares.str())
      .number("expires_at_ms", write.until)
      .text("reason", sync::name_of(write.reason))
      .str();
}

void print_writes(Session& session, const std::vector<sync::Write>& writes) {
  if (session.json()) {
    JsonList list(session.out(), "writes");
    for (const sync::Write& write : writes) list.add(to_json(write));
    return list.end();
  }
  if (writes.empty()) {
    session.out() << "nothing to write\n";
    return;
  }
  TextTable table({{"ENTITY"}, {"RESOURCE"}, {"SHARE"}, {"REASON"}});
  for (const sync::Write& write : writes)
    table.add({{write.entity}, {write.resource}, {shares_of(write)}, {sync::name_of(write.reason)}});
  table.print(session.out(), session.style());
}

std::string metrics_text(const Counts& counts) {
  std::string text =
      "# HELP weir_sync_writes_total Limits that sync wanted to write, by what became of it.\n"
      "# TYPE weir_sync_writes_total counter\n";
  const auto line = [&](std::string_view name, std::uint64_t value) {
    text += base::join(name, " ", std::to_string(value), "\n");
  };
  line("weir_sync_writes_total{result=\"written\"}", counts.written);
  line("weir_sync_writes_total{result=\"operator_owned\"}", counts.operator_owned);
  line("weir_sync_writes_total{result=\"skipped\"}", counts.skipped);
  line("weir_sync_writes_total{result=\"failed\"}", counts.failed);
  line("weir_sync_writes_total{result=\"unreadable\"}", counts.unreadable);
  text +=
      "# HELP weir_sync_cycles_total Cycles of sync, by what became of them.\n# TYPE weir_sync_cycles_total "
      "counter\n";
  line("weir_sync_cycles_total{result=\"done\"}", counts.cycles);
  line("weir_sync_cycles_total{result=\"failed\"}", counts.failed_cycles);
  text +=
      "# HELP weir_sync_operator_owned Shared limits that operators own.\n# TYPE weir_sync_operator_owned "
      "gauge\n";
  line("weir_sync_operator_owned", counts.owned_by_operators);
  text +=
      "# HELP weir_sync_last_cycle_timestamp_seconds When the last cycle of sync ended.\n# TYPE "
      "weir_sync_last_cycle_timestamp_seconds gauge\n";
  line("weir_sync_last_cycle_timestamp_seconds", static_cast<std::uint64_t>(counts.last / 1000));
  return text;
}

/// Replaces the file as one step, since the collector may read it at any moment.
void write_metrics(const std::string& file, const Counts& counts, telemetry::Log& log) {
  if (auto written = base::replace_file(file, metrics_text(counts), 0644); !written)
    log.warning("metrics cannot be written", {{"error", written.error().message}});
}

/// One cycle, counted and logged.
Result<void> run_cycle(OpenedSync& opened, Counts& counts, telemetry::Log& log, Time now) {
  auto report = opened.runner->cycle();
  if (!report) {
    ++counts.failed_cycles;
    log.warning("the cycle failed", {{"error", report.error().message}});
    return report.error();
  }
  ++counts.cycles;
  counts.last = now;
  counts.written += report->written;
  counts.operator_owned += report->operator_owned;
  counts.skipped += report->skipped;
  counts.failed += report->failed;
  counts.unreadable += report->unreadable.size();
  counts.owned_by_operators = 0;
  for (const auto& status : opened.runner->region().status())
    counts.owned_by_operators += status.operator_owned ? 1 : 0;
  for (const std::string& problem : problems_to_show(*report)) log.warning("sync", {{"problem", problem}});
  log.info("cycle", {{"entries", std::to_string(report->entries), true},
                     {"written", std::to_string(report->written), true},
                     {"operator_owned", std::to_string(report->operator_owned), true},
                     {"failed", std::to_string(report->failed), true},
                     {"unreadable", std::to_string(report->unreadable.size()), true}});
  return {};
}

Result<ExitCode> run_cycles(Session& session, const Arguments& arguments, telemetry::Log& log) {
  // Before any thread starts, so that all threads inherit the blocked signals.
  const server::Signals signals;
  auto opened = open_sync(session, arguments);
  if (!opened) return opened.error();
  const sync::Settings& settings = opened->file.settings;
  Counts counts;
  log.info("weir syncs",
           {{"region", settings.region}, {"exchange", app::without_password(opened->file.exchange)}});
  for (;;) {
    const Time begun = session.world().clock.now();
    auto ran = run_cycle(*opened, counts, log, begun);
    if (arguments.metrics_file) write_metrics(*arguments.metrics_file, counts, log);
    if (arguments.once) {
      if (!ran) return ran.error();
      return done;
    }
    // Every region begins its cycles at its own moment, so that they do not all read the exchange at once.
    const Time left = std::max<Time>(begun + settings.window - session.world().clock.now(), 0);
    const int signal = signals.wait_for(std::chrono::milliseconds(left));
    if (signal == SIGINT || signal == SIGTERM) break;
  }
  log.info("weir ends");
  return done;
}

}  // namespace

Result<OpenedSync> open_sync(Session& session, const Arguments& arguments) {
  auto file = read_config(arguments);
  if (!file) return file.error();
  OpenedSync opened{.file = *std::move(file)};
  const auto store = said(arguments.common.store, session.world(), "WEIR_STORE");
  const std::string url = store ? *store : opened.file.store.value_or("");
  if (url.empty())
    return base::invalid("no store is named; write `store:` in the file, or use --store or WEIR_STORE");
  if (opened.file.name_space && !session.namespace_was_said())
    session.choose_namespace(*opened.file.name_space);
  auto limiter = session.world().open(url, session.options());
  if (!limiter) return limiter.error();
  opened.limiter = *std::move(limiter);
  auto exchange = sync::open_exchange(opened.file.exchange);
  if (!exchange) return exchange.error();
  opened.exchange = *std::move(exchange);
  opened.runner = std::make_unique<sync::Runner>(
      *opened.limiter, *opened.exchange, opened.file.settings, opened.file.scopes, session.world().clock,
      sync::Runner::Options{.dry = arguments.dry_run || arguments.action == "status"});
  return opened;
}

std::vector<std::string> problems_to_show(const sync::CycleReport& report) {
  constexpr std::size_t most = 20;
  std::vector<std::string> shown = report.problems;
  if (shown.size() <= most) return shown;
  shown.resize(most);
  shown.push_back(base::join("and ", std::to_string(report.problems.size() - most), " more problems"));
  return shown;
}

std::string shares_of(const sync::Write& write) {
  std::string text;
  for (const auto& [name, share] : write.shares)
    text += base::join(text.empty() ? "" : " ", name, "=", Amount::milli(share).to_string());
  return text;
}

Result<ExitCode> sync(Session& session, const Arguments& arguments) {
  if (arguments.action && *arguments.action != "status" && *arguments.action != "simulate")
    return base::invalid(base::quoted(*arguments.action), " is no action of sync; use status or simulate");
  if (arguments.action == "simulate") return simulate_sync(session, arguments);
  if (arguments.action == "status") return show_sync_status(session, arguments);
  if (arguments.dry_run) {
    auto opened = open_sync(session, arguments);
    if (!opened) return opened.error();
    const auto report = opened->runner->cycle();
    if (!report) return report.error();
    for (const std::string& problem : problems_to_show(*report)) session.warn(problem);
    print_writes(session, report->writes);
    return done;
  }
  telemetry::LogOptions log_options;
  if (auto read = read_log_options(arguments, log_options); !read) return read.error();
  telemetry::Log log(session.world().err, session.world().clock, log_options);
  if (const auto runtime_api = session.world().environment("AWS_LAMBDA_RUNTIME_API")) {
    // One cycle for each event of a schedule.
    Counts counts;
    const auto report = [&log](const std::string& message) { log.warning("sync", {{"problem", message}}); };
    auto ran = app::serve_lambda({*runtime_api, report}, [&]() -> Result<app::LambdaHandler> {
      auto opened = open_sync(session, arguments);
      if (!opened) return opened.error();
      auto kept = std::make_shared<OpenedSync>(*std::move(opened));
      return app::LambdaHandler([kept, &counts, &log, &session](const std::string&) -> Result<std::string> {
        if (auto cycle = run_cycle(*kept, counts, log, session.now()); !cycle) return cycle.error();
        return base::JsonWriter::object().number("written", static_cast<long long>(counts.written)).str();
      });
    });
    if (!ran) return ran.error();
    return done;
  }
  return run_cycles(session, arguments, log);
}

}  // namespace weir::cli
