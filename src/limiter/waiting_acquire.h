// An acquire that waits in the queue of its bucket until it is admitted, or until its max_wait is over.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limiter/core.h"
#include "limiter/pending.h"
#include "limiter/waiting_room.h"

namespace weir::limiter {

/// The rules on lifetimes are those of PendingAcquire.
///
/// The first request in a queue acquires, and acquires again when the wait that its refusal promised is over.
/// The others check once without being charged, so that a request that cannot be admitted in time, a mistake,
/// and a repetition of an admitted request are answered at once. A request checks once more when its deadline
/// passes, or if the queues are full. If it then fits and no request waits in front of it, it acquires, so
/// that no request fares worse because it was willing to wait. Otherwise, and after hurry(), it is refused.
class WaitingAcquire final : WaitingRoom::Waiter {
 public:
  /// Runs a step of the request: on the thread of the request's owner.
  using Run = std::function<void(std::function<void()>)>;

  /// `run`: empty: steps run on the thread of the room.
  explicit WaitingAcquire(Core& core, Run run = {}) : core_(core), run_(std::move(run)) {}
  ~WaitingAcquire() = default;

  /// The options have a max_wait. The completion is called on any thread.
  void start(std::string_view entity, std::string_view resource, std::span<const Charge> consume,
             const AcquireOptions& options, store::Completion<void> done);
  /// Stops waiting: the request is refused if it is not decided yet. The completion is still called.
  void hurry() { core_.waiting().hurry(*this); }
  /// After success.
  Decision& decision() { return pending_->decision(); }
  bool exempt() const { return pending_->exempt(); }
  /// After a refusal, why the request does not wait: "no-room" (the queues are full), "deadline" (it has
  /// passed) or "hurried". Empty: the limits cannot admit it in time.
  std::string_view gave_up() const { return gave_up_; }

 private:
  using Answered = void (WaitingAcquire::*)(Result<void>&&);
  void on_woken() override;
  void woken();
  void ask(PendingAcquire::Mode mode, Answered answered);
  void tried(Result<void>&& result);
  void looked(Result<void>&& result);
  void looked_last(Result<void>&& result);
  void tried_last(Result<void>&& result) { end(std::move(result)); }
  /// Whether the decision is a refusal that waiting does not change in time.
  bool is_hopeless();
  void refuse();
  void end(Result<void> result);

  Core& core_;
  const Run run_;
  std::string_view entity_;
  std::string_view resource_;
  std::span<const Charge> consume_;
  AcquireOptions options_;
  std::optional<store::Completion<void>> done_;
  std::string bucket_;
  Time arrived_ = 0;
  Time waited_ = 0;  ///< up to the question that is answered next
  std::string_view gave_up_;
  Answered answered_ = nullptr;
  std::optional<PendingAcquire> pending_;
};

}  // namespace weir::limiter
