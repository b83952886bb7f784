// The version record: what all processes on a table agree on. A store is open once it was read, and was made
// by the first if there was none; so a store can be made before the table can be reached, and opens by itself
// when it can.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

#include "store/dynamodb/request.h"
#include "store/dynamodb/site.h"
#include "store/store.h"

namespace weir::dynamodb {

/// Safe to use from any thread.
class Opening final : private aws::DynamoCall {
 public:
  /// The site must outlive it, and its client must have ended all calls first.
  explicit Opening(Site& site);

  /// Reads it within a time, and waits for that. Not on the client's own thread.
  Result<void> read_and_wait(std::chrono::milliseconds patience);
  /// Why the store is not open. Asking has it tried again, now and then.
  Result<void> check();
  /// Whether there may be legacy items in the table, as far as is known. Asking has it looked up, now and
  /// then.
  bool may_have_legacy();
  bool opened() const { return opened_.load(std::memory_order_acquire); }

  /// One that nobody knows, until the store is open. Stays valid as long as this.
  const store::LeaseKey& lease_key() const { return *lease_key_.load(std::memory_order_acquire); }
  Time keep_audit_for() const { return keep_audit_for_.load(std::memory_order_relaxed); }
  void keep_audit_for(Time duration) { keep_audit_for_.store(duration, std::memory_order_relaxed); }

 private:
  enum class Step : unsigned char { reading, looking, making };

  /// Starts reading, unless that is under way.
  void read(std::chrono::milliseconds patience);
  void ask(Step step, Request request_of_it);
  /// Whether anything is in the table decides what the record says.
  void look();
  void make(bool table_is_new);
  void on_answer(const aws::DynamoAnswer& answer) override;
  void on_error(const aws::DynamoFailure& failure) override;
  Result<void> take(const Item& item);
  void end(Result<void> result);

  Site& site_;
  Step step_ = Step::reading;  ///< of whoever has set reading_
  bool made_ = false;          ///< the same
  std::atomic<bool> opened_{false};
  std::atomic<const store::LeaseKey*> lease_key_;
  std::atomic<Time> keep_audit_for_;
  std::atomic<bool> may_have_legacy_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  // Of the mutex.
  bool reading_ = false;
  Result<void> result_;
  std::chrono::steady_clock::time_point tried_at_;
  std::deque<store::LeaseKey> keys_;  ///< all that were ever given out
};

}  // namespace weir::dynamodb
