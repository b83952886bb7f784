#include "net/redis_link.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace weir::net {

namespace asio = boost::asio;
namespace resp = wire::resp;

namespace {

constexpr std::size_t input_size = std::size_t{64} * 1024;

}  // namespace

RedisLink::RedisLink(asio::io_context& context, const RedisOptions& options, RedisAddress address,
                     Owner& owner, base::Entropy& entropy, std::string first_words)
    : context_(context),
      options_(options),
      address_(std::move(address)),
      owner_(owner),
      entropy_(entropy),
      first_words_(std::move(first_words)),
      resolver_(context),
      // Half of the deadline: a busy machine may have taken a while to send the call.
      breaker_({.failures = 1, .silence = options.deadline / 2}, "not connected yet") {}

RedisLink::~RedisLink() = default;

void RedisLink::append(RedisCall& call) {
  if (sent_calls_.empty()) breaker_.break_silence(Clock::now());
  sent_calls_.push_back({&call, queued_bytes_});
  const std::size_t before = output_.size();
  if (call.asking_) {
    output_.append(resp::command({"ASKING"}));
    sent_calls_.back().call = nullptr;
    sent_calls_.push_back({&call, queued_bytes_});
    call.asking_ = false;
  }
  output_.append(call.command);
  queued_bytes_ += output_.size() - before;
}

void RedisLink::submit(RedisCall& call) {
  if (stage_ == Stage::ready) return append(call);
  waiting_.push_back(&call);
}

void RedisLink::flush() {
  // Inside read() it is done once, at its end.
  if (stage_ != Stage::ready || reading_ || waits_for_write_) return;
  if (!write()) fail("broke off");
}

/// Does all that can be done without waiting.
void RedisLink::drive() {
  if (stage_ == Stage::connecting) return connected();
  if (stage_ == Stage::securing) return secure();
  if (stage_ != Stage::greeting && stage_ != Stage::ready) return;
  const std::uint64_t serial = socket_serial_;
  owner_.before_answers();
  const bool intact = read();
  owner_.after_answers();
  if (serial != socket_serial_) return;
  if (!intact || !write()) return fail("broke off");
  if (stage_ == Stage::greeting || stage_ == Stage::ready) wait_for_read();
}

/// Reads until there is nothing left. False if the connection is broken.
bool RedisLink::read() {
  const std::uint64_t serial = socket_serial_;
  for (;;) {
    input_.reserve(input_.empty() ? input_size : input_size / 4);
    const std::span<char> room = input_.room();
    const Transport::Outcome outcome = transport_->read(room);
    switch (outcome.status) {
      case Transport::Status::needs_read:
        return true;
      case Transport::Status::needs_write:
        wait_for_write();
        return true;
      case Transport::Status::ended:
      case Transport::Status::failed:
        return false;
      case Transport::Status::done:
        break;
    }
    input_.commit(outcome.bytes);
    breaker_.break_silence(Clock::now());
    reading_ = true;
    while (!input_.empty()) {
      const auto status = reader_.read(input_.view());
      if (status == resp::ReplyReader::Status::incomplete) break;
      if (status == resp::ReplyReader::Status::malformed) {
        reading_ = false;
        fail("does not speak the protocol of Redis");
        return false;
      }
      receive(reader_.reply(input_.data()));
      if (serial != socket_serial_) return reading_ = false, false;
      input_.consume(reader_.size());
      reader_.reset();
    }
    reading_ = false;
    if (outcome.bytes < room.size() && !transport_->has_pending()) return true;
  }
}

bool RedisLink::write() {
  while (!output_.empty()) {
    const Transport::Outcome outcome = transport_->write(output_.view());
    switch (outcome.status) {
      case Transport::Status::done:
        written_bytes_ += outcome.bytes;
        output_.consume(outcome.bytes);
        break;
      case Transport::Status::needs_read:
        wait_for_read();
        return true;
      case Transport::Status::needs_write:
        wait_for_write();
        return true;
      default:
        return false;
    }
  }
  return true;
}

void RedisLink::receive(const resp::Reply& reply) {
  if (reply.type() == resp::Type::push) return owner_.on_push(*this, reply);
  if (stage_ == Stage::greeting) return greeted(reply);
  // It was only slow.
  if (breaker_.open() && breaker_.answered()) owner_.on_ready(*this);
  if (!first_words_.empty()) return owner_.on_push(*this, reply);
  answer(reply);
}

void RedisLink::answer(const resp::Reply& reply) {
  // More answers than calls: this is not who we think it is.
  if (sent_calls_.empty()) return fail("answers what it was not asked");
  RedisCall* const call = sent_calls_.front().call;
  sent_calls_.pop_front();
  if (call != nullptr) owner_.on_answer(*this, *call, reply);
}

