// How a Redis server is reached.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "net/tls.h"
#include "wire/url.h"

namespace weir::net {

/// How often deadlines are looked at.
inline constexpr std::chrono::milliseconds redis_tick{10};

using RedisAddress = wire::HostPort;

struct RedisOptions {
  RedisAddress address{"127.0.0.1", 6379};  ///< of the server, or of any node of the cluster
  bool cluster = false;                     ///< keys are spread over nodes
  std::string user = {};                    ///< empty: the default user
  std::string password = {};                ///< empty: none
  int database = 0;                         ///< 0 in a cluster
  TlsContext tls = {};                      ///< null: without TLS
  /// How long a caller waits for an answer at the most, whatever happens. Not for changes of the catalog,
  /// which say how long.
  std::chrono::milliseconds deadline{250};
  /// How long connecting may take: the name, the socket, TLS and the greeting, together.
  std::chrono::milliseconds connect_within{1000};
  /// The longest pause between two attempts to connect; the first one follows at once.
  std::chrono::milliseconds longest_pause{400};
  /// How long a server that answers nothing is waited for before the connection is given up; longer if a call
  /// may take longer.
  std::chrono::milliseconds give_up_after{1000};
  /// Calls that wait for an answer; more are refused at once.
  std::size_t most_calls = 20'000;
};

}  // namespace weir::net
