#include "gateway/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "app/open_store.h"
#include "app/store_url.h"
#include "base/file.h"
#include "base/text.h"
#include "gateway/gateway.h"
#include "limiter/lease_id.h"
#include "net/server.h"
#include "net/tls.h"
#include "server/decisions.h"
#include "server/notify.h"
#include "server/signals.h"
#include "server/start.h"
#include "store/store.h"

namespace weir::gateway {
namespace {

using base::join;
using std::chrono::milliseconds;

constexpr milliseconds longest_lookup{2'000};
constexpr milliseconds lookups_apart{30'000};
constexpr milliseconds openings_apart{1'000};

/// Three of four descriptors are for clients: most client connections are idle and need none to an upstream.
unsigned most_connections() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 1024;
  const rlimit all{files.rlim_max, files.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &all) == 0) files = all;
  constexpr rlim_t most = 100'000;
  constexpr rlim_t others = 64;
  const rlim_t usable = files.rlim_cur > 2 * others ? files.rlim_cur - others : others;
  return static_cast<unsigned>(std::min(usable / 4 * 3, most));
}

net::ServerOptions server_options(const GatewaySettings& settings) {
  net::ServerOptions server;
  const bool tls = !settings.tls.cert.empty();
  server.listen.push_back({settings.listen.host, settings.listen.port, tls});
  server.threads = settings.threads.value_or(1);
  server.max_connections = most_connections();
  server.max_connections_per_address =
      settings.max_connections_per_address.value_or(std::max(1U, server.max_connections / 4));
  // All clients of a proxy come from its address.
  server.many_from = [trusted = settings.trusted_proxies](const net::Address& peer) {
    return trusted.have(plain(peer));
  };
  if (tls) server.tls = net::TlsFiles{settings.tls.cert, settings.tls.key};
  return server;
}

std::string store_of(const GatewaySettings& settings, const std::optional<std::string>& given) {
  return given.value_or(settings.store.value_or("sqlite:weir.db"));
}

milliseconds monotonic_now_ms() {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

/// Everything that lives as long as the program.
class GatewayProcess {
 public:
  GatewayProcess(const RunOptions& options, GatewaySettings settings, std::ostream& log_out)
      : options_(options),
        settings_(std::move(settings)),
        clock_(std::make_shared<SystemClock>()),
        entropy_(std::make_shared<base::SystemEntropy>()),
        log_(log_out, *clock_, options.log),
        store_url_(store_of(settings_, options.store)) {}

  Result<void> start();
  /// Serves until a signal stops it.
  void serve(const server::Signals& signals, const server::Notifier& manager);
  void stop(const server::Notifier& manager);
  std::string url() const { return server::url_of(*server_, !settings_.tls.cert.empty()); }
  std::string admin_url() const { return admin_server_ ? server::url_of(*admin_server_, false) : ""; }
  bool has_api() const { return admin_ && admin_->api() != nullptr; }
  const std::string& store_url() const { return store_url_; }

 private:
  Result<void> open_store();
  Result<void> listen();
  void prepare_admin();
  Result<void> open_api();
  /// Tells processes that want the store's file what holds it.
  void announce() const;
  void look_up(const Routing& routing);
  void reload();
  void warn_of_restart(const GatewaySettings& now);

  const RunOptions& options_;
  GatewaySettings settings_;
  const std::shared_ptr<SystemClock> clock_;
  const std::shared_ptr<base::SystemEntropy> entropy_;
  telemetry::Log log_;
  const std::string store_url_;
  std::unique_ptr<telemetry::AccessLog> access_;
  std::unique_ptr<server::DecisionLog> decisions_;
  std::string decisions_trouble_;
  std::shared_ptr<store::Store> store_;
  std::size_t warnings_told_ = 0;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<net::Server> admin_server_;
  milliseconds looked_up_{0};
};

Result<void> GatewayProcess::start() {
  auto access = server::open_access_log(settings_.access_log, options_.log.format);
  if (!access) return access.error();
  access_ = *std::move(access);
  auto decisions = server::open_decision_log(settings_.decisions, store_url_, *clock_, *entropy_, log_);
  if (!decisions) return decisions.error();
  decisions_ = *std::move(decisions);
  gateway_ = std::make_unique<Gateway>(
      GatewayOptions{.name_space = options_.name_space.value_or(settings_.name_space.value_or("default")),
                     .store = server::kind_of(store_url_),
                     .bucket_ttl_refill_multiplier = settings_.bucket_ttl_refill_multiplier,
                     .new_clients = settings_.new_clients,
                     .clock = clock_,
                     .entropy = entropy_,
                     .log = &log_,
                     .access_log = access_.get(),
                     .decisions = decisions_.get()});
  auto routing = Routing::make(settings_, nullptr);
  if (!routing) return routing.error();
  look_up(**routing);
  gateway_->set_routing(*routing);
  prepare_admin();
  if (auto opened = open_store(); !opened) {
    if (opened.error().code != ErrorCode::unavailable) return opened.error();
    log_.warning(
        "the store is unavailable; until it is back, requests pass or are denied as on_unavailable says",
        {{"store", server::kind_of(store_url_)}, {"error", opened.error().message}});
  }
  return listen();
}

Result<void> GatewayProcess::open_store() {
  // A gateway makes no rollbacks, so an exhausted bucket stays exhausted until it refills.
  const app::StoreDefaults defaults{.refuse_for = milliseconds(100)};
  auto store = app::open_store(store_url_, {}, clock_, *entropy_, defaults);
  if (!store) return store.error();
  store_ = *std::move(store);
  gateway_->set_store(store_);
  telemetry::warn_of_new(log_, store_->warnings(), warnings_told_);
  if (auto opened = open_api(); !opened) return opened.error();
  announce();
  return {};
}

/// Every client that can connect may read health and metrics.
void GatewayProcess::prepare_admin() {
  if (!settings_.admin_listen) return;
  admin_ = std::make_unique<Admin>(*gateway_);
  if (may_serve_api(settings_) && settings_.admin_tokens.empty()) admin_->serve_decisions();
}

/// Other processes can change the limits of a store elsewhere; those of a store in this process only this
/// one.
Result<void> GatewayProcess::open_api() {
  if (!admin_ || !may_serve_api(settings_) || !options_.make_api || store_->is_elsewhere()) return {};
  auto api = options_.make_api({.foundation = {clock_, entropy_, store_},
                                .store = store_url_,
                                .name_space = gateway_->options().name_space,
                                .tokens = settings_.admin_tokens,
                                .log = &log_,
                                .decisions = decisions_.get()});
  if (!api) return api.error();
  admin_->set_api(*std::move(api));
  return {};
}

void GatewayProcess::announce() const {
  if (!store_ || !server_) return;
  const std::string advice =
      has_api() && admin_server_
          ? join(", which serves its API at ", admin_url(), " (weir --server ", admin_url(), " reaches it)")
          : ", which serves no API (set admin_listen in its file, and limits can be changed there)";
  store_->announce(join("a gateway at ", url(), advice));
}

Result<void> GatewayProcess::listen() {
  const auto with_hint = [](Error error, std::string_view field) {
    if (error.message.starts_with("cannot listen on "))
      error.message += join("; change ", field, " in the file");
    return error;
  };
  auto server = net::Server::start(server_options(settings_), *gateway_);
  if (!server) return with_hint(server.error(), "listen");
  server_ = *std::move(server);
  if (admin_) {
    net::ServerOptions options;
    options.listen.push_back({settings_.admin_listen->host, settings_.admin_listen->port, false});
    options.max_connections = 256;
    // A path may hold the id of a lease on a long chain.
    options.limits.start_line = limiter::max_lease_id + 1024;
    auto admin = net::Server::start(options, *admin_);
    if (!admin) return with_hint(admin.error(), "admin_listen");
    admin_server_ = *std::move(admin);
  }
  server::add_metrics(gateway_->metrics(), *server_, access_.get());
  if (decisions_) {
    server::add_metrics(gateway_->metrics(), *decisions_);
    decisions_->set_place(admin_url());
    // By which operators find the process of a decision.
    log_.info("decisions are kept", {{"decision_log", decisions_->id()}});
  }
  announce();
  return {};
}

void GatewayProcess::look_up(const Routing& routing) {
  routing.look_up(longest_lookup, [this](const UpstreamUrl& url, const std::string& why) {
    log_.warning("the name of an upstream leads nowhere", {{"upstream", url.text()}, {"error", why}});
  });
  looked_up_ = monotonic_now_ms();
}

void GatewayProcess::serve(const server::Signals& signals, const server::Notifier& manager) {
  const std::string status = join("listens on ", url());
  manager.ready(status);
  while (true) {
    const bool waits_for_store = gateway_->decider() == nullptr;
    const int signal = signals.wait_for(waits_for_store ? openings_apart : lookups_apart);
    if (signal == SIGINT || signal == SIGTERM) return;
    if (signal == SIGHUP) server::tell_of_reload(manager, status, [this] { reload(); });
    if (store_) telemetry::warn_of_new(log_, store_->warnings(), warnings_told_);
    if (decisions_) server::warn_of_trouble(*decisions_, log_, decisions_trouble_);
    if (waits_for_store && open_store()) log_.warning("the store is back");
    if (monotonic_now_ms() - looked_up_ >= lookups_apart) look_up(*gateway_->routing());
  }
}

void GatewayProcess::reload() {
  const auto kept = [this](const Error& error) {
    log_.warning("the gateway's file is not used, the old one stays", {{"error", error.message}});
  };
  auto settings = check(options_.config, options_.store);
  if (!settings) return kept(settings.error());
  const auto before = gateway_->routing();
  auto routing = Routing::make(*settings, before.get());
  if (!routing) return kept(routing.error());
  if (!settings_.tls.cert.empty() && !settings->tls.cert.empty()) {
    if (auto loaded = server_->reload_tls({settings->tls.cert, settings->tls.key}); !loaded)
      return kept(loaded.error());
  }
  look_up(**routing);
  gateway_->set_routing(*routing);
  warn_of_restart(*settings);
  if (AdminApi* const api = admin_ ? admin_->api() : nullptr) {
    if (auto loaded = api->reload(); !loaded)
      log_.warning("the old tokens stay", {{"error", loaded.error().message}});
  }
  if (access_) {
    if (auto opened = access_->reopen(); !opened)
      log_.warning("the old access log stays", {{"error", opened.error().message}});
  }
  if (decisions_) {
    if (auto opened = decisions_->reopen_lines(); !opened)
      log_.warning("the old lines of decisions stay", {{"error", opened.error().message}});
  }
  log_.info("read the gateway's file again", {{"routes", std::to_string(settings->routes.size()), true}});
}

/// Warns of changed settings that need a restart.
void GatewayProcess::warn_of_restart(const GatewaySettings& now) {
  const auto warn = [this](bool changed, std::string_view what) {
    if (changed) log_.warning("a change in the gateway's file needs a restart", {{"field", what}});
  };
  warn(now.listen != settings_.listen, "listen");
  warn(now.admin_listen != settings_.admin_listen, "admin_listen");
  warn(now.admin_tokens != settings_.admin_tokens, "admin_tokens");
  warn(now.tls.cert.empty() != settings_.tls.cert.empty(), "tls");
  warn(now.store != settings_.store, "store");
  warn(now.name_space != settings_.name_space, "namespace");
  warn(now.threads != settings_.threads, "threads");
  warn(now.bucket_ttl_refill_multiplier != settings_.bucket_ttl_refill_multiplier,
       "bucket_ttl_refill_multiplier");
  warn(now.access_log != settings_.access_log, "access_log");
  warn(now.decisions.keeps != settings_.decisions.keeps || now.decisions.path != settings_.decisions.path ||
           now.decisions.most_bytes != settings_.decisions.most_bytes ||
           now.decisions.keep_for != settings_.decisions.keep_for ||
           now.decisions.lines != settings_.decisions.lines,
       "decision_log");
}

void GatewayProcess::stop(const server::Notifier& manager) {
  if (admin_) admin_->set_ready(false);
  if (AdminApi* const api = admin_ ? admin_->api() : nullptr) api->stop();
  server::drain(*server_, options_.drain, log_, manager);
  admin_server_.reset();
  log_.info("weir ends");
}

}  // namespace

Result<void> check_admin(const GatewaySettings& settings, const std::string& store) {
  const std::string kind = server::kind_of(store);
  const bool has_api = kind == "memory" || kind == "sqlite";
  if (!has_api || !settings.admin_listen || may_serve_api(settings)) return {};
  return base::invalid(
      "admin_listen ", settings.admin_listen->to_string(),
      " can be reached from other machines and no tokens are asked for; set admin_tokens: FILE, "
      "or let it be an address of this machine alone, such as 127.0.0.1:8001");
}

Result<GatewaySettings> check(const std::string& config, const std::optional<std::string>& store) {
  auto text = base::read_file(config);
  if (!text) return text.error();
  auto settings = read_gateway_file(*text, config);
  if (!settings) return settings.error();
  if (settings->store) {
    if (auto url = app::check_store_url(*settings->store); !url)
      return base::invalid(config, ": store: ", url.error().message);
  }
  if (auto admin = check_admin(*settings, store_of(*settings, store)); !admin)
    return base::invalid(config, ": ", admin.error().message);
  if (!settings->tls.cert.empty()) {
    if (auto tls = net::load_server_tls({settings->tls.cert, settings->tls.key}); !tls) return tls.error();
  }
  for (RouteSettings& route : settings->routes) {
    if (!route.llm) continue;
    const auto variable = [](const std::string& name) -> std::optional<std::string> {
      const char* const value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nothing sets it
      return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    };
    if (auto loaded = load_llm_files(*route.llm, variable); !loaded)
      return base::invalid(config, ": route ", base::quoted(route.name), ": ", loaded.error().message);
  }
  if (auto routing = Routing::make(*settings, nullptr); !routing) return routing.error();
  return settings;
}

bool may_serve_api(const GatewaySettings& settings) {
  if (!settings.admin_listen) return false;
  if (!settings.admin_tokens.empty()) return true;
  const auto address = net::Address::parse(settings.admin_listen->host, settings.admin_listen->port);
  return address && server::is_loopback(*address);
}

Result<void> run(const RunOptions& options, std::ostream& out, std::ostream& log) {
  auto settings = check(options.config, options.store);
  if (!settings) return settings.error();
  // Before any thread starts, so that all threads inherit the blocked signals.
  const server::Signals signals;
  const server::Notifier manager(server::Notifier::take_address());
  GatewayProcess process(options, *std::move(settings), log);
  if (auto started = process.start(); !started) return started.error();
  out << "weir gateway listens on " << process.url() << ", store " << server::kind_of(process.store_url());
  if (!process.admin_url().empty())
    out << (process.has_api() ? "; health, metrics and API on " : "; health and metrics on ")
        << process.admin_url();
  out << std::endl;
  process.serve(signals, manager);
  process.stop(manager);
  return {};
}

}  // namespace weir::gateway
