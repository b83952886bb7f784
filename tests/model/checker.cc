#include "checker.h"

#include <cstdio>

namespace weir::model {
namespace {

using conditional::Acquire;
using conditional::Action;
using conditional::Change;
using conditional::Event;

/// The version that a machine's limits are older than.
std::int64_t stale_version(const Machine& machine) {
  if (const auto* acquire = std::get_if<Acquire>(&machine)) return acquire->outcome().version;
  if (const auto* change = std::get_if<Change>(&machine)) return change->outcome().version;
  return 0;
}

std::string client_name(std::size_t client) { return std::string(1, static_cast<char>('A' + client)); }

}  // namespace

void Checker::add(const State& from, State state, const std::function<std::string()>& label) {
  for (std::size_t i = 0; i < max_items; ++i) {
    state.before[i] = !scenario_.stale_reads            ? ItemId{0}
                      : state.items[i] != from.items[i] ? from.items[i]
                                                        : from.before[i];
  }
  if (judge_.violation() == nullptr) judge_.ideal().normalize(state);
  if (judge_.violation() == nullptr) judge_.ideal().check(state);
  successors_.push_back({state, judge_.violation(), labels_ ? label() : std::string()});
  judge_.clear();
}

void Checker::expand(const State& state) {
  successors_.clear();
  tick(state);
  expire(state);
  for (std::size_t client = 0; client < scenario_.clients.size(); ++client) {
    if (state.clients[client].operation < scenario_.clients[client].size()) step(state, client);
    if (state.clients[client].late_node != 0) deliver_late(state, client);
  }
}

void Checker::tick(const State& state) {
  if (state.now >= start_time + scenario_.ticks) return;
  State next = state;
  ++next.now;
  judge_.ideal().ticked(next);
  add(state, next, [] { return "the clock moves on"; });
}

void Checker::expire(const State& state) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(scenario_.items); ++i) {
    if (state.items[i] == 0 || judge_.ideal().alive(state.items[i], state.now)) continue;
    State next = state;
    next.items[i] = 0;
    add(state, next, [&] { return "the store deletes expired item " + std::to_string(i); });
  }
}

void Checker::step(const State& state, std::size_t client) {
  const ClientState& self = state.clients[client];
  if (self.node == 0) return begin(state, client);
  const Action::Kind kind = world_.node(self.node).action.kind;
  if (kind == Action::Kind::done) return resolve(state, client);
  if (kind == Action::Kind::write) {
    write(state, client);
    if (self.timeouts > 0 && self.late_node == 0) lose(state, client);
    return;
  }
  read(state, client, state.items, "reads");
  if (scenario_.stale_reads && state.before != state.items) read(state, client, state.before, "reads STALE");
}

bool Checker::lease_is_held(const State& state, std::size_t client) const {
  const Operation& operation = current(state, client);
  const int lease = operation.lease;
  const bool is_change = operation.kind != Operation::Kind::acquire;
  if (lease == Operation::shared && is_change && shared_acquire() != nullptr)
    return state.leases[max_leases - 1].charged != 0;
  return lease < 0 ||
         state.operations[slot(client, static_cast<std::size_t>(lease))].verdict == Verdict::done;
}

void Checker::begin(const State& state, std::size_t client) {
  const Operation& operation = current(state, client);
  if (operation.kind == Operation::Kind::alter) return begin_alter(state, client);
  if (operation.kind == Operation::Kind::move || operation.kind == Operation::Kind::abandon_move)
    return move(state, client);
  if (operation.kind == Operation::Kind::store_limits || operation.kind == Operation::Kind::forget ||
      !lease_is_held(state, client)) {
    return begin_simple(state, client);
  }
  const int newest = world_.history(state.history).depth;
  const int oldest = scenario_.stale_limits ? world_.history(state.clients[client].history).depth : newest;
  for (int depth = oldest; depth <= newest; ++depth) {
    const HistoryId history =
        scenario_.request_limits ? world_.request_history(client) : world_.ancestor(state.history, depth);
    begin_with(state, client, history, state.items, "begins");
    if (scenario_.stale_reads && state.before != state.items) {
      begin_with(state, client, history, state.before, "begins with a STALE read");
    }
    if (state.clients[client].under_parent == state.under_parent) continue;
    State resolved = state;
    resolved.clients[client].under_parent = state.under_parent;
    begin_with(resolved, client, history, state.items, "looks up the parent and begins");
  }
}

