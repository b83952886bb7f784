// The client of a Redis server or cluster: calls from any thread share one connection to each node and are
// pipelined as they come.
//
// A thread of its own does all input and output. Calls are handed to it in a list that it takes as a whole:
// the calls queued while it was busy leave in one write.
//
// The breaker opens when the server cannot be reached, refuses the client, or lets a call time out and has
// sent nothing for half of that time. Calls to it then fail at once and are not sent. The probe is the
// connection itself: the client reconnects again and again, and the first answer closes the breaker.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/entropy.h"
#include "base/lock.h"
#include "net/loop.h"
#include "net/redis_call.h"
#include "net/redis_link.h"
#include "net/redis_options.h"
#include "net/wake_up.h"
#include "weir/result.h"

namespace weir::net {

/// The subscriber of a channel. Called on the client's thread.
class RedisListener {
 public:
  /// Connected: for the first time, or again, perhaps to another server.
  virtual void on_connected() = 0;
  /// From here on every message is received.
  virtual void on_subscribed() = 0;
  virtual void on_message(std::string_view message) = 0;
  /// From here on messages are lost.
  virtual void on_unsubscribed() = 0;
  /// Called around a batch of answered calls.
  virtual void before_answers() {}
  virtual void after_answers() {}

 protected:
  ~RedisListener() = default;
};

/// Safe to use from any thread.
class RedisClient final : private Timer {
 public:
  /// The entropy must outlive the client; so must the listener, which may be null. Nothing happens until
  /// start().
  RedisClient(RedisOptions options, base::Entropy& entropy, std::string channel = {},
              RedisListener* listener = nullptr);
  /// Fails all outstanding calls.
  ~RedisClient() override;
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  /// Connects; from here on the listener is called.
  void start();
  /// Waits until the client is connected (in a cluster: until the slots of the nodes are known), at most for
  /// the connect timeout. Fails with the reason; the client keeps reconnecting.
  Result<void> wait_until_ready();

  void send(RedisCall& call);
  /// Calls with `gathers` that are sent between the two wake the thread once for all. Rounds may overlap.
  void begin_round() { rounds_.fetch_add(1); }
  void end_round();
  /// Whether this is the thread of the callbacks: waiting there for a call would deadlock.
  bool is_here() const { return loop_->is_here(); }

  /// False while the breaker is open. In a cluster: while some node is unavailable.
  bool up() const { return up_.load(std::memory_order_relaxed); }
  /// Why it is not up.
  std::string trouble() const;
  /// How often up() has become false.
  std::uint64_t outages() const { return outages_.load(std::memory_order_relaxed); }
  const RedisOptions& options() const { return options_; }

 private:
  using Clock = RedisLink::Clock;
  static constexpr std::size_t slot_count = 16384;

  /// True if it was not up before.
  bool set_up(bool up, const std::string& trouble);
  void hand_over(RedisCall& call);

  // All below is for the client's thread.
  void take_calls();
  void route(RedisCall& call);
  RedisLink* link_for(int slot);
  RedisLink& link_to(const RedisAddress& address);
  void flush();
  void start_ticking();
  void on_deadline() override;
  void tick();
  void stop();
  void update_state();

  // Of a cluster (redis_cluster.cc).
  bool redirect(RedisLink& link, RedisCall& call, std::string_view error);
  void refresh(Clock::time_point now);
  void learn_slots(const wire::resp::Reply& reply, const std::string& asked_host);
  /// Asks which node has which slots.
  struct SlotsCall final : RedisCall {
    explicit SlotsCall(RedisClient& of) : client(of) {}
    void on_reply(const wire::resp::Reply& reply) override { client.slots_answered(reply); }
    void on_failure(const RedisFailure& /*failure*/) override {
      client.refreshing_ = false;
      client.refresh_wanted_ = true;
    }
    RedisClient& client;
  };
  void slots_answered(const wire::resp::Reply& reply);

  // From links.
  friend class RedisLink;
  /// The link is connected and answers calls.
  void on_ready(RedisLink& link);
  /// The link is lost, or cannot be used for now. Calls that cannot wait for it fail after this.
  void on_lost(RedisLink& link);
  /// A push message of the server.
  void on_push(RedisLink& link, const wire::resp::Reply& push);
  /// An answer, or a failure: finishes the call.
  void on_answer(RedisLink& link, RedisCall& call, const wire::resp::Reply& reply);
  void on_failed(RedisCall& call, const RedisFailure& failure);

  const RedisOptions options_;
  base::Entropy& entropy_;
  RedisListener* const listener_;
  std::atomic<bool> up_{false};
  std::atomic<std::uint64_t> outages_{0};
  std::atomic<std::size_t> outstanding_{0};
  /// Calls that the thread has not taken yet, last first.
  std::atomic<RedisCall*> handed_over_{nullptr};
  std::atomic<int> rounds_{0};  ///< open rounds; briefly negative
  mutable base::Mutex mutex_;
  base::Condition changed_;
  std::string trouble_ WEIR_GUARDED_BY(mutex_);
  bool ever_ready_ WEIR_GUARDED_BY(mutex_) = false;

  /// Shared with lookups, which may outlive the client.
  const std::shared_ptr<Loop> loop_ = std::make_shared<Loop>(std::chrono::milliseconds(1));
  WakeUp wake_up_{loop_->readiness(), [this] { take_calls(); }};  ///< rung when calls were handed over
  bool ticking_ = false;
  bool stopped_ = false;

  std::map<RedisAddress, std::unique_ptr<RedisLink>> links_;
  std::unique_ptr<RedisLink> subscription_;
  bool subscribed_ = false;
  std::vector<RedisLink*> slots_;  ///< of a cluster; null: not known
  bool slots_known_ = false;
  SlotsCall slots_call_{*this};
  bool refreshing_ = false;
  bool refresh_wanted_ = false;
  std::string refreshed_from_;
  Clock::time_point refresh_at_;
  std::vector<RedisCall*> later_;
  std::thread thread_;
};

}  // namespace weir::net
