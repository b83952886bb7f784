#include "net/http_pool.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/lock.h"
#include "base/text.h"
#include "net/dial.h"
#include "net/pooled_connection.h"

namespace weir::net {

namespace asio = boost::asio;
using Kind = HttpFailure::Kind;
using Clock = std::chrono::steady_clock;

namespace {

/// How often deadlines are looked at while there are any.
constexpr std::chrono::milliseconds tick_length{5};
constexpr std::chrono::milliseconds seldom_length{250};
/// Addresses are looked up again after this long.
constexpr std::chrono::seconds addresses_are_good_for{10};

}  // namespace

/// The thread, and everything that only it touches. Shared with lookups, which may come back late.
class HttpPool::Loop final : public PooledConnection::Owner, public std::enable_shared_from_this<Loop> {
 public:
  Loop(HttpPoolOptions options, TlsContext tls)
      : options_(std::move(options)),
        tls_(std::move(tls)),
        guard_(context_.get_executor()),
        timer_(context_) {}

  void start() {
    thread_ = std::thread([this] { context_.run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] { end(); });
    thread_.join();
  }

  void send(HttpCall& call) {
    HttpPool::expiry_of(call) = Clock::now() + call.within;
    {
      const base::Guard guard(mutex_);
      if (!ending_ && outstanding_ < options_.most_calls) {
        ++outstanding_;
        handed_over_.push_back(&call);
        if (handed_over_.size() == 1) asio::post(context_, [this] { take(); });
        return;
      }
    }
    call.on_failure({Kind::unreachable, "too many requests wait for an answer", false});
  }
  void after(std::chrono::milliseconds pause, std::function<void()> work) {
    {
      const base::Guard guard(mutex_);
      if (!ending_) {
        const Clock::time_point at = Clock::now() + pause;
        asio::post(context_,
                   [this, at, later = std::move(work)]() mutable { start_timer(at, std::move(later)); });
        return;
      }
    }
    work();
  }
  bool is_here() const { return std::this_thread::get_id() == thread_.get_id(); }
  unsigned connections() const { return open_.load(std::memory_order_relaxed); }
  const HttpPoolOptions& options() const { return options_; }

 private:
  /// Takes what other threads have handed over.
  void take() {
    std::vector<HttpCall*> calls;
    {
      const base::Guard guard(mutex_);
      calls.swap(handed_over_);
    }
    for (HttpCall* const call : calls) waiting_.push_back(call);
    assign();
    keep_time();
  }

  void start_timer(Clock::time_point at, std::function<void()> work) {
    if (ended_) return work();
    const auto timer = std::make_shared<asio::steady_timer>(context_, at);
    timers_.push_back(timer);
    timer->async_wait([this, timer, later = std::move(work)](const boost::system::error_code&) {
      std::erase(timers_, timer);
      later();
    });
  }

  /// Gives waiting calls to free connections, and makes more of those where calls are left.
  void assign() {
    while (!waiting_.empty()) {
      const auto free = std::find_if(connections_.rbegin(), connections_.rend(),
                                     [](const auto& connection) { return connection->is_free(); });
      if (free == connections_.rend()) break;
      HttpCall* const call = waiting_.front();
      waiting_.pop_front();
      (*free)->carry(*call);
    }
    make_more();
  }

  void make_more() {
    const auto connecting = static_cast<std::size_t>(std::count_if(
        connections_.begin(), connections_.end(), [](const auto& one) { return one->is_connecting(); }));
    if (waiting_.size() <= connecting || connections_.size() >= options_.most_connections || looking_up_)
      return;
    if (addresses_.empty() || Clock::now() >= addresses_until_) return look_up();
    for (std::size_t wanted = waiting_.size() - connecting;
         wanted > 0 && connections_.size() < options_.most_connections && !waiting_.empty(); --wanted) {
      connections_.push_back(std::make_unique<PooledConnection>(context_, options_, tls_, *this));
      open_.store(static_cast<unsigned>(connections_.size()), std::memory_order_relaxed);
      const Address to = addresses_[next_address_++ % addresses_.size()];
      // It may fail at once, and be gone.
      connections_.back()->connect(to);
    }
  }

  void look_up() {
    looking_up_ = true;
    net::look_up(options_.host, options_.port, [weak = weak_from_this()](LookedUp found) {
      if (const auto loop = weak.lock())
        asio::post(loop->context_, [raw = loop.get(), found = std::move(found)]() mutable {
          raw->looked_up(std::move(found));
        });
    });
  }

  void looked_up(LookedUp found) {
    looking_up_ = false;
    if (auto* const addresses = std::get_if<std::vector<Address>>(&found);
        addresses != nullptr && !addresses->empty()) {
      addresses_ = std::move(*addresses);
      addresses_until_ = Clock::now() + addresses_are_good_for;
      return assign();
    }
    // Old addresses are better than none.
    if (!addresses_.empty()) {
      addresses_until_ = Clock::now() + addresses_are_good_for;
      return assign();
    }
    const auto* const failure = std::get_if<HttpFailure>(&found);
    fail_waiting(failure != nullptr ? *failure : HttpFailure{Kind::no_such_host, "the name has no address"});
  }

  // PooledConnection::Owner
  void on_free(PooledConnection& connection) override {
    attempts_ = 0;
    if (waiting_.empty() || !connection.is_free()) return;
    HttpCall* const call = waiting_.front();
    waiting_.pop_front();
    connection.carry(*call);
  }

