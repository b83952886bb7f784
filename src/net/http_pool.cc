#include "net/http_pool.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/lock.h"
#include "net/dial.h"
#include "net/http_connection.h"

namespace weir::net {

using Kind = Failure::Kind;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

/// How often the deadlines of calls that have no connection are looked at.
constexpr milliseconds between_looks{5};
/// Addresses are looked up again after this long.
constexpr std::chrono::seconds addresses_are_good_for{10};

}  // namespace

/// The thread, and everything that only it touches. Shared with lookups, which may come back late.
class HttpPool::Inside final : public HttpConnection::Owner,
                               private Timer,
                               public std::enable_shared_from_this<Inside> {
 public:
  Inside(HttpPoolOptions options, TlsContext tls) : options_(std::move(options)), tls_(std::move(tls)) {}

  void start() {
    thread_ = std::thread([this] { loop_.run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    loop_.post([this] { end(); });
    thread_.join();
  }

  void send(HttpCall& call) {
    HttpPool::expiry_of(call) = Clock::now() + call.within;
    {
      const base::Guard guard(mutex_);
      if (!ending_ && outstanding_ < options_.most_calls) {
        ++outstanding_;
        handed_over_.push_back(&call);
        if (handed_over_.size() == 1) loop_.post([this] { take(); });
        return;
      }
    }
    call.on_failure({Kind::unreachable, "too many requests wait for an answer", false});
  }
  void after(milliseconds pause, std::function<void()> work) {
    {
      const base::Guard guard(mutex_);
      if (!ending_) {
        loop_.post(
            [this, pause, later = std::move(work)]() mutable { start_timer(pause, std::move(later)); });
        return;
      }
    }
    work();
  }
  bool is_here() const { return loop_.is_here(); }
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
  }

  /// Something that is to be done later.
  struct Later final : Timer {
    explicit Later(std::function<void()> what) : work(std::move(what)) {}
    void on_deadline() override { work(); }
    std::function<void()> work;
  };

  void start_timer(milliseconds pause, std::function<void()> work) {
    if (ended_ || pause.count() == 0) return work();
    auto timer = std::make_unique<Later>(std::move(work));
    Later& later = *timer;
    later.work = [this, &later, what = std::move(later.work)] {
      const auto found =
          std::find_if(timers_.begin(), timers_.end(), [&](const auto& one) { return one.get() == &later; });
      loop_.retire(std::move(*found));
      timers_.erase(found);
      what();
    };
    timers_.push_back(std::move(timer));
    loop_.set_timer(later, pause);
  }

  /// Gives waiting calls to free connections, and makes more of those where calls are left.
  void assign() {
    while (!waiting_.empty()) {
      const auto free = std::find_if(connections_.rbegin(), connections_.rend(),
                                     [](const auto& connection) { return connection->is_free(); });
      if (free == connections_.rend()) break;
      carry_next(**free);
    }
    make_more();
    if (!waiting_.empty()) loop_.set_timer(*this, between_looks);
  }

  void carry_next(HttpConnection& connection) {
    HttpCall& call = *waiting_.front();
    waiting_.pop_front();
    const auto left = std::chrono::ceil<milliseconds>(HttpPool::expiry_of(call) - Clock::now());
    connection.carry(call, call.body, std::max(left, milliseconds(0)));
  }

  void make_more() {
    const auto connecting = static_cast<std::size_t>(std::count_if(
        connections_.begin(), connections_.end(), [](const auto& one) { return one->is_connecting(); }));
    if (waiting_.size() <= connecting || connections_.size() >= options_.most_connections || looking_up_)
      return;
    if (addresses_.empty() || Clock::now() >= addresses_until_) return look_up();
    for (std::size_t wanted = waiting_.size() - connecting;
         wanted > 0 && connections_.size() < options_.most_connections && !waiting_.empty(); --wanted) {
      connections_.push_back(std::make_unique<HttpConnection>(loop_, options_, *this));
      open_.store(static_cast<unsigned>(connections_.size()), std::memory_order_relaxed);
      // Each begins with another address.
      std::rotate(addresses_.begin(), addresses_.begin() + 1, addresses_.end());
      // It may fail at once, and be gone.
      connections_.back()->connect(addresses_, tls_, options_.connect_within);
    }
  }

  void look_up() {
    looking_up_ = true;
    net::look_up(options_.host, options_.port, [weak = weak_from_this()](LookedUp found) {
      if (const auto inside = weak.lock())
        inside->loop_.post(
            [raw = inside.get(), found = std::move(found)]() mutable { raw->looked_up(std::move(found)); });
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
    const auto* const failure = std::get_if<Failure>(&found);
    fail_waiting(failure != nullptr ? *failure : Failure{Kind::no_such_host, "the name has no address"});
  }

  // HttpConnection::Owner
  void on_free(HttpConnection& connection) override {
    if (!waiting_.empty()) carry_next(connection);
  }

  void on_closed(HttpConnection& connection, const std::optional<Failure>& failure) override {
    const auto found = std::find_if(connections_.begin(), connections_.end(),
                                    [&](const auto& one) { return one.get() == &connection; });
    loop_.retire(std::move(*found));
    connections_.erase(found);
    open_.store(static_cast<unsigned>(connections_.size()), std::memory_order_relaxed);
    if (!failure) return assign_later();
    // Where others are connected, calls wait for those.
    const bool made = std::any_of(connections_.begin(), connections_.end(),
                                  [](const auto& one) { return !one->is_connecting(); });
    if (made) return;
    addresses_until_ = {};
    loop_.defer([this, why = *failure] { fail_waiting(why); });
  }
  void on_reply(HttpCall& call, const HttpReply& reply) override {
    released(1);
    call.on_reply(reply);
  }
  void on_failure(HttpCall& call, const Failure& failure) override {
    if (!failure.sent && failure.kind == Kind::lost && !ended_) {
      // Nothing of it has left: it goes to another connection.
      waiting_.push_front(&call);
      return assign_later();
    }
    released(1);
    call.on_failure(failure);
  }

  void assign_later() {
    loop_.defer([this] { assign(); });
  }

  void fail_waiting(const Failure& failure) {
    std::deque<HttpCall*> waiting;
    waiting.swap(waiting_);
    released(waiting.size());
    for (HttpCall* const call : waiting) call->on_failure({failure.kind, failure.detail, false});
  }

  void released(std::size_t calls) {
    const base::Guard guard(mutex_);
    outstanding_ -= calls;
  }

  /// Calls that wait for a connection have their deadlines too.
  void on_deadline() override {
    const Clock::time_point now = Clock::now();
    std::vector<HttpCall*> late;
    std::erase_if(waiting_, [&](HttpCall* call) {
      if (HttpPool::expiry_of(*call) > now) return false;
      late.push_back(call);
      return true;
    });
    if (!waiting_.empty()) loop_.set_timer(*this, between_looks);
    released(late.size());
    for (HttpCall* const call : late) call->on_failure({Kind::slow, "no connection in time", false});
  }

  void end() {
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
    while (!timers_.empty()) timers_.back()->on_deadline();
    loop_.stop();
  }

  const HttpPoolOptions options_;
  const TlsContext tls_;
  Loop loop_{milliseconds(1)};
  std::vector<std::unique_ptr<Later>> timers_;

  base::Mutex mutex_;
  std::vector<HttpCall*> handed_over_ WEIR_GUARDED_BY(mutex_);
  std::size_t outstanding_ WEIR_GUARDED_BY(mutex_) = 0;
  bool ending_ WEIR_GUARDED_BY(mutex_) = false;

  std::vector<std::unique_ptr<HttpConnection>> connections_;
  std::atomic<unsigned> open_{0};
  std::deque<HttpCall*> waiting_;
  std::vector<Address> addresses_;
  Clock::time_point addresses_until_;
  bool looking_up_ = false;
  bool ended_ = false;
  std::thread thread_;
};

HttpPool::HttpPool(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}

Result<std::unique_ptr<HttpPool>> HttpPool::start(HttpPoolOptions options) {
  TlsContext tls;
  if (options.tls) {
    auto loaded = load_client_tls({.authorities = options.ca_file, .http = true});
    if (!loaded) return loaded.error();
    tls = *std::move(loaded);
  }
  auto inside = std::make_shared<Inside>(std::move(options), std::move(tls));
  inside->start();
  return std::unique_ptr<HttpPool>(new HttpPool(std::move(inside)));
}

HttpPool::~HttpPool() { inside_->stop(); }

void HttpPool::stop() { inside_->stop(); }
void HttpPool::send(HttpCall& call) { inside_->send(call); }
void HttpPool::after(std::chrono::milliseconds pause, std::function<void()> work) {
  inside_->after(pause, std::move(work));
}
bool HttpPool::is_here() const { return inside_->is_here(); }
unsigned HttpPool::connections() const { return inside_->connections(); }
const HttpPoolOptions& HttpPool::options() const { return inside_->options(); }

}  // namespace weir::net
