#include "net/redis_client.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace weir::net {

namespace resp = wire::resp;

RedisClient::RedisClient(RedisOptions options, base::Entropy& entropy, std::string channel,
                         RedisListener* listener)
    : options_(std::move(options)), entropy_(entropy), listener_(listener) {
  slots_call_.command = resp::command({"CLUSTER", "SLOTS"});
  slots_call_.repeatable = true;
  if (options_.cluster) slots_.resize(slot_count);
  if (listener_ != nullptr) {
    subscription_ =
        std::make_unique<RedisLink>(*this, options_.address, resp::command({"SUBSCRIBE", channel}));
  }
}

void RedisClient::start() {
  loop_->post([this] {
    link_to(options_.address);
    if (subscription_) subscription_->connect();
    start_ticking();
  });
  thread_ = std::thread([this] { loop_->run(); });
}

RedisClient::~RedisClient() {
  if (thread_.joinable()) {
    loop_->post([this] { stop(); });
    thread_.join();
  }
  // A lookup that is late may destroy the loop on its own thread as soon as this client lets go of it.
  TimerWheel::cancel(*this);
}

Result<void> RedisClient::wait_until_ready() {
  const auto end = std::chrono::steady_clock::now() + options_.connect_within;
  std::string trouble;
  {
    const base::Guard guard(mutex_);
    while (!ever_ready_ && trouble_.empty() && changed_.wait_until(mutex_, end)) {
    }
    if (ever_ready_) return {};
    trouble = trouble_;
  }
  const auto says = [&](std::string_view what) { return trouble.find(what) != std::string::npos; };
  return base::error(ErrorCode::unavailable, "Redis at ",
                     trouble.empty() ? options_.address.to_string() + " does not answer" : trouble,
                     says("does not accept us")      ? "; check the user and the password in the URL"
                     : says("does not agree on TLS") ? "; check its certificate, and cacert=FILE in the URL"
                                                     : "; check the address, and that the server runs");
}

std::string RedisClient::trouble() const {
  const base::Guard guard(mutex_);
  return trouble_;
}

bool RedisClient::set_up(bool up, const std::string& trouble) {
  const base::Guard guard(mutex_);
  const bool was_up = up_.exchange(up, std::memory_order_relaxed);
  if (was_up && !up) outages_.fetch_add(1, std::memory_order_relaxed);
  ever_ready_ = ever_ready_ || up;
  trouble_ = up ? std::string() : trouble;
  changed_.notify_all();
  return up && !was_up;
}

void RedisClient::send(RedisCall& call) {
  if (!options_.cluster && !up() && !call.repeatable) {
    // Before the first connection there is no reason yet.
    const std::string why = trouble();
    if (!why.empty()) return call.on_failure({false, why});
  }
  if (!call.counted_ && outstanding_.fetch_add(1, std::memory_order_relaxed) >= options_.most_calls) {
    outstanding_.fetch_sub(1, std::memory_order_relaxed);
    return call.on_failure({false, "too many calls wait for an answer of Redis"});
  }
  call.counted_ = true;
  call.redirects_ = 0;
  call.maybe_done_ = false;
  call.expires_ =
      std::chrono::steady_clock::now() + (call.within.count() > 0 ? call.within : options_.deadline);
  const bool gathers = call.gathers;
  hand_over(call);
  // In a round more calls follow, and its end wakes the thread.
  if (gathers && rounds_.load() > 0) return;
  wake_up_.wake();
}

void RedisClient::end_round() {
  rounds_.fetch_sub(1);
  // A sender that saw this round open has queued its call before the check.
  if (handed_over_.load() != nullptr) wake_up_.wake();
}

void RedisClient::hand_over(RedisCall& call) {
  RedisCall* first = handed_over_.load(std::memory_order_relaxed);
  do {
    call.next_ = first;
  } while (!handed_over_.compare_exchange_weak(first, &call));
}

void RedisClient::stop() {
  take_calls();
  stopped_ = true;
  for (auto& [address, link] : links_) link->close("the client is closing");
  if (subscription_) subscription_->close("the client is closing");
  for (RedisCall* call : std::exchange(later_, {}))
    on_failed(*call, {call->maybe_done_, "the client is closing"});
  loop_->stop();
}

void RedisClient::take_calls() {
  RedisCall* taken = handed_over_.exchange(nullptr, std::memory_order_acquire);
  RedisCall* in_order = nullptr;
  while (taken != nullptr) {
    RedisCall* next = std::exchange(taken->next_, in_order);
    in_order = std::exchange(taken, next);
  }
  while (in_order != nullptr) {
    RedisCall& call = *std::exchange(in_order, in_order->next_);
    route(call);
  }
  flush();
  start_ticking();
}

