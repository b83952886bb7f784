// The inside of a RedisClient: its loop, its connections, and which of them a call goes to.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/redis_client.h"
#include "net/redis_link.h"

namespace weir::net {

/// All members are for the loop's thread, except where said.
class RedisRouter final : public RedisLink::Owner, private Timer {
 public:
  RedisRouter(RedisClient& client, base::Entropy& entropy, std::string channel, RedisListener* listener);
  /// Called from outside.
  void start();
  ~RedisRouter();

  /// From any thread: have the calls taken that were handed over, once for all who want it before it has
  /// happened.
  void wake() { bell_.ring(); }
  bool is_here() const { return loop_->is_here(); }

 private:
  using Clock = RedisLink::Clock;
  static constexpr std::size_t slot_count = 16384;

  void take_calls();
  void route(RedisCall& call);
  RedisLink* link_for(int slot);
  RedisLink& link_to(const RedisAddress& address);
  void flush();
  void finish(RedisCall& call, const RedisFailure* failure, const wire::resp::Reply* reply);
  void start_ticking();
  void on_deadline() override;
  void tick();
  void stop();
  void update_state();
  bool redirect(RedisLink& link, RedisCall& call, std::string_view error);
  void refresh(Clock::time_point now);
  void learn_slots(const wire::resp::Reply& reply, const std::string& asked_host);

  // RedisLink::Owner
  void on_ready(RedisLink& link) override;
  void on_lost(RedisLink& link) override;
  void on_push(RedisLink& link, const wire::resp::Reply& push) override;
  void on_answer(RedisLink& link, RedisCall& call, const wire::resp::Reply& reply) override;
  void on_failed(RedisCall& call, const RedisFailure& failure) override;
  void before_answers() override {
    if (listener_ != nullptr) listener_->before_answers();
  }
  void after_answers() override {
    if (listener_ != nullptr) listener_->after_answers();
  }
  /// Asks which node has which slots.
  struct SlotsCall final : RedisCall {
    explicit SlotsCall(RedisRouter& of) : router(of) {}
    void on_reply(const wire::resp::Reply& reply) override { router.slots_answered(reply); }
    void on_failure(const RedisFailure& /*failure*/) override {
      router.refreshing_ = false;
      router.refresh_wanted_ = true;
    }
    RedisRouter& router;
  };
  void slots_answered(const wire::resp::Reply& reply);

  RedisClient& client_;
  base::Entropy& entropy_;
  RedisListener* const listener_;
  const std::shared_ptr<Loop> loop_;
  Bell bell_;
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
