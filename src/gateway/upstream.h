// Connections to the servers behind the gateway: kept open between requests, by the thread that uses them.
//
// A connection lives on one thread of the server, in the same epoll as the clients that it serves, so that a
// request goes out and its answer comes back without a lock or another thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/lock.h"
#include "gateway/gateway_file.h"
#include "net/address.h"
#include "net/outbound.h"

namespace weir::gateway {

/// Where one upstream is found. Shared by all threads; addresses are looked up elsewhere.
class Server {
 public:
  Server(UpstreamUrl url, net::TlsContext tls)
      : url_(std::move(url)), authority_(url_.authority()), tls_(std::move(tls)) {}

  const UpstreamUrl& url() const { return url_; }
  const std::string& authority() const { return authority_; }
  /// Null without TLS.
  const net::TlsContext& tls() const { return tls_; }
  std::vector<net::Address> addresses() const {
    const base::Guard guard(mutex_);
    return addresses_;
  }
  void set_addresses(std::vector<net::Address> addresses) {
    const base::Guard guard(mutex_);
    addresses_ = std::move(addresses);
  }

 private:
  const UpstreamUrl url_;
  const std::string authority_;
  const net::TlsContext tls_;
  mutable base::Mutex mutex_;
  std::vector<net::Address> addresses_ WEIR_GUARDED_BY(mutex_);
};

class Pool;

/// One connection. Made and kept by its pool.
class UpstreamConnection final : public net::Outbound {
 public:
  UpstreamConnection(Pool& pool, net::Loop& loop) : Outbound(loop), pool_(pool) {}

  Pool& pool() { return pool_; }
  /// Whether it has served a request before: then it may have been closed at the other end unseen.
  bool reused() const { return served_ > 0; }

 private:
  friend class Pool;
  Pool& pool_;
  std::uint64_t served_ = 0;
  std::size_t place_ = 0;  ///< in the pool's list
  bool idle_ = false;      ///< which list that is
};

/// The connections of one thread to one upstream.
class Pool final : private net::OutboundUser {
 public:
  Pool(std::shared_ptr<const Server> server, net::Loop& loop) : server_(std::move(server)), loop_(loop) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const Server& server() const { return *server_; }
  /// One that is open already; null: there is none.
  UpstreamConnection* take(net::OutboundUser& user);
  /// A new one, which may still be connecting, for at most so long. Null: it failed at once, or no address is
  /// known.
  UpstreamConnection* connect(net::OutboundUser& user, std::chrono::milliseconds timeout);
  /// The user is done with it, and it can serve another request.
  void keep(UpstreamConnection& connection);
  /// The user is done with it, and it cannot.
  void drop(UpstreamConnection& connection);

  // What was learnt from requests.
  void failed();
  void succeeded() { failures_ = 0; }
  /// Whether it is worth a try.
  bool healthy() const;
  /// How many addresses there are to try.
  std::size_t address_count() const { return server_->addresses().size(); }

 private:
  /// Idle ones beyond this are closed, and those that were idle for so long.
  static constexpr std::size_t most_idle = 256;
  static constexpr std::chrono::seconds longest_idle{55};

  /// An idle one was closed by the upstream, or has not been used for long.
  void on_failed(net::Outbound& connection, const net::Failure& /*why*/) override {
    drop(static_cast<UpstreamConnection&>(connection));
  }

  using List = std::vector<std::unique_ptr<UpstreamConnection>>;
  static void add(List& list, std::unique_ptr<UpstreamConnection> connection);
  std::unique_ptr<UpstreamConnection> release(UpstreamConnection& connection);
  void close(std::unique_ptr<UpstreamConnection> connection);

  const std::shared_ptr<const Server> server_;
  net::Loop& loop_;
  List idle_;
  List busy_;
  std::size_t next_address_ = 0;
  unsigned failures_ = 0;
  std::chrono::steady_clock::time_point down_until_{};
};

}  // namespace weir::gateway