  void on_closed(PooledConnection& connection, const std::optional<HttpFailure>& failure) override {
    const auto found = std::find_if(connections_.begin(), connections_.end(),
                                    [&](const auto& one) { return one.get() == &connection; });
    // It is still at work: destroyed when the loop has nothing of it on its stack.
    gone_.push_back(std::move(*found));
    connections_.erase(found);
    open_.store(static_cast<unsigned>(connections_.size()), std::memory_order_relaxed);
    asio::post(context_, [this] { gone_.clear(); });
    if (!failure) return assign_later();
    // Each address gets its chance before anybody is told; and where others are connected, calls wait for
    // those.
    const bool made = std::any_of(connections_.begin(), connections_.end(),
                                  [](const auto& one) { return !one->is_connecting(); });
    if (made) return;
    // That nobody listens at one address says less than what is wrong at another.
    if (attempts_ == 0 || last_failure_.kind == Kind::refused) last_failure_ = *failure;
    if (++attempts_ < addresses_.size()) return assign_later();
    attempts_ = 0;
    addresses_until_ = {};
    asio::post(context_, [this] { fail_waiting(last_failure_); });
  }
  void on_reply(HttpCall& call, const HttpReply& reply) override {
    released(1);
    call.on_reply(reply);
  }
  void on_failure(HttpCall& call, const HttpFailure& failure) override {
    if (!failure.sent && failure.kind == Kind::lost && !ended_) {
      // Nothing of it has left: it goes to another connection.
      waiting_.push_front(&call);
      return assign_later();
    }
    released(1);
    call.on_failure(failure);
  }

  void assign_later() {
    asio::post(context_, [this] { assign(); });
  }

  void fail_waiting(const HttpFailure& failure) {
    std::deque<HttpCall*> waiting;
    waiting.swap(waiting_);
    released(waiting.size());
    for (HttpCall* const call : waiting) call->on_failure({failure.kind, failure.detail, false});
  }

  void released(std::size_t calls) {
    const base::Guard guard(mutex_);
    outstanding_ -= calls;
  }

  bool busy() const {
    return !waiting_.empty() || std::any_of(connections_.begin(), connections_.end(),
                                            [](const auto& one) { return !one->is_free(); });
  }

  /// Looks at the deadlines again and again, as long as there is one; seldom where nobody waits.
  void keep_time() {
    if (ended_) return;
    const bool seldom = !busy();
    if (ticking_ && (!ticks_seldom_ || seldom)) return;
    ticking_ = true;
    ticks_seldom_ = seldom;
    // Takes the place of what it waited for before.
    timer_.expires_after(seldom ? seldom_length : tick_length);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error.failed()) return;
      ticking_ = false;
      tick();
    });
  }

  void tick() {
    const Clock::time_point now = Clock::now();
    std::vector<PooledConnection*> all;
    for (const auto& connection : connections_) all.push_back(connection.get());
    for (PooledConnection* const connection : all) connection->tick(now);
    for (std::size_t i = 0; i < waiting_.size();) {
      HttpCall* const call = waiting_[i];
      if (HttpPool::expiry_of(*call) > now) {
        ++i;
        continue;
      }
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      released(1);
      call->on_failure({Kind::slow, "no connection in time", false});
    }
    if (!connections_.empty() || !waiting_.empty()) keep_time();
  }

  void end() {
    ended_ = true;
    {
      const base::Guard guard(mutex_);
      ending_ = true;
      for (HttpCall* const call : handed_over_) waiting_.push_back(call);
      handed_over_.clear();
    }
    timer_.cancel();
    for (const auto& timer : timers_) timer->cancel();
    const HttpFailure failure{Kind::lost, "the program is ending", false};
    while (!connections_.empty()) connections_.back()->close(failure);
    fail_waiting(failure);
    guard_.reset();
  }

  const HttpPoolOptions options_;
  const TlsContext tls_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  asio::steady_timer timer_;
  std::vector<std::shared_ptr<asio::steady_timer>> timers_;

  base::Mutex mutex_;
  std::vector<HttpCall*> handed_over_ WEIR_GUARDED_BY(mutex_);
  std::size_t outstanding_ WEIR_GUARDED_BY(mutex_) = 0;
  bool ending_ WEIR_GUARDED_BY(mutex_) = false;

  std::vector<std::unique_ptr<PooledConnection>> connections_;
  std::vector<std::unique_ptr<PooledConnection>> gone_;
  std::atomic<unsigned> open_{0};
  std::deque<HttpCall*> waiting_;
  std::vector<Address> addresses_;
  Clock::time_point addresses_until_;
  std::size_t next_address_ = 0;
  std::size_t attempts_ = 0;  ///< to connect, that failed in a row
  HttpFailure last_failure_;  ///< of those
  bool looking_up_ = false;
  bool ticking_ = false;
  bool ticks_seldom_ = false;
  bool ended_ = false;
  std::thread thread_;
};

HttpPool::HttpPool(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}

Result<std::unique_ptr<HttpPool>> HttpPool::start(HttpPoolOptions options) {
  TlsContext tls;
  if (options.tls) {
    auto loaded = load_client_tls({.authorities = options.ca_file, .http = true});
    if (!loaded) return loaded.error();
    tls = *std::move(loaded);
  }
  auto loop = std::make_shared<Loop>(std::move(options), std::move(tls));
  loop->start();
  return std::unique_ptr<HttpPool>(new HttpPool(std::move(loop)));
}

HttpPool::~HttpPool() { loop_->stop(); }

void HttpPool::stop() { loop_->stop(); }
void HttpPool::send(HttpCall& call) { loop_->send(call); }
void HttpPool::after(std::chrono::milliseconds pause, std::function<void()> work) {
  loop_->after(pause, std::move(work));
}
bool HttpPool::is_here() const { return loop_->is_here(); }
unsigned HttpPool::connections() const { return loop_->connections(); }
const HttpPoolOptions& HttpPool::options() const { return loop_->options(); }

}  // namespace weir::net