void RedisLink::drop_socket() {
  ++socket_serial_;
  transport_.reset();
  descriptor_.reset();
  waits_for_read_ = waits_for_write_ = false;
}

void RedisLink::fail(const std::string& why) {
  const bool was_ready = stage_ == Stage::ready;
  breaker_.blame(base::join(address_.to_string(), " ", why));
  drop_socket();
  resolver_.cancel();
  stage_ = Stage::idle;
  schedule_attempt(Clock::now());
  // A connection that breaks is mostly back at once, and who has not sent anything yet can wait for it.
  if (!was_ready) breaker_.trip();
  // Before anybody is told: who then asks how the server is must not hear that all is well.
  owner_.on_lost(*this);
  const std::string trouble = breaker_.trouble();
  release_sent(trouble);
  if (breaker_.open()) release_waiting(trouble);
}

/// Calls of a lost connection: what was not sent, or can be sent again, waits for the next one.
void RedisLink::release_sent(const std::string& why) {
  std::deque<Sent> calls;
  calls.swap(sent_calls_);
  std::deque<RedisCall*> again;
  for (const Sent& sent : calls) {
    if (sent.call == nullptr) continue;
    sent.call->maybe_done_ = sent.call->maybe_done_ || written_bytes_ > sent.begins;
    if (hopeful() && (!sent.call->maybe_done_ || sent.call->repeatable)) {
      again.push_back(sent.call);
    } else {
      fail_call(*sent.call, why);
    }
  }
  waiting_.insert(waiting_.begin(), again.begin(), again.end());
}

void RedisLink::fail_call(RedisCall& call, const std::string& why) {
  owner_.on_failed(call, {call.maybe_done_, why});
}

void RedisLink::release_waiting(const std::string& why) {
  std::deque<RedisCall*> waiting;
  waiting.swap(waiting_);
  for (RedisCall* call : waiting) fail_call(*call, why);
}

void RedisLink::close(const std::string& why) {
  if (stage_ == Stage::closed) return;
  drop_socket();
  resolver_.cancel();
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
  // Who still waits has said how long it may take.
  const bool awaited = std::any_of(sent_calls_.begin(), sent_calls_.end(),
                                   [](const Sent& sent) { return sent.call != nullptr; });
  if (!awaited) fail("does not answer");
}

/// Calls whose time is over. Their answers may still come and are dropped.
void RedisLink::expire(Clock::time_point now) {
  const Clock::time_point by = now + redis_tick;
  std::vector<RedisCall*> late;
  for (Sent& sent : sent_calls_) {
    if (sent.call == nullptr || sent.call->expires_ > by) continue;
    sent.call->maybe_done_ = sent.call->maybe_done_ || written_bytes_ > sent.begins;
    late.push_back(std::exchange(sent.call, nullptr));
  }
  const std::size_t late_sent = late.size();
  std::erase_if(waiting_, [&](RedisCall* call) {
    if (call->expires_ > by) return false;
    late.push_back(call);
    return true;
  });
  if (late.empty()) return;
  // As in fail(), that the server is away is known before anybody is told.
  const std::string& known = breaker_.trouble();
  const bool gives_up =
      breaker_.unanswered(now, known.empty() ? address_.to_string() + " does not answer" : known);
  if (gives_up) owner_.on_lost(*this);
  const std::string unsent = known.empty() ? address_.to_string() + " is not connected" : known;
  for (std::size_t i = 0; i < late.size(); ++i)
    fail_call(*late[i], i < late_sent ? address_.to_string() + " does not answer in time" : unsent);
  if (gives_up) release_waiting(unsent);
}

void RedisLink::wait_for_read() {
  if (waits_for_read_ || descriptor_ == nullptr) return;
  waits_for_read_ = true;
  descriptor_->async_wait(Descriptor::wait_read,
                          [this, serial = socket_serial_](const boost::system::error_code& error) {
                            if (serial != socket_serial_) return;
                            waits_for_read_ = false;
                            error.failed() ? fail("broke off") : drive();
                          });
}

void RedisLink::wait_for_write() {
  if (waits_for_write_ || descriptor_ == nullptr) return;
  waits_for_write_ = true;
  descriptor_->async_wait(Descriptor::wait_write,
                          [this, serial = socket_serial_](const boost::system::error_code& error) {
                            if (serial != socket_serial_) return;
                            waits_for_write_ = false;
                            error.failed() ? fail("broke off") : drive();
                          });
}

}  // namespace weir::net