/// A change of the first entity's parent: keeps buckets from being made, looks for one, and only then writes.
void Checker::move(const State& state, std::size_t client) {
  const Operation& operation = current(state, client);
  State next = state;
  ClientState& self = next.clients[client];
  const bool blind = scenario_.mutation != nullptr && scenario_.mutation->moves_blindly;
  const auto me = static_cast<std::uint8_t>(client + 1);
  const char* what = "";
  switch (self.phase) {
    case 0:
      what = "announces its move";
      self.phase = 1;
      if (!blind) next.mover = me;
      if (operation.kind == Operation::Kind::abandon_move) finish(next, client, Verdict::skipped, 0);
      break;
    case 1:
      what = "looks for buckets";
      self.phase = judge_.ideal().alive(state.items[0], state.now) ? 3 : 2;
      break;
    case 2:
      // Another process may have taken the announcement for one of a process that died.
      what = state.mover == me || blind ? "moves the entity" : "has to announce its move again";
      if (state.mover != me && !blind) {
        self.phase = 0;
        break;
      }
      next.mover = 0;
      next.under_parent = static_cast<std::uint8_t>(operation.set);
      finish(next, client, Verdict::done, 0);
      break;
    default:
      what = "cannot move, there is a bucket";
      if (state.mover == me) next.mover = 0;
      finish(next, client, Verdict::skipped, 0);
  }
  add(state, next, [&] { return client_name(client) + " " + what; });
}

/// Starts a machine; if it wants to read first, that happens at once.
void Checker::begin_with(const State& state, std::size_t client, HistoryId history, const ItemIds& visible,
                         const char* how) {
  State next = state;
  ClientState& self = next.clients[client];
  self.history = history;
  self.sampled = state.now;
  const std::uint16_t task = task_of(state, client, self.operation);
  NodeId node = world_.start(task, history, self.cache, clock(state, client));
  if (world_.node(node).action.kind == Action::Kind::read) {
    const MarkerId marker = state.leases[judge_.lease_of(client, self.operation)].marker;
    node = world_.resume(node, Event::Kind::seen, visible, marker, clock(state, client));
  } else if (visible != state.items) {
    return;  // it does not read, so nothing can be stale
  }
  advance(next, client, node);
  add(state, next, [&] {
    return client_name(client) + " " + how + " " + current(state, client).text() + " -> " + text(node);
  });
}

/// The limits record and the bucket change in one transaction, or the record alone where there is no bucket.
void Checker::begin_alter(const State& state, std::size_t client) {
  const Operation& operation = current(state, client);
  if (world_.history(state.history).resolution->stamp >= state.now) return;
  State next = state;
  ClientState& self = next.clients[client];
  const HistoryId history = world_.changed(state.history, operation.set, state.now);
  const std::uint16_t task = task_of(state, client, self.operation);
  const NodeId node = world_.start(task, history, state.items, state.now);
  self.sampled = state.now;
  if (world_.node(node).action.kind == Action::Kind::done) {
    next.history = history;
    judge_.ideal().limits_changed(next);
  }
  advance(next, client, node);
  add(state, next, [&] { return client_name(client) + " begins " + operation.text() + " -> " + text(node); });
}

void Checker::begin_simple(const State& state, std::size_t client) {
  const Operation& operation = current(state, client);
  State next = state;
  Verdict verdict = Verdict::done;
  if (operation.kind == Operation::Kind::store_limits) {
    if (world_.history(state.history).resolution->stamp >= state.now) return;
    const Time late = scenario_.mutation == nullptr ? 0 : scenario_.mutation->stamp_late;
    next.history = world_.changed(state.history, operation.set, state.now - late);
    judge_.ideal().limits_changed(next);
  } else if (operation.kind == Operation::Kind::forget) {
    next.items = {};
    next.promised = {};
  } else {
    verdict = Verdict::skipped;
  }
  finish(next, client, verdict, 0);
  add(state, next,
      [&] { return client_name(client) + " " + operation.text() + ": " + model::text(verdict); });
}

void Checker::read(const State& state, std::size_t client, const ItemIds& visible, const char* how) {
  State next = state;
  ClientState& self = next.clients[client];
  const MarkerId marker = state.leases[judge_.lease_of(client, self.operation)].marker;
  self.sampled = state.now;
  const NodeId node = world_.resume(self.node, Event::Kind::seen, visible, marker, clock(state, client));
  advance(next, client, node);
  add(state, next, [&] { return client_name(client) + " " + how + " -> " + text(node); });
}

