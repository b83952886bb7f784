#include "store/redis/write_health.h"

#include "store/redis/context.h"

namespace weir::redis {

namespace {

constexpr std::chrono::milliseconds between_probes{100};

}  // namespace

void WriteHealth::refused(const Error& error, int at, std::string_view key) {
  const base::Guard guard(mutex_);
  error_ = error;
  refused_slot_ = at;
  if (!trying_) key_ = key;
  refusing_.store(true, std::memory_order_relaxed);
}

/// In a cluster one node may refuse while others do not.
void WriteHealth::clear(int at) {
  const base::Guard guard(mutex_);
  if (at == refused_slot_) refusing_.store(false, std::memory_order_relaxed);
}

Result<void> WriteHealth::check() {
  if (!refusing_.load(std::memory_order_relaxed)) return {};
  Error error{};
  bool try_again = false;
  {
    const base::Guard guard(mutex_);
    error = error_;
    const auto now = std::chrono::steady_clock::now();
    try_again = !trying_ && now - tried_at_ >= between_probes;
    if (try_again) {
      trying_ = true;
      tried_at_ = now;
      // XX updates existing members only, and the key has none.
      command = wire::resp::command({"ZADD", key_ + ":?", "XX", "0", "?"});
      slot = refused_slot_;
      repeatable = true;
    }
  }
  if (try_again) context_.client.send(*this);
  return error;
}

void WriteHealth::on_reply(const wire::resp::Reply& reply) {
  const base::Guard guard(mutex_);
  trying_ = false;
  if (reply.is_error()) {
    error_ = error_of(reply.text(), false);
  } else {
    refusing_.store(false, std::memory_order_relaxed);
  }
}

void WriteHealth::on_failure(const net::RedisFailure& /*failure*/) {
  const base::Guard guard(mutex_);
  trying_ = false;
}

}  // namespace weir::redis
