// Keep-alive connections to upstreams, owned by the thread that uses them.
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

/// One upstream and its addresses. Shared by all threads; Routing looks the addresses up.
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

/// One connection, owned by its pool.
class UpstreamConnection final : public net::Outbound {
 public:
  UpstreamConnection(Pool& pool, net::Loop& loop) : Outbound(loop), pool_(pool) {}

  Pool& pool() { return pool_; }
  /// Whether it has served a request before: then the upstream may have closed it unnoticed.
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
  /// An idle connection; null if there is none.
  UpstreamConnection* take(net::OutboundUser& user);
  /// A new connection, which may still be connecting, for at most `timeout`. Null if that failed at once or
  /// no address is known.
  UpstreamConnection* connect(net::OutboundUser& user, std::chrono::milliseconds timeout);
  /// Returns a connection that can serve another request.
  void keep(UpstreamConnection& connection);
  /// Closes a connection that cannot.
  void drop(UpstreamConnection& connection);

  // Results of requests, for healthy().
  void failed();
  void succeeded() { failures_ = 0; }
  /// Whether requests should be sent to it.
  bool healthy() const;
  /// The number of addresses to try.
  std::size_t address_count() const { return server_->addresses().size(); }

 private:
  /// Idle connections beyond this number are closed, and those that were idle for this long.
  static constexpr std::size_t most_idle = 256;
  static constexpr std::chrono::seconds longest_idle{55};

  /// The upstream has closed an idle connection, or it was idle for too long.
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