void Checker::write(const State& state, std::size_t client) {
  State next = state;
  ClientState& self = next.clients[client];
  const NodeId sent = self.node;
  const bool alters = current(state, client).kind == Operation::Kind::alter;
  const ItemIds none = {not_shown, not_shown};
  const bool too_late = state.now - self.sampled > scenario_.delay;
  // The record of the limits is in the transaction too, and somebody else may have written it.
  const bool overtaken = alters && world_.history(world_.node(sent).history).parent != state.history;
  self.sampled = state.now;
  if (too_late || overtaken) {
    if (alters) {
      self.node = 0;
      self.sampled = 0;
    } else {
      advance(next, client,
              world_.resume(sent, Event::Kind::not_applied, none, not_shown, clock(state, client)));
    }
    return add(state, next,
               [&] { return client_name(client) + " is held up -> " + text(next.clients[client].node); });
  }
  Applied result;
  const bool applied = apply(state, next, client, self.operation, sent, result);
  if (alters && !applied) {
    self.node = 0;
    self.sampled = 0;
    return add(state, next, [&] { return client_name(client) + "'s " + text(sent) + " fails, starts over"; });
  }
  ItemIds shown = none;
  std::uint16_t marker = not_shown;
  if (applied) {
    const conditional::Transaction& transaction = world_.node(sent).action.transaction;
    const bool alone = transaction.writes.size() == 1 && !transaction.marker && transaction.links.empty();
    if (alone) shown[transaction.writes[0].bucket] = next.items[transaction.writes[0].bucket];
  } else {
    for (std::size_t i = 0; i < max_items; ++i)
      shown[i] = (result.failed >> i & 1) != 0 ? state.items[i] : not_shown;
    if ((result.failed & 0x80) != 0) marker = state.leases[judge_.lease_of(client, self.operation)].marker;
  }
  const auto kind = applied ? Event::Kind::applied : Event::Kind::failed;
  const bool link_failed = !applied && (result.failed & 0x40) != 0;
  const NodeId node = world_.resume(sent, kind, shown, marker, clock(state, client), link_failed);
  advance(next, client, node);
  add(state, next, [&] {
    return client_name(client) + "'s " + text(sent) + (applied ? " is applied" : " fails -> " + text(node));
  });
}

/// The write stays under way; the client learns nothing about it.
void Checker::lose(const State& state, std::size_t client) {
  State next = state;
  ClientState& self = next.clients[client];
  if (state.now - self.sampled > scenario_.delay || current(state, client).kind == Operation::Kind::alter)
    return;
  self.late_node = self.node;
  self.late_operation = self.operation;
  self.late_sent = state.now;
  --self.timeouts;
  self.sampled = state.now;
  const ItemIds none = {not_shown, not_shown};
  const NodeId node = world_.resume(self.node, Event::Kind::unknown, none, not_shown, clock(state, client));
  advance(next, client, node);
  add(state, next, [&] {
    return client_name(client) + "'s " + text(state.clients[client].node) + " TIMES OUT -> " + text(node);
  });
}

void Checker::deliver_late(const State& state, std::size_t client) {
  const ClientState& old = state.clients[client];
  const auto cleared = [&] {
    State next = state;
    next.clients[client].late_node = 0;
    next.clients[client].late_operation = 0;
    next.clients[client].late_sent = 0;
    return next;
  };
  add(state, cleared(), [&] { return client_name(client) + "'s late write is lost"; });
  if (state.now - old.late_sent > scenario_.late) return;
  State next = cleared();
  Applied result;
  const bool applied = apply(state, next, client, old.late_operation, old.late_node, result);
  add(state, next, [&] {
    return client_name(client) + "'s late " + text(old.late_node) + (applied ? " is applied" : " fails");
  });
}

void Checker::resolve(const State& state, std::size_t client) {
  State next = state;
  ClientState& self = next.clients[client];
  const Node& node = world_.node(self.node);
  self.history = scenario_.request_limits ? world_.request_history(client) : state.history;
  self.resolved_after = small(static_cast<int>(stale_version(node.machine)));
  self.under_parent = state.under_parent;
  self.cache = node.images;
  self.node = 0;
  self.sampled = 0;
  add(state, next, [&] { return client_name(client) + " resolves limits and parent again"; });
  if (state.mover == 0) return;
  // A process that announced a move a long while ago is taken for dead.
  next.mover = 0;
  add(state, next,
      [&] { return client_name(client) + " resolves again and ends a move that takes too long"; });
}

bool Checker::apply(const State& before, State& state, std::size_t client, std::size_t number, NodeId node,
                    Applied& result) {
  const std::size_t lease = judge_.lease_of(client, number);
  const conditional::Link link{before.under_parent != 0 ? "p" : "", before.mover != 0};
  result = world_.apply(node, before.items, before.leases[lease].marker, link);
  if (!result.applied) return false;
  if (scenario_.clients[client][number].kind == Operation::Kind::alter) {
    state.history = world_.node(node).history;
    judge_.ideal().limits_changed(state);
  }
  state.items = result.items;
  state.leases[lease].marker = result.marker;
  judge_.applied(before, state, client, number, world_.node(node));
  return true;
}

