#include "net/worker.h"

#include <unistd.h>

#include <thread>
#include <utility>

#include "net/connection.h"
#include "net/session.h"

namespace weir::net {

namespace {

constexpr std::size_t most_spare = 256;

/// While a Visit exists, the worker is not destroyed.
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
    : Loop(options.tick),
      index_(index),
      options_(options),
      handler_(handler),
      counters_(counters),
      handed_over_wake_up_(readiness(), [this] { take_handed_over(); }) {}

Worker::~Worker() {
  while (visitors_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

void Worker::serve() {
  handler_.on_thread(*this);
  run();
  handler_.on_thread_end();
}

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
      return count_closed(peer);
    }
  }
  auto connection = std::make_unique<Connection>(*this, socket, peer, std::move(secured));
  connection->next = connections_;
  if (connections_ != nullptr) connections_->previous = connection.get();
  connections_ = connection.release();
  connections_->begin();
}

void Worker::remove(Connection& connection) {
  (connection.previous != nullptr ? connection.previous->next : connections_) = connection.next;
  if (connection.next != nullptr) connection.next->previous = connection.previous;
  count_closed(connection.peer());
  retire(std::unique_ptr<Connection>(&connection));
  stop_if_empty();
}

bool Worker::counts(const Address& peer) const {
  return options_.max_connections_per_address != 0 && !(options_.many_from && options_.many_from(peer));
}

void Worker::count_closed(const Address& peer) {
  counters_.open.fetch_sub(1, std::memory_order_relaxed);
  if (counts(peer)) counters_.by_address.give_back(peer);
}

void Worker::drain(std::chrono::milliseconds at_most) {
  stop_accepting();
  draining_ = true;
  set_timer(*this, at_most);
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
  if (draining_ && connections_ == nullptr) stop();
}

void Worker::post(Work work) {
  const Visit visit(visitors_);
  set_busy(true);
  Loop::post(std::move(work));
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
  // The thread that finds the list empty wakes the worker, for itself and for all that follow until the
  // worker takes the list.
  if (first != nullptr) return;
  set_busy(true);
  handed_over_wake_up_.wake();
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

}  // namespace weir::net
