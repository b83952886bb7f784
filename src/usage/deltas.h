// Computes usage from the images of buckets in a stream of changes. Pure functions.
//
// A cursor has the counters of a bucket that were counted, and the position in the stream up to which they
// were. The consumption of a write is its image minus the cursor, so a record that is seen twice counts once,
// and the next record recovers what a lost one contained.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "usage/retention.h"
#include "usage/segment.h"

namespace weir::usage {

/// The name of a bucket.
struct BucketId {
  std::string name_space;
  std::string entity;
  std::string resource;
  friend bool operator==(const BucketId&, const BucketId&) = default;
  friend auto operator<=>(const BucketId&, const BucketId&) = default;
};

/// The counters of a bucket after a write.
struct Counters {
  std::uint64_t generation = 0;
  std::vector<Used> amounts = {};  ///< by name
  bool counts = true;              ///< false: usage was off when this was written
  const Used* find(std::string_view limit) const;
  friend bool operator==(const Counters&, const Counters&) = default;
};

/// One write of a bucket. A bucket that was created has no old image, a deleted one no next.
struct BucketRecord {
  BucketId bucket;
  std::string sequence;  ///< of the record, as the stream has it
  std::string position;  ///< the same, so that positions of a bucket's records are ordered as texts
  Time at = 0;           ///< the moment of the decision
  Time created = 0;      ///< when the stream took the record; rounded
  std::optional<Counters> old = {};
  std::optional<Counters> next = {};
  bool migrates = false;  ///< brings counters that another item had before; they are no usage
};

/// Positions are ordered by stream, then by sequence number. `label`: the time at which the stream was
/// created, as text. A sequence number has up to 40 digits.
std::string stream_position(std::string_view label, std::string_view sequence);

/// The consumption of one write by its images alone: next minus old, as one set for all limits. An old
/// counter that is missing or of another generation is 0. Limits that did not change are left out.
std::vector<Used> extract_deltas(const BucketRecord& record);

/// The counters of a bucket that were counted.
struct StreamCursor {
  std::string position;  ///< of the last record that was counted
  Counters counted;
  Time hour = 0;  ///< the latest that was counted in
  friend bool operator==(const StreamCursor&, const StreamCursor&) = default;
};

/// What to add to one hour.
struct HourSum {
  Time hour = 0;
  std::vector<Used> amounts = {};  ///< by name; those that are not 0
  std::int64_t events = 0;
  friend bool operator==(const HourSum&, const HourSum&) = default;
};

/// A step of a cursor over records. `from`, `to` and `sums` are written at once, on condition of `from`.
struct Advance {
  std::optional<StreamCursor> from;
  StreamCursor to;
  std::vector<HourSum> sums = {};  ///< by hour
  std::vector<HourSum> days = {};  ///< by day, where hours are not kept any more
  std::size_t taken = 0;           ///< how many of the records it covers
  std::size_t deltas = 0;          ///< changes of a limit
  std::size_t made_good = 0;       ///< records whose old image differs from what was counted
  bool must_write = false;         ///< false: there is nothing to remember
  std::uint64_t events() const;    ///< of all sums
};

/// At most this many hours are written at once.
inline constexpr std::size_t most_hours = 20;

/// Counts records of one bucket, in the order of the stream. Records up to the cursor are passed over.
/// Without a cursor, counting starts from the first record's old image. If the hour of a record was no longer
/// kept when the stream took the record, the record is counted in its day, and the cursor moves to the hour
/// in which the stream took it. The choice depends on the record alone, so all workers make the same one.
Advance count_records(const std::optional<StreamCursor>& cursor, std::span<const BucketRecord> records,
                      const Kept& kept = {});

/// The write of a step to the record of one hour, or of a day. The cursor is kept in the record of the latest
/// hour. A record that once held the cursor keeps a tombstone of it, at a position that no writer expects, so
/// that the condition of a late write fails.
struct HourWrite {
  enum class Condition : unsigned char { none, no_cursor, cursor };
  UsageWindow window = UsageWindow::hour;  ///< a day has neither condition nor cursor
  Time hour = 0;                           ///< the start of the window
  Condition condition = Condition::none;
  std::string position = {};                ///< condition: of the cursor in the record
  std::optional<StreamCursor> cursor = {};  ///< to store
  std::optional<std::string> retires = {};  ///< the position of the tombstone of a cursor that has moved on
  std::vector<Used> amounts = {};           ///< to add
  std::int64_t events = 0;                  ///< to add
  bool is_new = true;                       ///< the record may not exist yet
};
/// All of them are written, or none. The first one gets the cursor.
std::vector<HourWrite> writes_of(const Advance& step);

}  // namespace weir::usage
