// Usage of one bucket, counted as it is written: the rule by which in-process stores and Redis count.
//
// A bucket counts in segments. The open segment holds what changed since it was opened, all within one hour.
// It is closed when the hour changes, when the bucket is replaced, and when a limit that it counts leaves the
// record. A closed segment never changes again, and its id is unique, so a store may write it twice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bucket/state.h"
#include "weir/usage.h"

namespace weir::usage {

inline constexpr Time hour = 3'600'000;
inline constexpr Time day = 24 * hour;

/// The start of the hour that a moment lies in.
inline Time hour_of(Time moment) { return start_of(UsageWindow::hour, moment); }

/// How much of one limit was used, in millitokens.
struct Used {
  std::string limit;
  std::int64_t amount = 0;
  friend bool operator==(const Used&, const Used&) = default;
};

/// A segment of a bucket's usage.
struct Segment {
  Time hour = 0;                   ///< its start
  std::uint64_t id = 0;            ///< no other segment of the bucket, or of its successors, has it
  std::int64_t events = 0;         ///< operations that changed an amount
  std::vector<Used> amounts = {};  ///< those that are not 0
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// What to keep and what to hand over when a bucket is written.
struct Step {
  std::optional<Segment> open;    ///< of the bucket as it is written; nothing: it does not count
  std::optional<Segment> closed;  ///< of the bucket as it was; only if it has events
};

/// Counts a write of a bucket. `before`: the open segment of the stored bucket, if it counts. `old`: the
/// stored bucket, expired or not; null: there is none. `next`: what is written, at the moment `now` of the
/// decision. `counts`: whether usage is on for this bucket. `new_id`: for a segment that is opened.
Step count(const std::optional<Segment>& before, const bucket::State* old, const bucket::State& next,
           Time now, bool counts, std::uint64_t new_id);

}  // namespace weir::usage
