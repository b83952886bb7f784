#include "net/http_pool.h"

#include <algorithm>
#include <utility>

namespace weir::net {

using Kind = Failure::Kind;
using std::chrono::milliseconds;

namespace {

/// How often the deadlines of calls without a connection are checked.
constexpr milliseconds between_looks{5};
/// Addresses are looked up again after this long.
constexpr std::chrono::seconds addresses_are_good_for{10};

}  // namespace

Result<std::unique_ptr<HttpPool>> HttpPool::make(HttpPoolOptions options) {
  TlsContext tls;
  if (options.tls) {
    auto loaded = load_client_tls({.authorities = options.ca_file, .http = true});
    if (!loaded) return loaded.error();
    tls = *std::move(loaded);
  }
  return std::unique_ptr<HttpPool>(new HttpPool(std::move(options), std::move(tls)));
}

Result<std::unique_ptr<HttpPool>> HttpPool::start(HttpPoolOptions options) {
  auto made = make(std::move(options));
  if (made) (*made)->thread_ = std::thread([loop = (*made)->loop_] { loop->run(); });
  return made;
}

HttpPool::~HttpPool() {
  stop();
  // A lookup that is late may destroy the loop on its own thread as soon as this pool lets go of it.
  TimerWheel::cancel(*this);
}

void HttpPool::stop() {
  if (!thread_.joinable()) return;
  loop_->post([this] { end(); });
  thread_.join();
}

void HttpPool::send(HttpCall& call) {
  call.expires_ = Clock::now() + call.within;
  {
    const base::Guard guard(mutex_);
    if (!ending_ && outstanding_ < options_.most_calls) {
      ++outstanding_;
      handed_over_.push_back(&call);
      if (handed_over_.size() == 1) loop_->post([this] { take(); });
      return;
    }
  }
  call.on_failure({Kind::unreachable, "too many requests wait for an answer", false});
}

void HttpPool::after(milliseconds pause, std::function<void()> work) {
  {
    const base::Guard guard(mutex_);
    if (!ending_) {
      loop_->post([this, pause, later = std::move(work)] { start_timer(pause, later); });
      return;
    }
  }
  work();
}

void HttpPool::start_timer(milliseconds pause, std::function<void()> work) {
  if (ended_ || pause.count() == 0) return work();
  Later& later = *timers_.emplace_back(std::make_unique<Later>());
  later.work = [this, &later, what = std::move(work)] {
    const auto found =
        std::find_if(timers_.begin(), timers_.end(), [&](const auto& one) { return one.get() == &later; });
    loop_->retire(std::move(*found));
    timers_.erase(found);
    what();
  };
  loop_->set_timer(later, pause);
}

/// Takes the calls that other threads have handed over.
void HttpPool::take() {
  std::vector<HttpCall*> calls;
  {
    const base::Guard guard(mutex_);
    calls.swap(handed_over_);
  }
  for (HttpCall* const call : calls) waiting_.push_back(call);
  assign();
}

/// Gives waiting calls to free connections, and opens more connections for the rest.
void HttpPool::assign() {
  while (!waiting_.empty()) {
    const auto free = std::find_if(connections_.rbegin(), connections_.rend(),
                                   [](const auto& connection) { return connection->is_free(); });
    if (free == connections_.rend()) break;
    carry_next(**free);
  }
  make_more();
  if (!waiting_.empty()) loop_->set_timer(*this, between_looks);
}

void HttpPool::assign_later() {
  loop_->defer([this] { assign(); });
}

void HttpPool::carry_next(HttpConnection& connection) {
  HttpCall& call = *waiting_.front();
  waiting_.pop_front();
  const auto left = std::chrono::ceil<milliseconds>(call.expires_ - Clock::now());
  connection.carry(call, std::max(left, milliseconds(0)));
}

void HttpPool::make_more() {
  const auto connecting = static_cast<std::size_t>(std::count_if(
      connections_.begin(), connections_.end(), [](const auto& one) { return one->is_connecting(); }));
  if (waiting_.size() <= connecting || connections_.size() >= options_.most_connections || looking_up_)
    return;
  if (addresses_.empty() || Clock::now() >= addresses_until_) return find_server();
  for (std::size_t wanted = waiting_.size() - connecting;
       wanted > 0 && connections_.size() < options_.most_connections && !waiting_.empty(); --wanted) {
    HttpConnection& made = *connections_.emplace_back(std::make_unique<HttpConnection>(*this));
    open_.store(static_cast<unsigned>(connections_.size()), std::memory_order_relaxed);
    // Each connection starts with another address.
    std::rotate(addresses_.begin(), addresses_.begin() + 1, addresses_.end());
    // connect() may fail at once and destroy it.
    made.connect(addresses_, tls_);
  }
}

void HttpPool::find_server() {
  looking_up_ = true;
  look_up(options_.host, options_.port, [this, loop = loop_](LookedUp found) {
    // Does not run if the loop has ended meanwhile, with the pool.
    loop->post([this, found = std::move(found)] { looked_up(found); });
  });
}

void HttpPool::looked_up(const LookedUp& found) {
  looking_up_ = false;
  const auto* const addresses = std::get_if<std::vector<Address>>(&found);
  const auto* const failure = std::get_if<Failure>(&found);
  if (addresses != nullptr && !addresses->empty()) addresses_ = *addresses;
  // Old addresses are better than none.
  if (addresses_.empty())
    return fail_waiting(failure != nullptr ? *failure
                                           : Failure{Kind::no_such_host, "the name has no address"});
  addresses_until_ = Clock::now() + addresses_are_good_for;
  assign();
}

void HttpPool::on_free(HttpConnection& connection) {
  if (!waiting_.empty()) carry_next(connection);
}

void HttpPool::on_closed(HttpConnection& connection, const std::optional<Failure>& failure) {
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const auto& one) { return one.get() == &connection; });
  loop_->retire(std::move(*found));
  connections_.erase(found);
  open_.store(static_cast<unsigned>(connections_.size()), std::memory_order_relaxed);
  if (!failure) return assign_later();
  // If another connection is open, the calls wait for it.
  const bool made = std::any_of(connections_.begin(), connections_.end(),
                                [](const auto& one) { return !one->is_connecting(); });
  if (made) return;
  addresses_until_ = {};
  loop_->defer([this, why = *failure] { fail_waiting(why); });
}