std::uint16_t Checker::task_of(const State& state, std::size_t client, std::size_t number) {
  Task task;
  task.operation = scenario_.clients[client][number];
  task.new_generation = 2 + slot(client, number);
  task.buckets = scenario_.moves ? 1 + state.clients[client].under_parent : scenario_.items;
  task.under_parent = state.clients[client].under_parent != 0;
  task.resolved_after = state.clients[client].resolved_after;
  if (task.operation.kind != Operation::Kind::acquire && task.operation.kind != Operation::Kind::alter) {
    const LeaseState& lease = state.leases[judge_.lease_of(client, number)];
    const int of = task.operation.lease;
    for (std::size_t i = 0; i < max_limits; ++i) {
      const bool charged = (lease.limits >> i & 1) != 0;
      const bool given = of < 0 && lease.charged == 0;
      const Operation& charging = of == Operation::shared && !given
                                      ? *shared_acquire()
                                      : scenario_.clients[client][of < 0 ? 0 : static_cast<std::size_t>(of)];
      const bool held = given && (lease.holds >> i & 1) != 0;
      const int first = held ? held_by_shared() : given ? scenario_.given_charge : charging.amounts[i];
      task.lease.charged[i] = charged ? first : unnamed;
    }
    task.lease.generations = lease.generations;
    task.lease.holds = lease.holds;
    if (lease.as_acquired != endless) task.lease.deadline = lease.as_acquired;
    if (scenario_.moves) task.buckets = lease.generations[1] != 0 ? 2 : 1;
  }
  return world_.task_id(task);
}

/// The acquire of the lease that clients share; null where it was made before the start.
const Operation* Checker::shared_acquire() const {
  for (const auto& operations : scenario_.clients) {
    for (const Operation& operation : operations) {
      if (operation.kind == Operation::Kind::acquire && operation.lease == Operation::shared)
        return &operation;
    }
  }
  return nullptr;
}

/// What the lease that clients share held at the start.
int Checker::held_by_shared() const {
  int sum = 0;
  for (const Held& held : scenario_.held) sum += held.shared ? held.amount : 0;
  return sum;
}

/// The client's machine is now at `node`, which may be its end.
void Checker::advance(State& state, std::size_t client, NodeId id) {
  const Node& node = world_.node(id);
  state.clients[client].node = id;
  if (node.action.kind != Action::Kind::done) return;
  const Verdict verdict = verdict_of(node.machine);
  if (verdict != Verdict::none) finish(state, client, verdict, id);
}

void Checker::finish(State& state, std::size_t client, Verdict verdict, NodeId id) {
  ClientState& self = state.clients[client];
  const std::size_t operation = self.operation;
  state.operations[slot(client, operation)].verdict = verdict;
  if (id != 0) judge_.ended(state, client, operation, world_.node(id));
  self.node = 0;
  self.sampled = 0;
  self.resolved_after = 0;
  self.phase = 0;
  ++self.operation;
  const bool more = self.operation < scenario_.clients[client].size();
  const bool wants_images = more && current(state, client).cached;
  self.cache = wants_images && id != 0 ? world_.node(id).images : ItemIds{not_shown, not_shown};
  if (!more || !scenario_.stale_limits) self.history = 1;
}

/// The violation in a successor of a state, with the way to it.
Finding Checker::found(std::size_t at, std::size_t number) {
  labels_ = true;
  const State state = states_[at];
  expand(state);
  const Successor bad = successors_[number];
  return {states_.size(), bad.violation, trace(at, bad.label, bad.state)};
}

Finding Checker::run() {
  std::vector<std::uint32_t> table(1024, 0);  // numbers of states, from 1
  const auto place_of = [&](const State& state) {
    std::size_t at = hash_of(state) & (table.size() - 1);
    while (table[at] != 0 && std::memcmp(&states_[table[at] - 1], &state, sizeof(State)) != 0)
      at = (at + 1) & (table.size() - 1);
    return at;
  };
  const auto put = [&](const State& state, std::size_t parent) {
    const std::size_t at = place_of(state);
    if (table[at] != 0) return;
    states_.push_back(state);
    parents_.push_back(static_cast<std::uint32_t>(parent));
    table[at] = static_cast<std::uint32_t>(states_.size());
    if (states_.size() * 2 < table.size()) return;
    table.assign(table.size() * 4, 0);
    for (std::size_t i = 0; i < states_.size(); ++i)
      table[place_of(states_[i])] = static_cast<std::uint32_t>(i + 1);
  };
  put(judge_.first_state(), 0);
  for (std::size_t at = 0; at < states_.size(); ++at) {
    const State state = states_[at];
    expand(state);
    std::size_t number = 0;
    for (const Successor& successor : successors_) {
      if (successor.violation != nullptr) return found(at, number);
      put(successor.state, at);
      ++number;
    }
  }
  return {states_.size(), "", ""};
}

}  // namespace weir::model