void RedisClient::flush() {
  for (auto& [address, link] : links_) link->flush();
}

RedisLink& RedisClient::link_to(const RedisAddress& address) {
  auto& link = links_[address];
  if (link == nullptr) {
    link = std::make_unique<RedisLink>(*this, address);
    link->connect();
    start_ticking();
  }
  return *link;
}

RedisLink* RedisClient::link_for(int slot) {
  if (slots_.empty()) return links_.begin()->second.get();
  if (slot >= 0) return slots_[static_cast<std::size_t>(slot)];
  for (auto& [address, link] : links_) {
    if (link->ready() && link->hopeful()) return link.get();
  }
  return links_.begin()->second.get();
}

void RedisClient::route(RedisCall& call) {
  if (stopped_) return on_failed(call, {call.maybe_done_, "the client is closing"});
  RedisLink* const link = link_for(call.slot);
  if (link == nullptr) {
    refresh_wanted_ = true;
    return on_failed(call,
                     {call.maybe_done_, "no node of the cluster is known to have the slot of this key"});
  }
  if (!link->hopeful()) return on_failed(call, {call.maybe_done_, link->trouble()});
  link->submit(call);
}

void RedisClient::on_failed(RedisCall& call, const RedisFailure& failure) {
  if (std::exchange(call.counted_, false)) outstanding_.fetch_sub(1, std::memory_order_relaxed);
  call.on_failure(failure);
}

void RedisClient::on_answer(RedisLink& link, RedisCall& call, const resp::Reply& reply) {
  if (reply.is_error() && options_.cluster && redirect(link, call, reply.text())) return;
  if (std::exchange(call.counted_, false)) outstanding_.fetch_sub(1, std::memory_order_relaxed);
  if (&call == &slots_call_) refreshed_from_ = link.address().host;
  call.on_reply(reply);
}

void RedisClient::on_ready(RedisLink& link) {
  if (&link == subscription_.get()) return;
  if (options_.cluster && !slots_known_) refresh_wanted_ = true;
  const bool was_up = up();
  update_state();
  if (was_up && up() && listener_ != nullptr) listener_->on_connected();
  start_ticking();
}

void RedisClient::on_lost(RedisLink& link) {
  start_ticking();
  if (&link == subscription_.get()) {
    if (std::exchange(subscribed_, false)) listener_->on_unsubscribed();
    return;
  }
  refresh_wanted_ = true;
  update_state();
}

void RedisClient::update_state() {
  if (options_.cluster && !slots_known_) {
    const RedisLink& first = *links_.begin()->second;
    if (!first.hopeful()) set_up(false, first.trouble());
    return;
  }
  for (const auto& [address, link] : links_) {
    if (link->hopeful()) continue;
    // A node without slots is ignored.
    const bool used = slots_.empty() || std::find(slots_.begin(), slots_.end(), link.get()) != slots_.end();
    if (!used) continue;
    set_up(false, link->trouble());
    return;
  }
  const bool connected = !slots_.empty() || links_.begin()->second->ready();
  if (connected && set_up(true, {}) && listener_ != nullptr) listener_->on_connected();
}

void RedisClient::on_push(RedisLink& link, const resp::Reply& push) {
  if (&link != subscription_.get() || !push.is_list()) return;
  auto child = push.children();
  const std::string_view kind = child.next().text();
  if (kind == "subscribe") {
    subscribed_ = true;
    listener_->on_subscribed();
  } else if (kind == "message") {
    child.next();
    listener_->on_message(child.next().text());
  }
}

void RedisClient::start_ticking() {
  if (ticking_ || stopped_) return;
  ticking_ = true;
  loop_->set_ticks(*this, static_cast<std::uint64_t>(redis_tick / std::chrono::milliseconds(1)));
}

void RedisClient::on_deadline() {
  ticking_ = false;
  if (!stopped_) tick();
}

void RedisClient::tick() {
  const Clock::time_point now = Clock::now();
  for (RedisCall* call : std::exchange(later_, {})) {
    if (call->expires_ <= now + redis_tick) {
      on_failed(*call, {call->maybe_done_, "the cluster is not ready for this key"});
    } else {
      route(*call);
    }
  }
  bool busy = !later_.empty();
  for (auto& [address, link] : links_) {
    link->tick(now);
    busy = busy || !link->idle() || !link->ready();
  }
  if (subscription_) {
    subscription_->tick(now);
    busy = busy || !subscription_->ready();
  }
  if (options_.cluster && (refresh_wanted_ || !up())) refresh(now);
  flush();
  // An idle client runs no timer.
  if (busy || refresh_wanted_ || refreshing_ || !up()) start_ticking();
}

}  // namespace weir::net