void HttpPool::on_reply(HttpCall& call, const HttpReply& reply) {
  released(1);
  call.on_reply(reply);
}

void HttpPool::on_failure(HttpCall& call, const Failure& failure) {
  if (!failure.sent && failure.kind == Kind::lost && !ended_) {
    // None of it was sent, so another connection can carry it.
    waiting_.push_front(&call);
    return assign_later();
  }
  released(1);
  call.on_failure(failure);
}

void HttpPool::fail_waiting(const Failure& failure) {
  std::deque<HttpCall*> waiting;
  waiting.swap(waiting_);
  released(waiting.size());
  for (HttpCall* const call : waiting) call->on_failure({failure.kind, failure.detail, false});
}

void HttpPool::released(std::size_t calls) {
  const base::Guard guard(mutex_);
  outstanding_ -= calls;
}

/// Fails calls whose deadline passes while they wait for a connection.
void HttpPool::on_deadline() {
  const Clock::time_point now = Clock::now();
  std::vector<HttpCall*> late;
  std::erase_if(waiting_, [&](HttpCall* call) {
    if (call->expires_ > now) return false;
    late.push_back(call);
    return true;
  });
  if (!waiting_.empty()) loop_->set_timer(*this, between_looks);
  released(late.size());
  for (HttpCall* const call : late) call->on_failure({Kind::slow, "no connection in time", false});
}

void HttpPool::end() {
  ended_ = true;
  {
    const base::Guard guard(mutex_);
    ending_ = true;
    for (HttpCall* const call : handed_over_) waiting_.push_back(call);
    handed_over_.clear();
  }
  const Failure failure{Kind::lost, "the program is ending"};
  while (!connections_.empty()) connections_.back()->close(failure);
  fail_waiting(failure);
  while (!timers_.empty()) {
    // It may be due in this turn of the loop, and must not fire twice.
    TimerWheel::cancel(*timers_.back());
    timers_.back()->on_deadline();
  }
  loop_->stop();
}

}  // namespace weir::net
