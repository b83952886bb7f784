// The options of the connection to a Redis server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "net/tls.h"
#include "wire/url.h"

namespace weir::net {

/// How often deadlines are checked.
inline constexpr std::chrono::milliseconds redis_tick{10};

using RedisAddress = wire::HostPort;

struct RedisOptions {
  RedisAddress address{"127.0.0.1", 6379};  ///< of the server, or of any node of the cluster
  bool cluster = false;                     ///< keys are spread over nodes
  std::string user = {};                    ///< empty: the default user
  std::string password = {};                ///< empty: none
  int database = 0;                         ///< 0 in a cluster
  TlsContext tls = {};                      ///< null: without TLS
  /// The longest time that a caller waits for an answer. Changes of the catalog have timeouts of their own.
  std::chrono::milliseconds deadline{250};
  /// The timeout of connecting: lookup, socket, TLS and greeting together.
  std::chrono::milliseconds connect_within{1000};
  /// The longest backoff between two attempts to connect; the first attempt follows at once.
  std::chrono::milliseconds longest_pause{400};
  /// A connection whose server is silent for this long is closed, or later if a call has a longer timeout.
  std::chrono::milliseconds give_up_after{1000};
  /// The most outstanding calls; more fail at once.
  std::size_t most_calls = 20'000;
};

}  // namespace weir::net
