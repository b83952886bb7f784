#include "net/server.h"

#include <algorithm>
#include <latch>
#include <thread>
#include <utility>

#include "base/text.h"
#include "net/listener.h"
#include "net/tls.h"
#include "net/worker.h"

namespace weir::net {

/// The workers and the threads that run them.
class Server::Threads {
 public:
  Threads(ServerOptions options, Handler& handler) : options_(std::move(options)) {
    for (unsigned i = 0; i < std::max(1U, options_.threads); ++i) {
      workers_.push_back(std::make_unique<Worker>(i, options_, handler, counters_));
    }
  }

  Result<void> listen();
  void run();
  Result<void> reload_tls(const TlsFiles& files);
  void drain(std::chrono::milliseconds at_most);
  void join() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  const std::vector<Address>& addresses() const { return addresses_; }
  ServerStatus status() const {
    return {counters_.open.load(std::memory_order_relaxed),
            counters_.accepted.load(std::memory_order_relaxed),
            counters_.refused.load(std::memory_order_relaxed)};
  }

 private:
  Result<void> listen_on(const ListenOn& on);

  ServerOptions options_;
  Counters counters_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Address> addresses_;
  std::vector<std::thread> threads_;
};

Result<void> Server::Threads::listen() {
  if (options_.listen.empty()) return base::invalid("a server needs an address to listen on");
  if (options_.tick.count() <= 0) return base::invalid("the tick of a server must be at least a millisecond");
  if (options_.tls) {
    auto tls = load_server_tls(*options_.tls);
    if (!tls) return tls.error();
    for (const auto& worker : workers_) worker->set_tls(*tls);
  }
  for (const ListenOn& on : options_.listen) {
    if (auto listening = listen_on(on); !listening) return listening;
  }
  return {};
}

Result<void> Server::Threads::listen_on(const ListenOn& on) {
  if (on.tls && !options_.tls) return base::invalid("listening with TLS needs a certificate and its key");
  auto address = Address::parse(on.address, on.port);
  if (!address) return address.error();
  const bool each = options_.sharing == Sharing::reuse_port && workers_.size() > 1;
  std::vector<Worker*> all;
  for (const auto& worker : workers_) all.push_back(worker.get());
  for (Worker* worker : all) {
    auto socket = ListenSocket::open(*address, each);
    if (!socket) return socket.error();
    // The others listen on the port that the first was given.
    address = socket->address;
    worker->listen(std::make_unique<Listener>(*worker, socket->socket, on.tls,
                                              each ? std::vector<Worker*>{worker} : all, counters_));
    if (!each) break;
  }
  addresses_.push_back(*address);
  return {};
}

void Server::Threads::run() {
  for (const auto& worker : workers_) threads_.emplace_back([&worker = *worker] { worker.serve(); });
}

Result<void> Server::Threads::reload_tls(const TlsFiles& files) {
  auto tls = load_server_tls(files);
  if (!tls) return tls.error();
  std::latch changed(static_cast<std::ptrdiff_t>(workers_.size()));
  for (const auto& worker : workers_) {
    worker->Loop::post([&worker = *worker, &changed, context = *tls] {
      worker.set_tls(context);
      changed.count_down();
    });
  }
  changed.wait();
  return {};
}

void Server::Threads::drain(std::chrono::milliseconds at_most) {
  // Connections that the first worker has accepted for others reach them before the drain does.
  workers_.front()->Loop::post([this, at_most] {
    workers_.front()->stop_accepting();
    for (const auto& worker : workers_) {
      worker->Loop::post([&worker = *worker, at_most] { worker.drain(at_most); });
    }
  });
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler& handler) {
  auto threads = std::make_unique<Threads>(std::move(options), handler);
  if (auto listening = threads->listen(); !listening) return listening.error();
  threads->run();
  return std::unique_ptr<Server>(new Server(std::move(threads)));
}

Server::Server(std::unique_ptr<Threads> threads) : threads_(std::move(threads)) {}

Server::~Server() {
  drain(std::chrono::milliseconds(0));
  threads_->join();
}

const std::vector<Address>& Server::addresses() const { return threads_->addresses(); }
ServerStatus Server::status() const { return threads_->status(); }
Result<void> Server::reload_tls(const TlsFiles& files) { return threads_->reload_tls(files); }
void Server::drain(std::chrono::milliseconds at_most) { threads_->drain(at_most); }
void Server::wait() { threads_->join(); }

}  // namespace weir::net
