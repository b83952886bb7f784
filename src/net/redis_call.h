// One command to a Redis server, and its result.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "wire/resp.h"

namespace weir::net {

/// Why there is no answer.
struct RedisFailure {
  bool sent = false;  ///< the server may have carried it out
  std::string why;    ///< "127.0.0.1:6379 does not answer"
};

/// The owner keeps it until one of the two callbacks is called, on the thread of the client or, if it cannot
/// be sent at all, inside RedisClient::send().
class RedisCall {
 public:
  RedisCall() = default;
  RedisCall(const RedisCall&) = delete;
  RedisCall& operator=(const RedisCall&) = delete;
  virtual ~RedisCall() = default;

  std::string command;  ///< as it goes over the wire
  int slot = -1;        ///< of its keys; -1: any node will do
  /// The command is idempotent, so it may be sent again after a lost connection.
  bool repeatable = false;
  /// Whether it may wait for the end of a round (RedisClient::begin_round), to be sent with the calls that
  /// follow.
  bool gathers = false;
  /// The timeout; 0: that of the options.
  std::chrono::milliseconds within{0};

  /// The reply is valid until this returns.
  virtual void on_reply(const wire::resp::Reply& reply) = 0;
  virtual void on_failure(const RedisFailure& failure) = 0;

 protected:
  /// In on_reply(): whether an earlier copy of the command may have been carried out, too.
  bool was_sent_before() const { return maybe_done_; }

 private:
  friend class RedisClient;
  friend class RedisLink;
  RedisCall* next_ = nullptr;
  std::chrono::steady_clock::time_point expires_;
  std::uint8_t redirects_ = 0;
  bool asking_ = false;  ///< goes to a node that is about to take over the slot
  bool counted_ = false;
  bool maybe_done_ = false;  ///< a connection was lost after it was sent
};

}  // namespace weir::net
