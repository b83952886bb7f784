#include "net/worker.h"

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

#include "net/connection.h"
#include "net/session.h"

namespace weir::net {

namespace asio = boost::asio;

namespace {

/// Large enough for nearly every request with its body; what is larger grows a buffer of its own.
constexpr std::size_t buffer_size = std::size_t{16} * 1024;
constexpr std::size_t most_spare = 256;

/// The worker whose thread this is.
thread_local const Worker* here = nullptr;

/// While it lives, the worker does not go.
class Visit {
 public:
  explicit Visit(std::atomic<unsigned>& count) : count_(count) {
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  ~Visit() { count_.fetch_sub(1, std::memory_order_release); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  std::atomic<unsigned>& count_;
};

}  // namespace

Worker::Worker(unsigned index, const ServerOptions& options, Handler& handler, Counters& counters)
    : index_(index),
      options_(options),
      handler_(handler),
      counters_(counters),
      context_(1),  // one thread runs it; others may post
      readiness_(context_, [this] { turn(); }),
      bell_(readiness_, [this] { answer_bell(); }),
      work_(context_.get_executor()),
      ticker_(context_),
      started_(Clock::now()) {}

Worker::~Worker() {
  while (visitors_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  TimerWheel::cancel(*this);
}

void Worker::run() {
  here = this;
  handler_.on_thread(*this);
  bell_.begin();
  readiness_.begin();
  context_.run();
  handler_.on_thread_end();
  here = nullptr;
}

bool Worker::is_here() const { return here == this; }

void Worker::listen(std::unique_ptr<Listener> listener) {
  listeners_.push_back(std::move(listener));
  listeners_.back()->begin();
}

void Worker::stop_accepting() {
  for (const auto& listener : listeners_) listener->stop();
}

void Worker::adopt(int socket, const Address& peer, bool tls) {
  TlsConnection secured;
  if (tls) {
    secured = accept_tls(tls_, socket);
    if (!secured) {
      ::close(socket);
      counters_.open.fetch_sub(1, std::memory_order_relaxed);
      return;
    }
  }
  auto connection = std::make_unique<Connection>(*this, socket, peer, std::move(secured));
  connection->next = connections_;
  if (connections_ != nullptr) connections_->previous = connection.get();
  connections_ = connection.release();
  start_ticking();
  connections_->begin();
}

void Worker::retire(Connection& connection) {
  (connection.previous != nullptr ? connection.previous->next : connections_) = connection.next;
  if (connection.next != nullptr) connection.next->previous = connection.previous;
  counters_.open.fetch_sub(1, std::memory_order_relaxed);
  // Its own members may still be on the stack.
  if (retired_.empty()) {
    asio::post(context_, [this] { bury(); });
  }
  retired_.emplace_back(&connection);
}

void Worker::bury() {
  std::exchange(retired_, {}).clear();
  stop_if_empty();
}

void Worker::drain(std::chrono::milliseconds at_most) {
  stop_accepting();
  draining_ = true;
  start_ticking();
  set_deadline(*this, ticks(at_most));
  for (Connection* connection = connections_; connection != nullptr;) {
    Connection* next = connection->next;
    connection->drain();
    connection = next;
  }
  if (at_most.count() <= 0) close_all();
  stop_if_empty();
}

/// The deadline of drain().
void Worker::on_deadline() { close_all(); }

void Worker::close_all() {
  for (Connection* connection = connections_; connection != nullptr;) {
    Connection* next = connection->next;
    connection->close();
    connection = next;
  }
}

void Worker::stop_if_empty() {
  if (!draining_ || connections_ != nullptr || !retired_.empty()) return;
  stopped_ = true;
  listeners_.clear();
  work_.reset();
  ticker_.cancel();
  readiness_.stop();
  TimerWheel::cancel(*this);
}

std::uint64_t Worker::tick_now() const {
  return static_cast<std::uint64_t>((Clock::now() - started_) / options_.tick);
}

std::uint64_t Worker::ticks(std::chrono::milliseconds time) const {
  const auto whole = (time + options_.tick - std::chrono::milliseconds(1)) / options_.tick;
  // One more, since the present tick has partly passed.
  return static_cast<std::uint64_t>(whole) + 1;
}

void Worker::set_deadline(Timer& timer, std::uint64_t ticks_from_now) {
  wheel_.set(timer, wheel_.now() + ticks_from_now);
}

void Worker::start_ticking() {
  if (ticking_) return;
  ticking_ = true;
  wheel_.advance(tick_now());
  wait_for_tick();
}

void Worker::wait_for_tick() {
  ticker_.expires_after(options_.tick);
  ticker_.async_wait([this](const boost::system::error_code& error) {
    ticking_ = false;
    if (error.failed()) return;
    wheel_.advance(tick_now());
    if (!has_to_tick() || ticking_) return;
    ticking_ = true;
    wait_for_tick();
  });
}

void Worker::turn() {
  set_busy(true);
  readiness_.take_events();
  set_busy(false);
}

void Worker::post(Task task) {
  const Visit visit(visitors_);
  set_busy(true);
  {
    const base::Guard guard(mutex_);
    posted_.push_back(task);
  }
  bell_.ring();
}

void Worker::defer(Task task) { asio::post(context_, task); }

void Worker::answer_bell() {
  take_handed_over();
  std::vector<Task> posted;
  {
    const base::Guard guard(mutex_);
    posted.swap(posted_);
  }
  for (const Task& task : posted) task();
}

void Worker::set_busy(bool busy) {
  if (busy_.load(std::memory_order_relaxed) == busy || busy_.exchange(busy) == busy) return;
  if (busy) {
    handler_.on_busy();
  } else {
    handler_.on_idle();
  }
}

void Worker::hand_over(ExchangeState& state) {
  const Visit visit(visitors_);
  ExchangeState* first = handed_over_.load(std::memory_order_relaxed);
  do {
    state.next_finished = first;
  } while (!handed_over_.compare_exchange_weak(first, &state, std::memory_order_release,
                                               std::memory_order_relaxed));
  // Whoever finds the list empty wakes the thread, for all that come until it looks.
  if (first != nullptr) return;
  set_busy(true);
  bell_.ring();
}

void Worker::take_handed_over() {
  ExchangeState* taken = handed_over_.exchange(nullptr, std::memory_order_acquire);
  ExchangeState* in_order = nullptr;
  while (taken != nullptr) {
    ExchangeState* next = std::exchange(taken->next_finished, in_order);
    in_order = std::exchange(taken, next);
  }
  while (in_order != nullptr) {
    ExchangeState& state = *std::exchange(in_order, in_order->next_finished);
    state.session->finished_elsewhere(state);
  }
}

ExchangeState* Worker::take_state() {
  if (spare_states_.empty()) return new ExchangeState;
  ExchangeState* state = spare_states_.back().release();
  spare_states_.pop_back();
  return state;
}

void Worker::give_back(ExchangeState* state) {
  std::unique_ptr<ExchangeState> owned(state);
  if (spare_states_.size() == most_spare) return;
  state->reset();
  spare_states_.push_back(std::move(owned));
}

wire::Buffer Worker::take_buffer() {
  if (spare_buffers_.empty()) return wire::Buffer(buffer_size);
  wire::Buffer buffer = std::move(spare_buffers_.back());
  spare_buffers_.pop_back();
  return buffer;
}

void Worker::give_back(wire::Buffer&& buffer) {
  wire::Buffer taken = std::move(buffer);
  if (taken.capacity() != buffer_size || spare_buffers_.size() == most_spare) return;
  taken.clear();
  spare_buffers_.push_back(std::move(taken));
}

}  // namespace weir::net
