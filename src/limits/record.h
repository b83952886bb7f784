// The record of one level: limits, their version, their owner, and enough earlier versions to bring a bucket
// that missed a change up to date.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "limits/limit_set.h"
#include "weir/catalog.h"
#include "weir/clock.h"
#include "weir/level.h"

namespace weir::limits {

inline constexpr Time never = std::numeric_limits<Time>::max();
/// How many earlier versions a record remembers one by one; older ones are merged into the last.
inline constexpr std::size_t remembered_versions = 8;
/// The most names in a version that was merged from several: more than any bucket can keep.
inline constexpr std::size_t most_merged_names = 32;
/// No stamp is later. A record that says otherwise was not written by weir.
inline constexpr Time latest_stamp = Time{1} << 52;

/// Limits expire at whole seconds in every store, since DynamoDB stores no others. Rounded up.
inline Time whole_seconds(Time expires_at) {
  constexpr Time second = 1000;
  const Time rest = expires_at % second;
  if (rest == 0 || expires_at > never - second) return expires_at;
  return expires_at - rest + second;
}

/// The limits of a level from `stamp` on; null where it had none (deleted, or expired).
struct Version {
  Time stamp = 0;
  LimitSetRef limits;
  /// Weaker levels were in force as well: the version inherits, or it was merged from several, one of which
  /// had no limits.
  bool gap = false;
};

/// The state of a namespace, which is kept in the record of its system level. A moment is 0 if it has not
/// happened.
struct NamespaceMark {
  Time created_at = 0;
  Time purged_at = 0;  ///< from then on its requests are refused
  /// Of a purged namespace: until then it can be restored. After that the next purge, for example `weir
  /// namespace purge --due`, erases it.
  Time kept_until = 0;

  bool is_set() const { return created_at != 0 || purged_at != 0; }
  friend bool operator==(const NamespaceMark&, const NamespaceMark&) = default;
};

/// Whether a mark that a store returned can be used.
bool can_be_used(const NamespaceMark& mark);
/// `CREATED PURGED UNTIL`, the same in every store. Empty where nothing is set.
std::string encode_mark(const NamespaceMark& mark);
/// The inverse; nothing where the text cannot be used.
std::optional<NamespaceMark> decode_mark(std::string_view text);

/// Immutable; a change makes a new record from the old one. Safe to share between threads.
struct LimitsRecord : base::RefCounted<LimitsRecord> {
  Version current;
  std::vector<Version> earlier;  ///< newest first
  Owner owner = Owner::operator_;
  Time expires_at = never;
  /// System level only: the factor in the expiry of buckets.
  std::optional<int> bucket_ttl_refill_multiplier;
  /// System level only.
  std::optional<OnUnavailable> on_unavailable;
  /// Resource and system level only: whether usage is counted.
  std::optional<bool> usage;
  /// System level only; stays when its limits change or are deleted.
  NamespaceMark name_space;
  bool from_file = false;  ///< written by applying a limits file
  /// A sentence that says which record of the store cannot be used, why, and what to do; empty: it is good. A
  /// bad record has no limits, so that the next level applies. A write or a delete replaces it.
  std::string bad = {};

  /// The version in force at a moment. An expired record counts as deleted at its expiry.
  Version at(Time now) const {
    if (!current.limits || expires_at > now) return current;
    return {std::max(expires_at, current.stamp), {}, false};
  }
  bool absent(Time now) const { return !at(now).limits; }
  /// Whether limits that it does not name come from the next level.
  bool inherits() const { return current.gap; }
  /// Whether a write or a delete finds something to replace.
  bool replaceable(Time now) const { return !absent(now) || !bad.empty(); }
};

using LimitsRecordRef = base::Ref<const LimitsRecord>;

/// Whether versions that a store returned can be used: stamps in range, merged limits within the arithmetic.
bool can_be_used(const Version& version);

/// The record with `limits` (empty: deleted) that replaces `old` (which may be empty). Its stamp is later
/// than every stamp of the old one and at least `earliest_stamp`.
base::Ref<LimitsRecord> next_record(const LimitsRecordRef& old, LimitSetRef limits, Time earliest_stamp,
                                    Time now);

}  // namespace weir::limits
