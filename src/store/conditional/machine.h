// The types that the state machines of this room share. A machine decides what to send to the store next and
// does no I/O: its owner carries out each action and passes back the event, together with the time.
//
//     Action action = machine.start(images, now);
//     while (action.kind != Action::Kind::done) action = machine.resume(<the event it led to>, now);
//
// The time is sampled once for each call and is used for that whole attempt. A machine is a value: copying it
// copies its state. It is not safe for concurrent use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limits/resolution.h"
#include "store/conditional/write.h"

namespace weir::conditional {

struct Settings {
  Time margin = 0;    ///< added to every expiry: the spread of the clocks and the deadline of a write
  Time recent = 100;  ///< how old a bucket's refill time may be for Retry
  int attempts = 8;   ///< failed writes after which the outcome is contention
  /// A refill time further ahead of the clock than this was written by a wrong clock, and is repaired. 0: all
  /// processes share one clock, and nothing is repaired.
  Time most_ahead = 0;
};

/// The known state of an item: not read yet, absent, or the item.
template <class Item>
struct Seen {
  bool known = false;
  std::optional<Item> item;

  static Seen absent() { return {true, {}}; }
  static Seen of(Item item) { return {true, std::move(item)}; }
  friend bool operator==(const Seen&, const Seen&) = default;
};
using Image = Seen<Record>;

/// The result of an action.
struct Event {
  enum class Kind : unsigned char {
    seen,         ///< the read is done; all images are present
    applied,      ///< the transaction happened; images are those after it, as far as the store tells
    failed,       ///< a condition did not hold; images of the items (and the marker) whose condition failed
    not_applied,  ///< it certainly did not happen: throttled, or in conflict with another transaction
    unknown,      ///< it may have happened, or may still happen
  };
  Kind kind = Kind::seen;
  std::vector<Image> images;  ///< by bucket of the chain; may be shorter
  Seen<Marker> marker;
  bool link_failed = false;  ///< failed: the catalog has another parent, or is about to
};

struct Action {
  enum class Kind : unsigned char {
    read,   ///< all items of the chain, consistently, and the marker where there is one
    write,  ///< the transaction, asking for the old items where it fails
    done,   ///< the outcome is there
  };
  Kind kind = Kind::done;
  Transaction transaction;
};

/// An amount of one limit of a bucket.
struct LimitCharge {
  std::string limit;
  std::int64_t amount = 0;
  bool holds = false;      ///< of a concurrent limit
  std::int64_t moved = 0;  ///< of a concurrent limit: held until the next deadline instead of the lease's
  bucket::Grants returned = {};  ///< of an amount that is given back: what returns to grants
  friend bool operator==(const LimitCharge&, const LimitCharge&) = default;
};

/// The plan of an operation for one bucket of its chain.
struct BucketPlan {
  limits::ResolutionRef resolution;
  /// A bucket of this version was seen before the levels were read: the resolution is at least as new as this
  /// version, whatever its stamp.
  std::int64_t resolved_after = 0;
  std::vector<LimitCharge> charges;
  std::uint64_t generation = 0;           ///< of the bucket that a lease charged; for changes to leases
  Time held_until = 0;                    ///< the deadline of that lease
  Time hold_until = 0;                    ///< the deadline of what is taken of concurrent limits
  std::size_t entity = 0;                 ///< in the chain of the plan
  std::string parent;                     ///< the next entity of the chain, as it was resolved; empty: none
  std::optional<bool> counts_usage = {};  ///< whether the charge counts as usage; nothing: as the last one
};

/// The images of a chain that an operation has seen. Other processes change the items concurrently; the
/// conditions of writes detect that.
class Snapshot {
 public:
  explicit Snapshot(std::size_t buckets)
      : images_(buckets), current_(buckets), seen_here_(buckets), exact_(buckets) {}

  /// Takes the remembered images, which are from before the operation.
  void remember(std::span<const Image> images);
  /// Takes the images of an event. `sent` is the transaction that it answers, if it was one.
  void take(const Event& event, const Transaction& sent);

  /// Marks every image as not current, since time has passed without an event.
  void outdate();

  std::size_t size() const { return images_.size(); }
  bool complete() const;
  const Image& operator[](std::size_t bucket) const { return images_[bucket]; }
  /// The item; null where it is absent or has expired.
  const Record* alive(std::size_t bucket, Time now) const {
    const auto& item = images_[bucket].item;
    return item && item->expires_at > now ? &*item : nullptr;
  }
  /// Whether the image is as new as the last event, so that a refusal may rest on it.
  bool current(std::size_t bucket) const { return current_[bucket]; }
  /// Whether the image is newer than the operation's start.
  bool seen_here(std::size_t bucket) const { return seen_here_[bucket]; }
  /// Whether the image is exactly the item of the last event, charges of other processes included. An older
  /// image to which our own write was added is not.
  bool exact(std::size_t bucket) const { return exact_[bucket]; }

  friend bool operator==(const Snapshot&, const Snapshot&) = default;

 private:
  void see(std::size_t bucket, const Image& image);

  std::vector<Image> images_;
  std::vector<bool> current_;
  std::vector<bool> seen_here_;
  std::vector<bool> exact_;
};

}  // namespace weir::conditional
