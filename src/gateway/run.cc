#include "gateway/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <ostream>
#include <sstream>

#include "app/open_store.h"
#include "app/url.h"
#include "base/text.h"
#include "gateway/admin.h"
#include "gateway/gateway.h"
#include "net/server.h"
#include "net/tls.h"
#include "service/notify.h"
#include "service/signals.h"

namespace weir::gateway {
namespace {

using base::join;
using std::chrono::milliseconds;

constexpr milliseconds longest_lookup{2'000};
constexpr milliseconds lookups_apart{30'000};
constexpr milliseconds openings_apart{1'000};

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return base::invalid(path, " cannot be read");
  return std::move(text).str();
}

/// "redis"; not the rest of the URL, which may hold a password.
std::string kind_of(const std::string& store) { return store.substr(0, store.find(':')); }

/// Three of four descriptors are for clients: most of those who are connected wait, and need none to an
/// upstream.
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
  if (tls) server.tls = net::TlsFiles{settings.tls.cert, settings.tls.key};
  return server;
}

/// Whether some requests may pass while there is no store.
bool any_may_pass(const GatewaySettings& settings) {
  const OnUnavailable otherwise = settings.on_unavailable.value_or(OnUnavailable::allow);
  return std::any_of(settings.routes.begin(), settings.routes.end(), [&](const RouteSettings& route) {
    return route.on_unavailable.value_or(otherwise) == OnUnavailable::allow;
  });
}

milliseconds monotonic_now_ms() {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

/// Everything that lives as long as the program.
class Running {
 public:
  Running(const RunOptions& options, GatewaySettings settings, std::ostream& log_out)
      : options_(options),
        settings_(std::move(settings)),
        clock_(std::make_shared<SystemClock>()),
        entropy_(std::make_shared<base::SystemEntropy>()),
        log_(log_out, *clock_, options.log),
        store_url_(options.store.value_or(settings_.store.value_or("sqlite:weir.db"))) {}

  Result<void> start();
  /// Serves until it is told to stop.
  void serve(const service::Signals& signals, const service::Notifier& manager);
  void stop(const service::Notifier& manager);
  std::string url() const {
    return join(settings_.tls.cert.empty() ? "http://" : "https://",
                server_->addresses().front().to_string());
  }
  std::string admin_url() const {
    return admin_server_ ? join("http://", admin_server_->addresses().front().to_string()) : "";
  }
  const std::string& store_url() const { return store_url_; }

 private:
  Result<void> open_store();
  Result<void> listen();
  void look_up(const Routing& routing);
  void reload();
  void warn_of_restart(const GatewaySettings& now);
  void add_metrics();

  const RunOptions& options_;
  GatewaySettings settings_;
  const std::shared_ptr<SystemClock> clock_;
  const std::shared_ptr<base::SystemEntropy> entropy_;
  telemetry::Log log_;
  const std::string store_url_;
  std::unique_ptr<telemetry::AccessLog> access_;
  std::shared_ptr<store::Store> store_;
  std::size_t warnings_told_ = 0;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<net::Server> admin_server_;
  milliseconds looked_up_{0};
};

Result<void> Running::start() {
  if (!settings_.access_log.empty()) {
    auto opened = telemetry::AccessLog::open(settings_.access_log, {.format = options_.log.format});
    if (!opened) return opened.error();
    access_ = *std::move(opened);
  }
  gateway_ = std::make_unique<Gateway>(
      GatewayOptions{.name_space = options_.name_space.value_or(settings_.name_space.value_or("default")),
                     .store = kind_of(store_url_),
                     .bucket_ttl_refill_multiplier = settings_.bucket_ttl_refill_multiplier,
                     .clock = clock_,
                     .entropy = entropy_,
                     .log = &log_,
                     .access_log = access_.get()});
  auto routing = Routing::make(settings_, nullptr);
  if (!routing) return routing.error();
  look_up(**routing);
  gateway_->set_routing(*routing);
  if (auto opened = open_store(); !opened) {
    if (opened.error().code != ErrorCode::unavailable || !any_may_pass(settings_)) return opened.error();
    log_.warning("the store is away; what may pass without it does",
                 {{"store", kind_of(store_url_)}, {"error", opened.error().message}});
  }
  return listen();
}

Result<void> Running::open_store() {
  // A gateway gives nothing back, so a bucket that is found too empty stays so until it refills.
  const app::StoreDefaults defaults{.refuse_for = milliseconds(100)};
  auto store = app::open_store(store_url_, {}, clock_, *entropy_, defaults);
  if (!store) return store.error();
  store_ = *std::move(store);
  gateway_->set_store(store_);
  telemetry::warn_of_new(log_, store_->warnings(), warnings_told_);
  return {};
}

Result<void> Running::listen() {
  auto server = net::Server::start(server_options(settings_), *gateway_);
  if (!server) return server.error();
  server_ = *std::move(server);
  if (settings_.admin_listen) {
    admin_ = std::make_unique<Admin>(*gateway_);
    net::ServerOptions options;
    options.listen.push_back({settings_.admin_listen->host, settings_.admin_listen->port, false});
    options.max_connections = 256;
    auto admin = net::Server::start(options, *admin_);
    if (!admin) return admin.error();
    admin_server_ = *std::move(admin);
  }
  add_metrics();
  return {};
}

/// Who scrapes is answered while the server is there.
void Running::add_metrics() {
  telemetry::Metrics& metrics = gateway_->metrics();
  metrics.add_gauge("weir_http_connections", "Connections that are open.",
                    [this] { return static_cast<double>(server_->status().open_connections); });
  metrics.add_counter("weir_http_connections_accepted_total", "Connections that were accepted.",
                      [this] { return static_cast<double>(server_->status().accepted); });
  metrics.add_counter("weir_http_connections_refused_total",
                      "Connections that were refused because too many were open.",
                      [this] { return static_cast<double>(server_->status().refused); });
  if (!access_) return;
  metrics.add_counter("weir_access_log_lost_total", "Lines of the access log that could not be written.",
                      [this] { return static_cast<double>(access_->lost()); });
}

void Running::look_up(const Routing& routing) {
  routing.look_up(longest_lookup, [this](const UpstreamUrl& url, const std::string& why) {
    log_.warning("the name of an upstream leads nowhere", {{"upstream", url.text()}, {"error", why}});
  });
  looked_up_ = monotonic_now_ms();
}

void Running::serve(const service::Signals& signals, const service::Notifier& manager) {
  const std::string status = join("listens on ", url());
  manager.ready(status);
  while (true) {
    const bool waits_for_store = gateway_->decider() == nullptr;
    const int signal = signals.wait_for(waits_for_store ? openings_apart : lookups_apart);
    if (signal == SIGINT || signal == SIGTERM) return;
    if (signal == SIGHUP) {
      manager.reloading(std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now().time_since_epoch()));
      reload();
      manager.ready(status);
    }
    if (store_) telemetry::warn_of_new(log_, store_->warnings(), warnings_told_);
    if (waits_for_store && open_store()) log_.warning("the store is back");
    if (monotonic_now_ms() - looked_up_ >= lookups_apart) look_up(*gateway_->routing());
  }
}

void Running::reload() {
  const auto kept = [this](const Error& error) {
    log_.warning("the gateway's file is not used, the old one stays", {{"error", error.message}});
  };
  auto settings = check(options_.config);
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
  if (access_) {
    if (auto opened = access_->reopen(); !opened)
      log_.warning("the old access log stays", {{"error", opened.error().message}});
  }
  log_.info("read the gateway's file again", {{"routes", std::to_string(settings->routes.size()), true}});
}

/// What is as it was at the start, whatever the file says now.
void Running::warn_of_restart(const GatewaySettings& now) {
  const auto warn = [this](bool changed, std::string_view what) {
    if (changed) log_.warning("a change in the gateway's file needs a restart", {{"field", what}});
  };
  warn(now.listen != settings_.listen, "listen");
  warn(now.admin_listen != settings_.admin_listen, "admin_listen");
  warn(now.tls.cert.empty() != settings_.tls.cert.empty(), "tls");
  warn(now.store != settings_.store, "store");
  warn(now.name_space != settings_.name_space, "namespace");
  warn(now.threads != settings_.threads, "threads");
  warn(now.bucket_ttl_refill_multiplier != settings_.bucket_ttl_refill_multiplier,
       "bucket_ttl_refill_multiplier");
  warn(now.access_log != settings_.access_log, "access_log");
}

void Running::stop(const service::Notifier& manager) {
  log_.info("finishing what was accepted");
  manager.stopping("finishing what was accepted");
  if (admin_) admin_->set_ready(false);
  server_->drain(options_.drain);
  server_->wait();
  admin_server_.reset();
  log_.info("weir ends");
}

}  // namespace

Result<GatewaySettings> check(const std::string& config) {
  auto text = read_file(config);
  if (!text) return text.error();
  auto settings = read_gateway_file(*text, config);
  if (!settings) return settings.error();
  if (settings->store) {
    if (auto url = app::parse_store_url(*settings->store); !url)
      return base::invalid(config, ": store: ", url.error().message);
  }
  if (!settings->tls.cert.empty()) {
    if (auto tls = net::load_server_tls({settings->tls.cert, settings->tls.key}); !tls) return tls.error();
  }
  if (auto routing = Routing::make(*settings, nullptr); !routing) return routing.error();
  return settings;
}

Result<void> run(const RunOptions& options, std::ostream& out, std::ostream& log) {
  auto settings = check(options.config);
  if (!settings) return settings.error();
  // Before any thread is made, so that all of them leave the signals to this one.
  const service::Signals signals;
  const service::Notifier manager(service::Notifier::take_address());
  Running running(options, *std::move(settings), log);
  if (auto started = running.start(); !started) return started.error();
  out << "weir gateway listens on " << running.url() << ", store " << kind_of(running.store_url());
  if (!running.admin_url().empty()) out << "; health and metrics on " << running.admin_url();
  out << std::endl;
  running.serve(signals, manager);
  running.stop(manager);
  return {};
}

}  // namespace weir::gateway
