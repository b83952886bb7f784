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
#include "net/loop.h"
#include "net/readiness.h"
#include "net/timer_wheel.h"
#include "net/transport.h"
#include "wire/buffer.h"

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

/// Why a connection is of no use any more.
enum class Broken : std::uint8_t {
  refused,  ///< no connection could be made
  slow,     ///< nothing happened for as long as was allowed
  ended,    ///< the upstream sends no more
  lost,     ///< reset, or broken otherwise
};

/// Who uses a connection. Called on its thread; may let go of the connection meanwhile.
class UpstreamUser {
 public:
  /// A new connection is open; the output is sent when this returns.
  virtual void on_open() = 0;
  /// Bytes have been added to input().
  virtual void on_input() = 0;
  /// Enough of the output has been sent that more may be added.
  virtual void on_drained() = 0;
  /// The connection is over. It is still the user's to let go of.
  virtual void on_broken(Broken why) = 0;

 protected:
  ~UpstreamUser() = default;
};

class Pool;

/// One connection. Made and kept by its pool.
class UpstreamConnection final : private net::Watched, private net::Timer {
 public:
  UpstreamConnection(Pool& pool, int socket, net::TlsConnection tls, bool connected);
  ~UpstreamConnection() override;

  /// What is to be sent: append, then flush().
  wire::Buffer& output();
  void flush();
  /// Sends what fits at once, and keeps the rest: for parts of bodies.
  void send(std::string_view data);
  /// Bytes of output() from which on no more should be added before on_drained().
  bool congested() const { return out_.size() >= most_unsent; }
  /// Tells the upstream that nothing follows.
  void end_output();

  /// What was received and not taken yet. Whether more is to be read is said by want_input().
  wire::Buffer& input() { return in_; }
  void want_input(bool wanted);

  /// How long it may be silent once it is connected, both ways; each byte that moves starts it anew. Nothing:
  /// for ever.
  void allow_silence(std::optional<std::chrono::milliseconds> silence);

  /// False while it is connecting.
  bool open() const { return stage_ == Stage::open; }
  /// Whether it has served a request before: then it may have been closed at the other end unseen.
  bool reused() const { return served_ > 0; }
  /// Whether anything was sent since the user took it, and anything received.
  bool has_sent() const { return sent_; }
  bool has_received() const { return received_; }
  /// Whether the other end has not closed it, as far as can be seen now.
  bool looks_alive() const;
  Pool& pool() { return pool_; }

  // For the pool.
  void begin(UpstreamUser& user);
  void rest();
  void close();

 private:
  friend class Pool;
  enum class Stage : std::uint8_t { connecting, handshake, open, closed };
  static constexpr std::size_t most_unsent = std::size_t{64} * 1024;

  void on_ready() override { drive(); }
  void on_deadline() override;
  void drive();
  bool connect();
  bool shake_hands();
  bool write();
  bool read();
  void opened();
  void moved();
  void broken(Broken why);

  Pool& pool_;
  net::Transport transport_;
  UpstreamUser* user_ = nullptr;
  wire::Buffer in_;
  wire::Buffer out_;
  std::optional<std::chrono::milliseconds> silence_;
  std::uint64_t served_ = 0;
  std::size_t place_ = 0;  ///< in the pool's list
  bool idle_ = false;      ///< which list that is
  Stage stage_ = Stage::connecting;
  bool wants_input_ = false;
  bool sent_ = false;
  bool received_ = false;
  bool ends_output_ = false;  ///< once the output is sent
  bool drains_ = false;       ///< the user waits for on_drained()
};

/// What all pools of a thread share: where connections end up that are closed, until nobody can be told of
/// them any more.
class Graveyard {
 public:
  explicit Graveyard(net::Loop& thread) : thread_(thread) {}
  net::Loop& thread() { return thread_; }
  void take(std::unique_ptr<UpstreamConnection> connection);
  void clear() { dead_.clear(); }
  /// The thread ends: what comes now stays until this goes.
  void close() { closed_ = true; }

 private:
  net::Loop& thread_;
  std::vector<std::unique_ptr<UpstreamConnection>> dead_;
  bool closed_ = false;
};

/// The connections of one thread to one upstream.
class Pool {
 public:
  Pool(std::shared_ptr<const Server> server, Graveyard& graveyard)
      : server_(std::move(server)), graveyard_(graveyard) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const Server& server() const { return *server_; }
  /// One that is open already; null: there is none.
  UpstreamConnection* take(UpstreamUser& user);
  /// A new one, which may still be connecting, for at most so long. Null: it failed at once, or no address is
  /// known.
  UpstreamConnection* connect(UpstreamUser& user, std::chrono::milliseconds timeout);
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
  friend class UpstreamConnection;
  /// Idle ones beyond this are closed, and those that were idle for so long.
  static constexpr std::size_t most_idle = 256;
  static constexpr std::chrono::seconds longest_idle{55};

  using List = std::vector<std::unique_ptr<UpstreamConnection>>;
  static void add(List& list, std::unique_ptr<UpstreamConnection> connection);
  std::unique_ptr<UpstreamConnection> release(UpstreamConnection& connection);

  const std::shared_ptr<const Server> server_;
  Graveyard& graveyard_;
  List idle_;
  List busy_;
  std::size_t next_address_ = 0;
  unsigned failures_ = 0;
  std::chrono::steady_clock::time_point down_until_{};
};

}  // namespace weir::gateway
