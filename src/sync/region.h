// One region's side of sync: a state machine without I/O. In each cycle it takes what was read from its own
// store, gives the snapshot to publish, takes the snapshots of the others, and gives the shares to write.
//
// Why the shares never sum to more than the whole: every region has a base, and the bases sum to the whole. A
// region uses its base, less what it lets others use, plus what others let it use. It lets others use only
// what its own lowered share leaves free, until a moment before that share expires; they use it only until a
// moment before that. So each millitoken is used by one region at a time, however old the snapshot that a
// region acts on.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sync/snapshot.h"
#include "weir/catalog.h"

namespace weir::sync {

/// Shares expire at whole seconds, since every store rounds other expiries up.
inline constexpr Time expiry_unit = 1000;

/// What the level below the shares holds in each region's store.
enum class Floor : unsigned char {
  whole,  ///< the whole limit: it returns in every region where sync has stopped
  share,  ///< the fair share of a region: the sum stays below the whole whatever stops
};

struct Settings {
  std::string region;
  std::vector<std::string> regions;  ///< all of them, this one too, sorted
  Time window = 10'000;
  Time clock_spread = 2'000;  ///< the most that the clocks of two regions differ
  Floor floor = Floor::whole;
  std::map<std::string, Millitokens, std::less<>> least = {};  ///< of quiet regions, by limit

  /// How long a share is written for.
  Time lifetime() const { return windows_of_a_share * window; }
};

/// One entity on one resource, as the region's own store has it.
struct StoreView {
  std::string entity;
  std::string resource;
  std::vector<NamedLimit> below;       ///< the limits that hold where there is no share
  std::optional<Bucket> bucket;        ///< nothing: there is none
  std::optional<StoredLimits> record;  ///< the entity's own limits on the resource
  bool record_read = false;            ///< false: `record` is unknown, and what was written last holds
};

/// Why a share is written.
enum class Reason : unsigned char { first, runs_out, moved, others_wait, expires, too_much };
/// "first", "runs out", "moved", "others wait", "expires" or "too much".
const char* name_of(Reason reason);

/// A share to write: all limits of an entity on a resource.
struct Write {
  std::string entity;
  std::string resource;
  std::vector<NamedLimit> limits;
  std::vector<std::pair<std::string, Millitokens>> shares;
  Time until = 0;
  std::int64_t replaces = 0;  ///< the version of the record that the decision was made with; 0: none
  Reason reason = Reason::first;
  bool without_bucket = false;  ///< an empty charge must make the bucket first, under the limits in force
};

enum class Outcome : unsigned char { written, operator_owned, failed };

/// Not safe for concurrent use.
class Region {
 public:
  explicit Region(Settings settings);

  /// Continues from what this region published last.
  void restore(const Snapshot& own);
  /// Whether the next reading of this entity must include the stored record.
  bool must_read_record(std::string_view entity, std::string_view resource) const;
  /// Whether the entity had a bucket in the last reading, or it is not known.
  bool may_have_bucket(std::string_view entity, std::string_view resource) const;

  /// Takes the readings of a cycle. Nothing is decided about entities that are not among them. Returns the
  /// snapshot to publish; publish it before decide().
  Snapshot observe(Time now, std::span<const StoreView> readings);
  /// Decides what to write, from the snapshots of the other regions. They may be old or missing.
  std::vector<Write> decide(Time now, std::span<const Snapshot> others);
  /// The snapshot again after the writes, with what they let others use. Publishing it at once, and not with
  /// the next cycle, gives the others a window more to use it.
  Snapshot snapshot(Time now);
  /// Whether the last snapshot let others use anything, or the next one will.
  bool lends() const { return lends_; }
  /// Records the outcome of a write; `until` and `version` are those that the store gave it.
  void wrote(const Write& write, Outcome outcome, Time until, std::int64_t version);

  /// What other regions use and this one does not read yet, by the snapshots of the last decision.
  const std::vector<std::pair<std::string, std::string>>& used_only_elsewhere() const { return elsewhere_; }
  /// Everything that was observed so far.
  std::vector<std::pair<std::string, std::string>> keys() const;
  /// Messages for the operator from the last cycle: limits that differ between regions.
  const std::vector<std::string>& problems() const { return problems_; }
  /// One line of the state, for people: what a region holds, and what it should hold.
  struct Status {
    std::string entity, resource, limit;
    Millitokens share = 0;   ///< in force; 0: none
    Millitokens target = 0;  ///< by demand
    Millitokens whole = 0;
    Time until = 0;
    bool operator_owned = false;
    bool waits = false;
  };
  std::vector<Status> status() const;
  const Settings& settings() const { return settings_; }

