// One connection to one Redis server: connects, greets, pipelines, detects a silent server, and reconnects.
// Lives on the thread of its client's loop.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "net/breaker.h"
#include "net/dial.h"
#include "net/outbound.h"
#include "net/redis_call.h"
#include "net/redis_options.h"
#include "wire/resp.h"

namespace weir::net {

class RedisClient;

class RedisLink final : private OutboundUser {
 public:
  using Clock = std::chrono::steady_clock;

  /// `first_words`: a command that is sent after each greeting, such as a subscription; may be empty.
  RedisLink(RedisClient& client, RedisAddress address, std::string first_words = {});
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  const RedisAddress& address() const { return address_; }
  void connect();
  /// Queues a call; flush() sends the queue. Without a connection the call waits for one, until its deadline.
  void submit(RedisCall& call);
  void flush();
  /// Closes, and fails all outstanding calls.
  void close(const std::string& why);
  /// Checks deadlines. To be called every redis_tick.
  void tick(Clock::time_point now);

  bool ready() const { return stage_ == Stage::ready; }
  /// Whether calls can expect an answer: connected and answering, or just lost.
  bool hopeful() const { return !breaker_.open(); }
  /// Why it is not ready, or was not most recently.
  const std::string& trouble() const { return breaker_.trouble(); }
  bool idle() const { return sent_calls_.empty() && waiting_.empty(); }

 private:
  enum class Stage : std::uint8_t { idle, resolving, connecting, greeting, ready, closed };
  struct Sent {
    RedisCall* call;       ///< null: timed out
    std::uint64_t begins;  ///< how many bytes of this connection went before it
  };

  void on_open() override { greet(); }
  void on_input() override;
  void on_end() override { fail("broke off"); }
  void on_failed(Outbound& connection, const Failure& why) override;

  void resolved(const LookedUp& found);
  void greet();
  void greeted(const wire::resp::Reply& reply);
  void become_ready();
  void take_replies();
  void receive(const wire::resp::Reply& reply);
  void answer(const wire::resp::Reply& reply);
  void fail(const std::string& why);
  void append(RedisCall& call);
  void release_sent(const std::string& why);
  void fail_call(RedisCall& call, const std::string& why);
  void expire(Clock::time_point now);
  void schedule_attempt(Clock::time_point now);
  void release_waiting(const std::string& why);

  RedisClient& client_;
  const RedisOptions& options_;
  const RedisAddress address_;
  const std::string first_words_;

  Outbound connection_;
  bool reading_ = false;

  Stage stage_ = Stage::idle;
  bool plain_greeting_ = false;  ///< the server does not know HELLO
  unsigned greetings_left_ = 0;
  Breaker breaker_;  ///< its silence counts while calls wait for an answer
  unsigned attempts_ = 0;
  std::uint64_t lookup_ = 0;  ///< the latest lookup; results of earlier ones are dropped
  Clock::time_point attempt_at_;
  Clock::time_point attempt_ends_;

  wire::resp::ReplyReader reader_;
  std::deque<Sent> sent_calls_;     ///< in the order in which answers come
  std::deque<RedisCall*> waiting_;  ///< for a connection
};

}  // namespace weir::net
