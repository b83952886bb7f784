// The options of a server. Every default is safe on the open internet.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/maxima.h"
#include "net/address.h"
#include "wire/http_message.h"

namespace weir::net {

struct ListenOn {
  std::string address = "127.0.0.1";  ///< a literal, IPv4 or IPv6
  std::uint16_t port = 0;             ///< 0: any that is free
  bool tls = false;                   ///< needs ServerOptions::tls
};

/// A certificate chain and its key, as PEM files.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

/// How long a client may take. None covers the time that the handler takes.
struct Timeouts {
  /// From the first byte of a head, or of a TLS handshake, to its end. Beyond it: 408.
  std::chrono::milliseconds head{10'000};
  /// For a buffered body: all of it. For a streamed one: between two reads that return bytes. Beyond it: 408.
  std::chrono::milliseconds body{30'000};
  /// Between two requests, and before the first.
  std::chrono::milliseconds idle{75'000};
  /// Between two writes that make progress.
  std::chrono::milliseconds write{30'000};
  /// For the client to close its side after the last answer, so that the answer is not lost to a reset.
  std::chrono::milliseconds linger{2'000};
};

/// How connections are spread over threads.
enum class Sharing : std::uint8_t {
  one_acceptor,  ///< the first thread accepts for all, in turn
  reuse_port,    ///< each thread accepts for itself; the kernel spreads by address and port
};

struct ServerOptions {
  std::vector<ListenOn> listen;
  unsigned threads = 1;
  Sharing sharing = Sharing::one_acceptor;
  /// Over all threads. A connection beyond it is answered 503 (cut, with TLS) and closed.
  unsigned max_connections = maxima::connections;
  /// From one address (IPv6: one /64 network); 0: as many as there may be. A connection beyond it is refused
  /// likewise.
  unsigned max_connections_per_address = 0;
  /// Addresses that this bound is not for, such as those of proxies. Called from several threads.
  std::function<bool(const Address&)> many_from = {};
  /// How many requests of one connection the handler may hold at once. With 1 a request waits until the one
  /// before it is answered, as RFC 9112 (9.3.2) wants of requests that change something; more is for handlers
  /// whose requests do not depend on each other. Answers are in order either way.
  unsigned max_pipelined = 1;
  /// The largest body that is buffered or streamed, unless the handler's plan says otherwise.
  std::uint64_t max_body = maxima::body;
  /// With this many unsent bytes of answers a connection reads no further requests, and write() returns
  /// false.
  std::size_t max_unsent = maxima::unsent_answers;
  wire::http::Limits limits;
  Timeouts timeouts;
  /// How often timeouts are checked: they fire at most two ticks late, never early.
  std::chrono::milliseconds tick{100};
  std::optional<TlsFiles> tls;
};

}  // namespace weir::net
