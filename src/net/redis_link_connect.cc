// How a link connects: lookup, socket, TLS, greeting.
#include <algorithm>

#include "base/text.h"
#include "net/redis_client.h"

namespace weir::net {

namespace resp = wire::resp;

namespace {

/// The most that one read takes: many short answers.
constexpr std::size_t input_size = std::size_t{64} * 1024;

}  // namespace

void RedisLink::connect() {
  stage_ = Stage::resolving;
  attempt_ends_ = Clock::now() + options_.connect_within;
  look_up(address_.host, address_.port, [this, loop = client_.loop_, lookup = ++lookup_](LookedUp found) {
    // Does not run if the loop has ended meanwhile, with the link.
    loop->post([this, lookup, found = std::move(found)] {
      if (lookup == lookup_ && stage_ == Stage::resolving) resolved(found);
    });
  });
}

void RedisLink::resolved(const LookedUp& found) {
  if (const auto* const failure = std::get_if<Failure>(&found))
    return fail(base::join("cannot be found: ", failure->detail));
  stage_ = Stage::connecting;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(attempt_ends_ - Clock::now());
  if (!connection_.connect(*this, {std::get<std::vector<Address>>(found), options_.tls, address_.host}, left))
    on_failed(connection_, connection_.failure());
}

/// Authenticates. With a server that does not know HELLO the link uses RESP2.
void RedisLink::greet() {
  stage_ = Stage::greeting;
  reader_.reset();
  connection_.input().reserve(input_size);
  const std::string user = options_.user.empty() ? "default" : options_.user;
  greetings_left_ = 0;
  const auto say = [&](std::initializer_list<std::string_view> words) {
    connection_.output().append(resp::command(words));
    ++greetings_left_;
  };
  if (!plain_greeting_) {
    options_.password.empty() ? say({"HELLO", "3"}) : say({"HELLO", "3", "AUTH", user, options_.password});
  } else if (!options_.password.empty()) {
    options_.user.empty() ? say({"AUTH", options_.password}) : say({"AUTH", user, options_.password});
  }
  if (options_.database != 0) say({"SELECT", std::to_string(options_.database)});
  say({"PING"});
  breaker_.break_silence(Clock::now());
}

void RedisLink::greeted(const resp::Reply& reply) {
  if (reply.is_error()) {
    const std::string_view why = reply.text();
    const bool unknown = why.starts_with("ERR unknown command") || why.starts_with("NOPROTO");
    if (unknown && !plain_greeting_) {
      plain_greeting_ = true;
      attempts_ = 0;
    }
    return fail(base::join("does not accept us: ", why));
  }
  if (--greetings_left_ == 0) become_ready();
}

void RedisLink::become_ready() {
  stage_ = Stage::ready;
  attempts_ = 0;
  breaker_.answered();
  if (!first_words_.empty()) connection_.output().append(first_words_);
  std::deque<RedisCall*> waiting;
  waiting.swap(waiting_);
  for (RedisCall* call : waiting) append(*call);
  client_.on_ready(*this);
  flush();
}

/// The first attempt follows at once, later ones with exponential backoff, half of it random, so that a
/// thousand clients do not reconnect together.
void RedisLink::schedule_attempt(Clock::time_point now) {
  if (attempts_++ == 0) {
    attempt_at_ = now;
    return;
  }
  const unsigned doublings = attempts_ < 5 ? attempts_ : 5;
  const auto pause = std::min<std::chrono::milliseconds>(std::chrono::milliseconds(20U << doublings),
                                                         options_.longest_pause);
  const auto half = static_cast<std::uint64_t>(pause.count() / 2 + 1);
  attempt_at_ = now + std::chrono::milliseconds(half + client_.entropy_.next() % half);
}

}  // namespace weir::net
