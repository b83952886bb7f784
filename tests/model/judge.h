// Follows the operations of the clients: what they do to the ideal buckets and to leases, and whether what
// they report is true.
#pragma once

#include "ideal.h"

namespace weir::model {

class Judge {
 public:
  Judge(const Scenario& scenario, World& world)
      : scenario_(scenario), world_(world), ideal_(scenario, world, alarm_) {}
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  /// The first thing that went wrong since clear(); null if nothing did.
  const char* violation() const { return alarm_.what; }
  void clear() { alarm_.what = nullptr; }
  IdealBuckets& ideal() { return ideal_; }

  State first_state();
  /// After a transaction of an operation was applied; `before` is the state before it.
  void applied(const State& before, State& state, std::size_t client, std::size_t number, const Node& node);
  /// After an operation ended as its OperationState says.
  void ended(State& state, std::size_t client, std::size_t number, const Node& node);

  /// The lease that an operation is about.
  std::size_t lease_of(std::size_t client, std::size_t number) const;

 private:
  const Operation& operation(std::size_t client, std::size_t number) const {
    return scenario_.clients[client][number];
  }
  void acquired(const State& before, State& state, std::size_t client, std::size_t number, const Node& node);
  void lease_changed(const State& before, State& state, std::size_t client, std::size_t number,
                     const Node& node);
  void given_back_or_charged(const State& before, State& state, std::size_t item, const Amounts& charges,
                             const LeaseState& lease, const Node& node);
  void extended(const State& before, State& state, std::size_t client, const Node& node, LeaseState& lease);
  /// When the client that has sent this write read the clock.
  int sampled(const State& before, std::size_t client, const Node& node) const;
  void kept_up(const State& before, State& state, const Node& node);
  void take_back_promises(const State& before, State& state);
  void check_refused_change(const State& state, std::size_t client, std::size_t number);
  void check_refuser_exists(const State& state, const Operation& acquire, const Node& node);
  void check_refusal(State& state, const Operation& acquire, const Node& node);

  const Scenario& scenario_;
  World& world_;
  Alarm alarm_;
  IdealBuckets ideal_;
};

}  // namespace weir::model
