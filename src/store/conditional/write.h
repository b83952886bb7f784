// A conditional write to the items of a plan, independent of the store that carries it out. Each field is
// one term of a condition or of an update, so that a store renders it one to one.
//
// An item is a bucket's record; a marker is the record that makes an operation happen once; a link is an
// entity's parent in the catalog. The functions below define what a store does with a write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bucket/state.h"
#include "decision/lease.h"

namespace weir::conditional {

/// A bucket as a store of conditional writes keeps it.
struct Record : bucket::State {
  /// The next entity of the chain when the bucket was created, empty for none. It cannot change while the
  /// bucket exists. Nothing: the bucket was written by a program that did not check the parent.
  std::optional<std::string> parent = {};
  bool counts_usage = true;  ///< whether the last acquire counted as usage; changes of leases follow it
  friend bool operator==(const Record&, const Record&) = default;
};

/// The conditions on one limit of an item, and the effect on it. A condition on the tokens of an absent limit
/// is false.
struct LimitWrite {
  enum class Effect : unsigned char {
    none,
    add,     ///< tokens and consumed are added to the stored ones
    set,     ///< tokens are replaced, consumed is added
    insert,  ///< the limit is new
    remove,
  };
  std::string name;

  bool absent = false;                        ///< condition: the item does not have this limit
  bool exists = false;                        ///< condition: it does
  bool is_rate = false;                       ///< condition: it does, and not as a concurrent limit
  std::optional<std::int64_t> at_least = {};  ///< condition on tokens
  std::optional<std::int64_t> at_most = {};   ///< condition on tokens
  std::optional<bool> dormant = {};           ///< condition: it was not in force at the last write, or was
  std::optional<bucket::Holds> holds = {};    ///< condition: exactly these are held of a concurrent limit
  std::optional<bucket::Grants> grants = {};  ///< condition: a rate limit has exactly these

  Effect effect = Effect::none;
  std::int64_t tokens = 0;
  std::int64_t consumed = 0;
  std::optional<limits::Parameters> parameters = {};  ///< always with insert
  std::optional<bucket::Holds> set_holds = {};        ///< nothing: unchanged
  std::optional<bucket::Grants> set_grants = {};      ///< nothing: unchanged

  friend bool operator==(const LimitWrite&, const LimitWrite&) = default;
};

/// Only the code of this room can make a Write, so that every write to a bucket follows its rules.
class WritePass {
  WritePass() = default;
  friend struct WriteBuilder;
};

/// A write to one item: it happens whole, if all conditions hold, or not at all.
struct Write {
  enum class Path : unsigned char { create, normal, retry, credit, repair, convert, absorb, forget };
  Write(WritePass /*pass*/, Path path_, std::size_t bucket_) : path(path_), bucket(bucket_) {}

  Path path;
  std::size_t bucket;  ///< in the chain of the plan

  // Conditions.
  std::optional<Time> absent_at = {};              ///< there is no item, or it has expired at this moment
  std::optional<Time> refilled_at = {};            ///< equal
  std::optional<Time> refilled_since = {};         ///< refilled_at is this or later
  std::optional<std::int64_t> version = {};        ///< equal
  std::optional<std::int64_t> version_since = {};  ///< version is this or later
  std::optional<std::uint64_t> generation = {};    ///< equal
  std::optional<Time> expires_since = {};          ///< it has no expiry, or one at this moment or later

  // Effects.
  std::optional<Record> item = {};  ///< the whole item; then none of the effects below
  std::optional<Time> set_refilled_at = {};
  std::optional<std::int64_t> set_version = {};
  std::optional<Time> set_expires_at = {};  ///< never: the expiry is removed
  std::optional<std::string> set_parent = {};
  std::optional<bool> set_counts_usage = {};
  /// The new list of dormant limits; nothing: unchanged.
  std::optional<std::vector<std::string>> dormant = {};
  std::vector<LimitWrite> limits = {};  ///< conditions and effects

  /// Whether the item after the write is known from the write alone.
  bool tells_all() const;
  friend bool operator==(const Write&, const Write&) = default;
};

/// Makes an operation happen once: it is written in the same transaction as the operation.
struct Marker {
  std::int64_t sequence = 0;  ///< counts the changes, from 1
  bool fence = false;         ///< an acquire was given up: copies of it that arrive late must fail
  decision::LeaseRecord lease;
  // The buckets that were charged, in the order of the chain.
  std::vector<std::string> entities;  ///< empty: written by a program that did not store them
  std::vector<std::uint64_t> generations;
  Time deadline = 0;        ///< from here on the marker counts as absent
  Time first_deadline = 0;  ///< before the lease was extended; 0: it never was
  friend bool operator==(const Marker&, const Marker&) = default;
};

struct MarkerWrite {
  std::optional<std::int64_t> sequence = {};  ///< condition: it has this sequence; nothing: it is absent
  Time deadline = 0;                          ///< condition, with a sequence: it has this deadline
  Marker next;

  /// Sets the condition: the marker is as it was seen. A later lease under the same key counts from 1 again,
  /// but its deadline is later.
  void require(const std::optional<Marker>& seen) {
    if (!seen) return;
    sequence = seen->sequence;
    deadline = seen->deadline;
  }
  friend bool operator==(const MarkerWrite&, const MarkerWrite&) = default;
};

/// The link of an entity in the catalog: its parent in the chain, and whether that is being changed.
struct Link {
  std::string parent;  ///< empty: none
  bool moving = false;
  friend bool operator==(const Link&, const Link&) = default;
};

/// Condition: this is the entity's parent in the catalog, and it is not being changed.
struct LinkCheck {
  std::size_t entity = 0;  ///< in the chain of the plan
  std::string parent;
  friend bool operator==(const LinkCheck&, const LinkCheck&) = default;
};

/// Everything in it happens, or nothing.
struct Transaction {
  std::vector<Write> writes = {};  ///< at most one for each bucket of the chain, in its order
  std::optional<MarkerWrite> marker = {};
  std::vector<LinkCheck> links = {};
  friend bool operator==(const Transaction&, const Transaction&) = default;
};

/// Whether the conditions hold. `item` is null where there is none.
[[nodiscard]] bool holds(const Record* item, const Write& write);
[[nodiscard]] bool holds(const Marker* marker, const MarkerWrite& write);
[[nodiscard]] bool holds(const Link& link, const LinkCheck& check);

/// Carries out the effects. An update of a missing item or limit creates one from the write alone, as stores
/// do; the machines never send such an update.
void apply(std::optional<Record>& item, const Write& write);

}  // namespace weir::conditional
