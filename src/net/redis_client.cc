#include "net/redis_client.h"

#include "base/text.h"
#include "net/redis_router.h"

namespace weir::net {

RedisClient::RedisClient(RedisOptions options, base::Entropy& entropy, std::string channel,
                         RedisListener* listener)
    : options_(std::move(options)),
      router_(std::make_unique<RedisRouter>(*this, entropy, std::move(channel), listener)) {}

RedisClient::~RedisClient() = default;

void RedisClient::start() { router_->start(); }

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

bool RedisClient::is_here() const { return router_->is_here(); }

void RedisClient::send(RedisCall& call) {
  if (!options_.cluster && !up() && !call.repeatable) {
    // Before the first connection there is nothing to be known yet.
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
  // In a round more will follow, and its end is soon.
  if (gathers && rounds_.load() > 0) return;
  router_->wake();
}

void RedisClient::end_round() {
  rounds_.fetch_sub(1);
  // Whoever has seen the round has put its call there before.
  if (handed_over_.load() != nullptr) router_->wake();
}

void RedisClient::hand_over(RedisCall& call) {
  RedisCall* first = handed_over_.load(std::memory_order_relaxed);
  do {
    call.next_ = first;
  } while (!handed_over_.compare_exchange_weak(first, &call));
}

}  // namespace weir::net