 private:
  using Key = std::pair<std::string, std::string>;
  struct LimitState {
    std::optional<Limit> below = {};
    SharedLimit published;           ///< of the last snapshot
    Millitokens share = 0;           ///< in force; 0: none
    std::vector<Grant> issued = {};  ///< that have not ended
    std::vector<Grant> wanted = {};  ///< by the last decision
    Millitokens target = 0;          ///< of the last decision
    Millitokens base = 0;            ///< the same
    Millitokens whole = 0;           ///< the same
    bool waits = false;              ///< the same
  };
  struct State {
    std::map<std::string, LimitState, std::less<>> limits;
    std::vector<NamedLimit> others = {};  ///< limits that are not shared
    Time until = 0;                       ///< of the share in force
    std::int64_t version = 0;             ///< of the record of the share in force
    bool operator_owned = false;
    bool uncertain = true;  ///< the record in the store is unknown
    bool observed = false;  ///< in this cycle
    bool written = false;   ///< in this cycle
    Time observed_at = 0;   ///< when what was used was counted last
    bool has_bucket = false;
    bool used_elsewhere = false;  ///< by the snapshots of the last cycle
  };
  /// One limit in the decision of a cycle.
  struct Decided {
    Millitokens share = 0;    ///< to write
    Millitokens held = 0;     ///< in force; without a share the limit below
    Millitokens allowed = 0;  ///< the most that may be in force until the present share expires
    Time until = 0;           ///< the latest expiry of a write, because of grants that it uses
    bool lends = false;
    bool others_wait = false;
    bool runs_out = false;
    bool any_demand = false;
    Millitokens base = 0;
  };
  using AllDecided = std::map<std::string, Decided, std::less<>>;
  /// A region that shares a limit, in the order of the regions.
  struct Part {
    std::size_t region = 0;
    const SharedLimit* limit = nullptr;
    Millitokens base = 0;
  };

  void observe(Time now, const StoreView& reading, State& state) const;
  void observe_record(Time now, const StoreView& reading, State& state) const;
  void observe_bucket(Time now, Time elapsed, const StoreView& reading, const std::string& name,
                      LimitState& limit) const;
  void count_windows(Time elapsed, const LimitState& limit, SharedLimit& next) const;
  bool is_countable(Time elapsed) const { return elapsed >= settings_.window / 2; }
  Millitokens fair_share(Millitokens capacity) const;
  void issue_grants(Time now, State& state) const;
  bool is_relevant(Time now, const State& state) const;
  Entry entry_of(Time now, const Key& key, const State& state) const;

  void find_elsewhere(Time now);
  Millitokens whole_of(const std::vector<Part>& parts, const LimitState& limit) const;
  bool is_fresh(const Snapshot* snapshot, Time now) const;
  std::optional<Write> decide(Time now, const Key& key, State& state);
  Decided decide(Time now, const Key& key, const std::string& name, LimitState& limit, const State& state,
                 bool may_borrow);
  std::vector<Part> parts_of(Time now, const Key& key, const std::string& name, const LimitState& limit);
  /// What others let this region use at least until `until`; lowers `earliest` to the first end.
  Millitokens granted(const std::vector<Part>& parts, Time until, Time& earliest) const;
  Time last_use_of(const Grant& grant) const;
  Millitokens left_by_others(Time now, const Key& key, const std::string& name, Millitokens whole) const;
  std::optional<Reason> reason_for(Time now, const State& state, const AllDecided& decided, Time until) const;

  const Settings settings_;
  std::size_t own_ = 0;  ///< the index of this region
  std::map<Key, State> states_;
  std::vector<const Snapshot*> snapshots_;  ///< of the running decision, by region; null: none
  std::int64_t sequence_ = 0;
  Time published_at_ = 0;  ///< of the snapshot before
  bool lends_ = false;
  std::vector<Key> elsewhere_;
  std::vector<std::string> problems_;
};

}  // namespace weir::sync
