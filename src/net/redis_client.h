// The client of a Redis server or cluster: calls from any thread share one connection to each node and are
// pipelined as they come.
//
// A thread of its own does all input and output. Calls are handed to it in a list that it takes as a whole:
// what was queued while it was busy goes out in one write.
//
// The breaker: a server that cannot be reached, refuses us or lets a caller wait in vain, having said nothing
// for half of that time, is *away*. Calls to it then fail at once and are not sent. The probe is the
// connection itself: it is made again and again, and with the first sign of life calls go through.
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

/// Who hears what is published on a channel. Called on the client's thread.
class RedisListener {
 public:
  /// Calls are answered from now on: for the first time, or again, perhaps by another server.
  virtual void on_connected() = 0;
  /// From here on nothing is missed.
  virtual void on_subscribed() = 0;
  virtual void on_message(std::string_view message) = 0;
  /// From here on everything is missed.
  virtual void on_unsubscribed() = 0;
  /// Between the two, calls are answered, maybe many.
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
  /// Every call that is left fails.
  ~RedisClient() override;
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  /// Connects; from here on the listener is told.
  void start();
  /// Waits until the server has accepted us (a cluster: until it is known which node has what), at most as
  /// long as connecting may take. Fails with why not; the client goes on trying.
  Result<void> wait_until_ready();

  void send(RedisCall& call);
  /// Between the two, those who send many calls send them: the thread is woken for all of them at once.
  /// Rounds may overlap.
  void begin_round() { rounds_.fetch_add(1); }
  void end_round();
  /// Whether this is the thread on which calls end: waiting there for a call would never end.
  bool is_here() const { return loop_->is_here(); }

  /// False while the breaker is open. In a cluster: while some node is unavailable.
  bool up() const { return up_.load(std::memory_order_relaxed); }
  /// Why it is not up.
  std::string trouble() const;
  /// How often it went from up to away.
  std::uint64_t outages() const { return outages_.load(std::memory_order_relaxed); }
  const RedisOptions& options() const { return options_; }

 private:
  using Clock = RedisLink::Clock;
  static constexpr std::size_t slot_count = 16384;

  /// True: it was not up before.
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
  /// The server has accepted us: calls are answered from now on.
  void on_ready(RedisLink& link);
  /// It cannot be used any more, or not for now. Calls that cannot wait for it fail after this.
  void on_lost(RedisLink& link);
  /// Something that is no answer.
  void on_push(RedisLink& link, const wire::resp::Reply& push);
  /// An answer, or none: finishes the call.
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
  std::atomic<int> rounds_{0};  ///< that are under way; for a moment less than none
  mutable base::Mutex mutex_;
  base::Condition changed_;
  std::string trouble_ WEIR_GUARDED_BY(mutex_);
  bool ever_ready_ WEIR_GUARDED_BY(mutex_) = false;

  /// Shared with lookups, which may come back late.
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
