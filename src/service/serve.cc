#include "service/serve.h"

#include <pthread.h>

#include <csignal>
#include <fstream>
#include <ostream>
#include <sstream>

#include "app/open_store.h"
#include "app/url.h"
#include "base/text.h"
#include "net/server.h"
#include "service/service.h"
#include "store/sqlite/sqlite_store.h"

namespace weir::service {
namespace {

using base::invalid;
using base::join;

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

Result<HostPort> parse_listen(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto wrong = [&] {
    return invalid("--listen ", base::quoted(text),
                   ": write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080");
  };
  if (colon == std::string::npos) return wrong();
  std::string host = text.substr(0, colon);
  const auto port = base::parse_digits(text.substr(colon + 1));
  if (!port || *port > 65535) return wrong();
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return wrong();
  }
  if (host == "localhost") host = "127.0.0.1";
  return HostPort{host, static_cast<std::uint16_t>(*port)};
}

bool is_loopback(const net::Address& address) {
  if (!address.v6) return address.bytes[0] == 127;
  net::Address loopback = address;
  loopback.bytes = {};
  loopback.bytes[15] = 1;
  return address.bytes == loopback.bytes;
}

Result<std::shared_ptr<const Tokens>> read_tokens(const std::string& path) {
  if (path.empty()) return std::shared_ptr<const Tokens>();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return invalid("--tokens: ", path, " cannot be read");
  auto tokens = Tokens::parse(text.str(), path);
  if (!tokens) return tokens.error();
  return std::shared_ptr<const Tokens>(std::make_shared<Tokens>(*std::move(tokens)));
}

/// Signals are taken one by one by whoever waits for them, not by a handler.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
    return signal;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

Result<net::ServerOptions> server_options(const ServeOptions& options) {
  auto at = parse_listen(options.listen);
  if (!at) return at.error();
  if (options.tls_cert.empty() != options.tls_key.empty())
    return invalid("--tls-cert and --tls-key belong together; give both or none");
  auto address = net::Address::parse(at->host, at->port);
  if (!address) return address.error();
  if (!is_loopback(*address) && options.tokens.empty() && !options.insecure) {
    return invalid("--listen ", options.listen,
                   " can be reached from other machines and no tokens are asked for; give --tokens FILE, or "
                   "--insecure if you mean it");
  }
  net::ServerOptions server;
  server.listen.push_back({at->host, at->port, !options.tls_cert.empty()});
  server.threads = options.threads;
  // Decisions do not depend on each other, and answers stay in order.
  server.max_pipelined = 64;
  if (!options.tls_cert.empty()) server.tls = net::TlsFiles{options.tls_cert, options.tls_key};
  return server;
}

void reload(const ServeOptions& options, Service& service, net::Server& server, std::ostream& log) {
  if (!options.tokens.empty()) {
    auto tokens = read_tokens(options.tokens);
    if (tokens) service.set_tokens(*tokens);
    log << (tokens ? "weir: read the tokens again" : "weir: the old tokens stay: " + tokens.error().message)
        << std::endl;
  }
  if (!options.tls_cert.empty()) {
    auto reloaded = server.reload_tls({options.tls_cert, options.tls_key});
    log << (reloaded ? "weir: read the certificate again"
                     : "weir: the old certificate stays: " + reloaded.error().message)
        << std::endl;
  }
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

}  // namespace

Result<void> serve(const ServeOptions& options, std::ostream& out, std::ostream& log) {
  auto listen = server_options(options);
  if (!listen) return listen.error();
  auto tokens = read_tokens(options.tokens);
  if (!tokens) return tokens.error();
  // Before any thread is made, so that all of them leave the signals to this one.
  const Signals signals;
  limiter::Foundation foundation;
  foundation.clock = std::make_shared<SystemClock>();
  foundation.entropy = std::make_shared<base::SystemEntropy>();
  auto store = app::open_store(options.store, {}, foundation.clock, *foundation.entropy);
  if (!store) return store.error();
  foundation.store = *store;
  Service service(foundation, {.on_unavailable = options.on_unavailable});
  service.set_tokens(*tokens);
  auto server = net::Server::start(*std::move(listen), service);
  if (!server) return server.error();
  const std::string url =
      join(options.tls_cert.empty() ? "http://" : "https://", (*server)->addresses().front().to_string());
  if (auto* const file = dynamic_cast<sqlite::SqliteStore*>(store->get()))
    file->announce(join("which serves it at ", url));
  greet(options, url, out);
  while (signals.wait() == SIGHUP) reload(options, service, **server, log);
  log << "weir: finishing what was accepted" << std::endl;
  service.set_ready(false);
  (*server)->drain(options.drain);
  (*server)->wait();
  return {};
}

}  // namespace weir::service
