#include "service/serve.h"

#include <ostream>

#include "app/aggregate.h"
#include "app/check_store.h"
#include "app/open_store.h"
#include "app/store_url.h"
#include "base/text.h"
#include "limiter/lease_id.h"
#include "net/server.h"
#include "server/notify.h"
#include "server/signals.h"
#include "server/start.h"
#include "service/service.h"
#include "wire/url.h"

namespace weir::service {
namespace {

using base::invalid;
using base::join;

constexpr std::chrono::seconds looks_at_warnings_apart{2};

Result<wire::HostPort> parse_listen(const std::string& text) {
  auto at = wire::parse_host_port(text);
  if (!at) {
    return invalid("--listen ", base::quoted(text),
                   ": write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080");
  }
  if (at->host == "localhost") at->host = "127.0.0.1";
  return at;
}

/// Requires options that server_options() takes.
bool is_beyond_loopback(const net::ServerOptions& listen) {
  const auto address = net::Address::parse(listen.listen.front().address, 0);
  return !address || !server::is_loopback(*address);
}

Result<net::ServerOptions> server_options(const ServeOptions& options) {
  auto at = parse_listen(options.listen);
  if (!at) return at.error();
  if (options.tls_cert.empty() != options.tls_key.empty())
    return invalid("--tls-cert and --tls-key belong together; give both or none");
  auto address = net::Address::parse(at->host, at->port);
  if (!address) return address.error();
  if (!server::is_loopback(*address) && options.tokens.empty() && !options.insecure) {
    return invalid("--listen ", options.listen,
                   " can be reached from other machines and no tokens are asked for; give --tokens FILE, or "
                   "--insecure if you mean it");
  }
  net::ServerOptions server;
  server.listen.push_back({at->host, at->port, !options.tls_cert.empty()});
  server.threads = options.threads;
  // Decisions do not depend on each other, and answers stay in order.
  server.max_pipelined = 64;
  // A path may hold the id of a lease on a long chain.
  server.limits.start_line = limiter::max_lease_id + 1024;
  if (!options.tls_cert.empty()) server.tls = net::TlsFiles{options.tls_cert, options.tls_key};
  return server;
}

/// Logs the result of a reload.
template <class T>
void tell(telemetry::Log& log, const Result<T>& result, std::string_view done, std::string_view kept) {
  if (result) {
    log.info(done);
  } else {
    log.warning(kept, {{"error", result.error().message}});
  }
}

void reload(const ServeOptions& options, Service& service, net::Server& server, telemetry::AccessLog* access,
            server::DecisionLog* decisions, telemetry::Log& log) {
  if (!options.tokens.empty()) {
    auto tokens = read_tokens(options.tokens, "--tokens");
    if (tokens) service.set_tokens(*tokens);
    tell(log, tokens, "read the tokens again", "the old tokens stay");
  }
  if (!options.tls_cert.empty()) {
    tell(log, server.reload_tls({options.tls_cert, options.tls_key}), "read the certificate again",
         "the old certificate stays");
  }
  if (access != nullptr)
    tell(log, access->reopen(), "opened the access log again", "the old access log stays");
  if (decisions != nullptr && !options.decisions.lines.empty())
    tell(log, decisions->reopen_lines(), "opened the lines of decisions again",
         "the old lines of decisions stay");
}

void greet(const ServeOptions& options, const std::string& url, std::ostream& out) {
  const std::string authorization = options.tokens.empty() ? "" : " -H 'Authorization: Bearer TOKEN'";
  out << "weir listens on " << url << ", store " << app::without_password(options.store) << "\n\n"
      << "Try it: three requests a minute, and the fourth is told to wait.\n\n"
      << "  curl " << url << "/v1/limits/system -X PUT" << authorization
      << " -d '{\"limits\":{\"rpm\":\"3/min\"}}'\n"
      << "  curl -i " << url << "/v1/acquire" << authorization
      << " -d '{\"entity\":\"key-1\",\"resource\":\"gpt-4\",\"consume\":{\"rpm\":1}}'\n"
      << std::endl;
}

void add_metrics(telemetry::Metrics& metrics, const store::Aggregation& aggregation) {
  metrics.add_counters([&aggregation] { return store::counters_of(aggregation.state()); });
  metrics.add_gauge("weir_usage_lag_seconds",
                    "How long ago the oldest change of a bucket was made that is not counted as usage yet.",
                    [&aggregation] { return static_cast<double>(aggregation.state().lag) / 1000; });
}

/// A port in use is the most likely error on a new machine.
Error with_hint(Error error) {
  if (error.message.starts_with("cannot listen on "))
    error.message += "; --listen HOST:PORT chooses another place";
  return error;
}

}  // namespace

Result<void> serve(const ServeOptions& options, std::ostream& out, std::ostream& log_out) {
  auto listen = server_options(options);
  if (!listen) return listen.error();
  auto tokens = read_tokens(options.tokens, "--tokens");
  if (!tokens) return tokens.error();
  // Before any thread starts, so that all threads inherit the blocked signals.
  const server::Signals signals;
  const server::Notifier manager(server::Notifier::take_address());
  limiter::Foundation foundation;
  foundation.clock = std::make_shared<SystemClock>();
  foundation.entropy = std::make_shared<base::SystemEntropy>();
  telemetry::Log log(log_out, *foundation.clock, options.log);
  auto opened = server::open_access_log(options.access_log, options.log.format);
  if (!opened) return opened.error();
  const std::unique_ptr<telemetry::AccessLog> access = *std::move(opened);
  // The store may be unavailable at the start: on_unavailable applies until it is back.
  auto store =
      app::open_store(options.store, {.must_be_reachable = false}, foundation.clock, *foundation.entropy);
  if (!store) return store.error();
  foundation.store = *store;
  auto kept = server::open_decision_log(options.decisions, options.store, *foundation.clock,
                                        *foundation.entropy, log);
  if (!kept) return kept.error();
  const std::unique_ptr<server::DecisionLog> decisions = *std::move(kept);
  std::unique_ptr<store::Aggregation> aggregation;
  if (options.aggregate) {
    const auto report = [&log](const std::string& message) { log.warning("usage", {{"problem", message}}); };
    auto counting = app::aggregate(options.store, {.must_be_reachable = false, .report = report});
    if (!counting) return counting.error();
    aggregation = *std::move(counting);
  }
  std::size_t logged = 0;
  telemetry::warn_of_new(log, foundation.store->warnings(), logged);
  Service service(foundation, {.on_unavailable = options.on_unavailable,
                               .store = server::kind_of(options.store),
                               .log = &log,
                               .access_log = access.get(),
                               .decisions = decisions.get(),
                               .check_store =
                                   [&options](const std::string& name_space) {
                                     return app::check_namespace(options.store, {}, name_space);
                                   },
                               .aggregation = aggregation.get(),
                               .beyond_loopback = is_beyond_loopback(*listen)});
  service.set_tokens(*tokens);
  const unsigned threads = listen->threads;
  auto server = net::Server::start(*std::move(listen), service);
  if (!server) return with_hint(server.error());
  const std::string url = server::url_of(**server, !options.tls_cert.empty());
  server::add_metrics(*service.metrics(), **server, access.get());
  if (decisions) server::add_metrics(*service.metrics(), *decisions);
  if (aggregation) add_metrics(*service.metrics(), *aggregation);
  foundation.store->announce(join("which serves it at ", url, " (weir --server ", url, " reaches it)"));
  foundation.store->observe_commits([metrics = service.metrics()](std::chrono::nanoseconds took) {
    metrics->store_took(telemetry::StoreOp::commit, took);
  });
  greet(options, url, out);
  log.info("weir listens", {{"url", url},
                            {"store", server::kind_of(options.store)},
                            {"threads", std::to_string(threads), true},
                            // By which operators find the process of a decision.
                            {"decision_log", decisions ? decisions->id() : "off"}});
  if (decisions) decisions->set_place(url);
  const std::string status = join("listens on ", url);
  manager.ready(status);
  std::string trouble;
  for (int signal = 0; signal == 0 || signal == SIGHUP;) {
    signal = signals.wait_for(looks_at_warnings_apart);
    telemetry::warn_of_new(log, foundation.store->warnings(), logged);
    if (decisions) server::warn_of_trouble(*decisions, log, trouble);
    if (signal != SIGHUP) continue;
    server::tell_of_reload(manager, status,
                           [&] { reload(options, service, **server, access.get(), decisions.get(), log); });
  }
  service.set_ready(false);
  service.stop_waiting();
  server::drain(**server, options.drain, log, manager);
  if (aggregation) aggregation->stop(options.drain);
  log.info("weir ends");
  return {};
}

}  // namespace weir::service
