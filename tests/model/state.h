// One state of everything: the items, the clients, and the ideal buckets that they are held against.
#pragma once

#include "world.h"

namespace weir::model {

/// One limit of one bucket as it should be.
struct Ideal {
  /// The balance under each version of the limits from the item's own on: what a reader under that version
  /// must see. With an allowance only the first is used, and it includes the allowance.
  std::array<std::int8_t, max_versions> balance;
  std::int8_t consumed;
  std::int8_t set;  ///< whose limits it has, where they come with requests
};

struct ClientState {
  NodeId node;        ///< 0: between operations
  NodeId late_node;   ///< a write of unknown outcome that is still under way; 0: none
  ItemIds cache;      ///< the last images seen, where the next operation wants them
  HistoryId history;  ///< the limits that it holds
  std::uint8_t operation;
  std::int8_t sampled;  ///< when the attempt under way read the clock
  std::uint8_t late_operation;
  std::int8_t late_sent;
  std::uint8_t timeouts;
  std::int8_t resolved_after;  ///< the version that made it resolve its limits again
  std::uint8_t under_parent;   ///< what it knows of the first entity
  std::uint8_t phase;          ///< of a move
  std::array<std::uint8_t, 2> unused;
};

struct LeaseState {
  MarkerId marker;
  std::array<std::int8_t, max_limits> net;
  std::array<std::uint8_t, max_items> generations;  ///< of the buckets that it charged
  std::uint8_t limits;                              ///< those it charged, by bit
  std::uint8_t ended;
  std::uint8_t charged;     ///< by an acquire of a client
  std::uint8_t holds;       ///< those of the limits that it holds slots of, by bit
  std::int8_t deadline;     ///< `endless`: none
  std::int8_t as_acquired;  ///< the deadline before it was extended
};

inline constexpr int endless = 127;

enum class Verdict : std::uint8_t { none, done, refused, contention, unknown, skipped };

/// How the outcome of a machine that is done counts; `none` where its limits must be resolved again.
Verdict verdict_of(const Machine& machine);
const char* text(Verdict verdict);

struct OperationState {
  std::uint8_t applied;
  Verdict verdict;
};

struct State {
  ItemIds items;
  ItemIds before;  ///< the items before the last write to each, for stale reads
  HistoryId history;
  std::int8_t now;
  std::uint8_t under_parent;  ///< the first entity, as the catalog has it
  std::uint8_t mover;         ///< the client that is about to change it, from 1; 0: none
  std::uint8_t unused1;
  /// Until when each item must not expire, because a refusal has named that moment; 0: whenever it likes.
  std::array<std::int8_t, max_items> promised;
  std::array<std::array<Ideal, max_limits>, max_items> ideal;
  std::array<ClientState, max_clients> clients;
  std::array<LeaseState, max_leases> leases;
  std::array<OperationState, max_leases> operations;
};
static_assert(std::has_unique_object_representations_v<State>);

/// States are many, so their numbers are small.
inline std::int8_t small(int value) { return static_cast<std::int8_t>(value); }
inline int wide(std::int8_t value) { return static_cast<int>(value); }
inline std::int8_t small_deadline(Time deadline) {
  return static_cast<std::int8_t>(deadline < endless ? deadline : endless);
}

/// The place of an operation among all of them, which is also that of its lease.
inline std::size_t slot(std::size_t client, std::size_t operation) {
  return client * max_operations + operation;
}

}  // namespace weir::model
