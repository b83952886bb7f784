// From the records of the levels to the limits that hold for one bucket.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "limits/access.h"
#include "limits/limit_set.h"
#include "limits/plan.h"
#include "limits/record.h"

namespace weir::limits {

/// The level of each record of Levels.
inline constexpr std::array<Source, 6> level_sources = {
    Source::entity, Source::entity_default, Source::plan, Source::plan, Source::resource, Source::system};
/// The levels that have a record of their own. The two of a plan are parts of its record.
inline constexpr std::array<Source, 4> recorded_levels = {Source::entity, Source::entity_default,
                                                          Source::resource, Source::system};

/// The records of the stored levels, strongest first; each may be empty.
struct Levels {
  /// The places of the two sets of a plan: for the resource, and for all.
  static constexpr std::size_t plan_on_resource = 2;
  static constexpr std::size_t plan_on_all = 3;

  std::array<LimitsRecordRef, 6> records;
  /// When the entity was given its plan, or lost it; 0: it never had one. Counts as a change of limits.
  Time plan_stamp = 0;
  /// The two sets of the plan that the entity loses, while its buckets adopt the change; otherwise empty.
  std::array<LimitsRecordRef, 2> left = {};

  static constexpr std::size_t size() { return level_sources.size(); }
  LimitsRecordRef& operator[](std::size_t index) { return records[index]; }
  const LimitsRecordRef& operator[](std::size_t index) const { return records[index]; }
  /// One of the recorded_levels.
  LimitsRecordRef& at(Source level) {
    const auto index = static_cast<std::size_t>(level);
    return records[level < Source::plan ? index : index + 1];
  }
  /// The sets of the entity's plan (may be null) for a resource.
  void set_plan(const PlanRecord* plan, std::string_view resource);
  friend bool operator==(const Levels&, const Levels&) = default;
};

inline constexpr int default_ttl_multiplier = 7;

/// The limits of one bucket and their source, linked to the resolution of its parent's bucket. Immutable and
/// shared; buckets in memory carry a reference to theirs.
struct Resolution : base::RefCounted<Resolution> {
  LimitSetRef limits;
  LimitSetRef request_limits;  ///< sent with the request; may be empty
  Source source =
      Source::system;  ///< the strongest level that has limits; see LimitSet::source for each limit
  Owner owner = Owner::operator_;  ///< of that level
  /// Some limits were sent with the request, and come into force.
  bool request_in_force = false;
  /// Whether limits of a request come into force: no level has limits, or all that have some inherit.
  bool open = false;
  /// Whether charges count as usage, unless the caller says no. The same for every link of a chain, since it
  /// is a setting of the resource, or of the system.
  bool counts_usage = true;
  std::size_t left_out =
      0;           ///< inherited limits beyond the most that a bucket holds; then no decision is made
  Time stamp = 0;  ///< the newest among the levels, deleted ones and the change of the plan included
  Time resolved_at = 0;
  Time valid_until = never;  ///< when one of the levels expires
  Time keep_for = never;     ///< how long an unused bucket is kept; never: for good
  /// When others come into force, since one of the levels expires. Unlike valid_until it is of this bucket
  /// alone, whatever expires in its chain.
  Time changes_at = never;
  base::Ref<const Resolution> after;  ///< those that do; null: none
  /// Until when a bucket is kept that still exists at changes_at, so that it is full under those.
  Time keep_until = 0;
  int multiplier = default_ttl_multiplier;             ///< that keep_for was made with
  int configured_multiplier = default_ttl_multiplier;  ///< of the limiter, where no level has one
  std::uint64_t catalog_generation = 0;                ///< the state of the catalog that it was resolved in
  Levels levels;                                       ///< the records that it was resolved from
  /// Whether other request limits would change the resolution: they are in force, or will be once a level
  /// expires, and count in keep_for.
  bool depends_on_request = false;

  /// The entity is blocked or exempt; empty: neither. Decisions look at that of the first link.
  AccessVerdictRef access;

  std::string parent;  ///< the next entity of the chain; empty at its end
  base::Ref<const Resolution> parent_resolution;

  /// Adds the limits of the next weaker level: those that no stronger one names.
  void add(const LimitSetRef& of_level, Source level);

  /// The expiry of a bucket that need not be kept any longer than this for the limits before changes_at.
  Time expiry_of(Time kept_until) const {
    return kept_until < changes_at ? kept_until : std::max(kept_until, keep_until);
  }

  /// The changes of limits that a bucket has not followed yet.
  struct Missed {
    Time moment;         ///< when the newest change happened
    bool several;        ///< whether there was more than one
    LimitSetRef lowest;  ///< the strictest of each limit among them; may be empty
  };
  /// Changes of a level do not count if a stronger level had limits all the time.
  Missed missed_since(std::int64_t version) const;
};

using ResolutionRef = base::Ref<const Resolution>;

/// Fails where levels that inherit have more limits together than a bucket holds.
Result<void> check_inherited(const Resolution& resolution);

/// Resolves one bucket: the first level that has limits provides the whole set, unless it inherits: then the
/// next one provides the limits that it does not name. `request_limits` (may be empty) is the lowest level.
/// The result has no limits where no level has any. The caller sets parent and
/// generation. `multiplier`: a bucket is kept for this many times the time to fill it, where no level sets a
/// factor.
base::Ref<Resolution> resolve(const Levels& levels, const LimitSetRef& request_limits, Time now,
                              int multiplier);
/// The same levels and the same place in the chain, with other limits of the request.
base::Ref<Resolution> resolve_with(const Resolution& resolution, const LimitSetRef& request_limits, Time now);

}  // namespace weir::limits
