// Explores every interleaving of a scenario, breadth first, so that the first trace to a violation is a
// shortest one.
#pragma once

#include <functional>

#include "judge.h"

namespace weir::model {

struct Finding {
  std::size_t states = 0;
  std::string violation;  ///< empty: none
  std::string trace;
};

class Checker {
 public:
  /// `world` was made for a scenario that differs at most in its clients.
  Checker(const Scenario& scenario, World& world)
      : scenario_(scenario), world_(world), judge_(scenario_, world) {}

  Finding run();

 private:
  void expand(const State& state);
  void tick(const State& state);
  void expire(const State& state);
  void step(const State& state, std::size_t client);
  void deliver_late(const State& state, std::size_t client);

  void begin(const State& state, std::size_t client);
  void begin_with(const State& state, std::size_t client, HistoryId history, const ItemIds& visible,
                  const char* how);
  void begin_alter(const State& state, std::size_t client);
  void move(const State& state, std::size_t client);
  void begin_simple(const State& state, std::size_t client);
  void read(const State& state, std::size_t client, const ItemIds& visible, const char* how);
  void write(const State& state, std::size_t client);
  void lose(const State& state, std::size_t client);
  void resolve(const State& state, std::size_t client);

  bool apply(const State& before, State& state, std::size_t client, std::size_t number, NodeId node,
             Applied& result);
  std::uint16_t task_of(const State& state, std::size_t client, std::size_t number);
  int held_by_shared() const;
  const Operation* shared_acquire() const;
  bool lease_is_held(const State& state, std::size_t client) const;
  void advance(State& state, std::size_t client, NodeId id);
  void finish(State& state, std::size_t client, Verdict verdict, NodeId id);
  void add(const State& from, State state, const std::function<std::string()>& label);

  const Operation& current(const State& state, std::size_t client) const {
    return scenario_.clients[client][state.clients[client].operation];
  }
  Time clock(const State& state, std::size_t client) const { return state.now + scenario_.skew[client]; }
  std::string text(const State& state) const;
  std::string text(NodeId id) const;
  std::string trace(std::size_t last, const std::string& label, const State& state);

  Finding found(std::size_t at, std::size_t number);

  struct Successor {
    State state;
    const char* violation;
    std::string label;
  };
  const Scenario& scenario_;
  World& world_;
  Judge judge_;
  bool labels_ = false;  ///< whether successors are to be described, for a trace
  std::vector<Successor> successors_;
  std::vector<State> states_;
  std::vector<std::uint32_t> parents_;
};

}  // namespace weir::model
