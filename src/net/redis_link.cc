#include "net/redis_link.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "net/redis_client.h"

namespace weir::net {

namespace resp = wire::resp;

RedisLink::RedisLink(RedisClient& client, RedisAddress address, std::string first_words)
    : client_(client),
      options_(client.options()),
      address_(std::move(address)),
      first_words_(std::move(first_words)),
      connection_(*client.loop_),
      // Half of the deadline: a busy machine may have taken a while to send the call.
      breaker_({.failures = 1, .silence = options_.deadline / 2}, "not connected yet") {}

void RedisLink::append(RedisCall& call) {
  if (sent_calls_.empty()) breaker_.break_silence(Clock::now());
  wire::Buffer& output = connection_.output();
  const std::uint64_t begins = connection_.sent() + output.size();
  if (call.asking_) {
    output.append(resp::command({"ASKING"}));
    sent_calls_.push_back({nullptr, begins});
    call.asking_ = false;
  }
  sent_calls_.push_back({&call, begins});
  output.append(call.command);
}

void RedisLink::submit(RedisCall& call) {
  if (stage_ == Stage::ready) return append(call);
  waiting_.push_back(&call);
}

void RedisLink::flush() {
  // on_input() flushes once, at its end.
  if (stage_ == Stage::ready && !reading_) connection_.flush();
}

void RedisLink::on_input() {
  breaker_.break_silence(Clock::now());
  RedisListener* const listener = client_.listener_;
  if (listener != nullptr) listener->before_answers();
  reading_ = true;
  take_replies();
  reading_ = false;
  if (listener != nullptr) listener->after_answers();
  flush();
}

void RedisLink::take_replies() {
  wire::Buffer& input = connection_.input();
  while (!input.empty()) {
    const auto status = reader_.read(input.view());
    if (status == resp::ReplyReader::Status::incomplete) return;
    if (status == resp::ReplyReader::Status::malformed) return fail("does not speak the protocol of Redis");
    receive(reader_.reply(input.data()));
    if (!connection_.is_open()) return;
    input.consume(reader_.size());
    reader_.reset();
  }
}

void RedisLink::on_failed(Outbound& /*connection*/, const Failure& why) {
  switch (why.kind) {
    case Failure::Kind::lost:
      return fail("broke off");
    case Failure::Kind::slow:
      return fail("does not answer");
    case Failure::Kind::tls:
      return fail(base::join("does not agree on TLS: ", why.detail));
    default:
      return fail(base::join("cannot be reached: ", why.detail));
  }
}

void RedisLink::receive(const resp::Reply& reply) {
  if (reply.type() == resp::Type::push) return client_.on_push(*this, reply);
  if (stage_ == Stage::greeting) return greeted(reply);
  // The server was only slow.
  if (breaker_.open() && breaker_.answered()) client_.on_ready(*this);
  if (!first_words_.empty()) return client_.on_push(*this, reply);
  answer(reply);
}

void RedisLink::answer(const resp::Reply& reply) {
  // More answers than calls: this is not a Redis server.
  if (sent_calls_.empty()) return fail("answers what it was not asked");
  RedisCall* const call = sent_calls_.front().call;
  sent_calls_.pop_front();
  if (call != nullptr) client_.on_answer(*this, *call, reply);
}

void RedisLink::fail(const std::string& why) {
  const bool was_ready = stage_ == Stage::ready;
  breaker_.blame(base::join(address_.to_string(), " ", why));
  connection_.close();
  stage_ = Stage::idle;
  schedule_attempt(Clock::now());
  // A broken connection is usually back at once, so calls that were not sent wait for it.
  if (!was_ready) breaker_.trip();
  // Before any callback: a callback that asks for the state of the server must see it unavailable.
  client_.on_lost(*this);
  const std::string trouble = breaker_.trouble();
  release_sent(trouble);
  if (breaker_.open()) release_waiting(trouble);
}

/// Calls of a lost connection: those not sent, and idempotent ones, wait for the next connection.
void RedisLink::release_sent(const std::string& why) {
  std::deque<Sent> calls;
  calls.swap(sent_calls_);
  std::deque<RedisCall*> again;
  for (const Sent& sent : calls) {
    if (sent.call == nullptr) continue;
    sent.call->maybe_done_ = sent.call->maybe_done_ || connection_.sent() > sent.begins;
    if (hopeful() && (!sent.call->maybe_done_ || sent.call->repeatable)) {
      again.push_back(sent.call);
    } else {
      fail_call(*sent.call, why);
    }
  }
  waiting_.insert(waiting_.begin(), again.begin(), again.end());
}

void RedisLink::fail_call(RedisCall& call, const std::string& why) {
  client_.on_failed(call, {call.maybe_done_, why});
}

void RedisLink::release_waiting(const std::string& why) {
  std::deque<RedisCall*> waiting;
  waiting.swap(waiting_);
  for (RedisCall* call : waiting) fail_call(*call, why);
}

void RedisLink::close(const std::string& why) {
  if (stage_ == Stage::closed) return;
  connection_.close();
  stage_ = Stage::closed;
  breaker_.blame(why);
  breaker_.trip();
  release_sent(why);
  release_waiting(why);
}

void RedisLink::tick(Clock::time_point now) {
  if (stage_ == Stage::closed) return;
  expire(now);
  if (stage_ == Stage::idle) {
    if (now >= attempt_at_) connect();
    return;
  }
  if (stage_ != Stage::ready) {
    if (now >= attempt_ends_) fail("does not answer");
    return;
  }
  if (sent_calls_.empty() || breaker_.silent_for(now) < options_.give_up_after) return;
  // A call that still waits has a longer deadline of its own.
  const bool awaited = std::any_of(sent_calls_.begin(), sent_calls_.end(),
                                   [](const Sent& sent) { return sent.call != nullptr; });
  if (!awaited) fail("does not answer");
}

/// Fails calls whose deadline has passed. Their answers may still come and are dropped.
void RedisLink::expire(Clock::time_point now) {
  const Clock::time_point by = now + redis_tick;
  std::vector<RedisCall*> late;
  for (Sent& sent : sent_calls_) {
    if (sent.call == nullptr || sent.call->expires_ > by) continue;
    sent.call->maybe_done_ = sent.call->maybe_done_ || connection_.sent() > sent.begins;
    late.push_back(std::exchange(sent.call, nullptr));
  }
  const std::size_t late_sent = late.size();
  std::erase_if(waiting_, [&](RedisCall* call) {
    if (call->expires_ > by) return false;
    late.push_back(call);
    return true;
  });
  if (late.empty()) return;
  // As in fail(), the breaker opens before any callback.
  const std::string& known = breaker_.trouble();
  const bool gives_up =
      breaker_.unanswered(now, known.empty() ? address_.to_string() + " does not answer" : known);
  if (gives_up) client_.on_lost(*this);
  const std::string unsent = known.empty() ? address_.to_string() + " is not connected" : known;
  for (std::size_t i = 0; i < late.size(); ++i)
    fail_call(*late[i], i < late_sent ? address_.to_string() + " does not answer in time" : unsent);
  if (gives_up) release_waiting(unsent);
}

}  // namespace weir::net
