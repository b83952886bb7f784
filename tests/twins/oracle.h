// The oracle: what weir must answer, written as naively as possible and sharing no code with src/.
//
// Names are small numbers, time is passed in, every product is computed in 128 bits, nothing is cached. It
// knows the promises of docs/guarantees.md and the exceptions that are stated there, and nothing about any
// store.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "twins/slots.h"
#include "weir/clock.h"
#include "weir/entity.h"
#include "weir/level.h"
#include "weir/limit.h"
#include "weir/result.h"

namespace weir::twins {

inline constexpr Time never = std::numeric_limits<Time>::max();
/// The wait of a limit that can never admit what was asked of it.
inline constexpr Time never_fits = -1;

/// One limit, in millitokens and milliseconds. A concurrent limit refills nothing.
struct Terms {
  std::int64_t capacity = 0;
  std::int64_t burst = 0;
  std::int64_t amount = 1;
  std::int64_t period = 1;
  bool concurrent() const { return amount == 0; }
  friend bool operator==(const Terms&, const Terms&) = default;
};

struct NamedTerms {
  int limit = 0;
  Terms terms;
  Mode mode = Mode::enforce;
  friend bool operator==(const NamedTerms&, const NamedTerms&) = default;
};

/// Ordered by the number of the limit.
using Set = std::vector<NamedTerms>;
using SetRef = std::shared_ptr<const Set>;

const Terms* find(const Set& set, int limit);

/// G(to) - G(from), with G(t) = floor(t * amount / period); 0 where time does not advance.
std::int64_t granted(const Terms& terms, Time from, Time to);
/// The least t >= from with G(t) - G(from) >= missing.
Time moment_granted(const Terms& terms, Time from, std::int64_t missing);
/// ceil(tokens * period / amount); 0 for a concurrent limit.
Time time_to_grant(const Terms& terms, std::int64_t tokens);
/// Whether a refills more slowly than b.
bool slower(const Terms& a, const Terms& b);
/// The slower rate, the smaller capacity and the smaller burst.
Terms tighter(Terms own, const Terms& other);
/// Adds the limits of another set, or the tighter of both terms.
void tighten(Set& lowest, const SetRef& other);
/// How many earlier versions of a level are told apart; older ones are merged into the last.
inline constexpr std::size_t remembered_versions = 8;

/// Where limits are stored. `entity` and `resource` are -1 where the kind has none.
struct LevelId {
  Source kind = Source::system;
  int entity = -1;
  int resource = -1;
  int plan = -1;  ///< of Source::plan
  friend auto operator<=>(const LevelId&, const LevelId&) = default;
};

/// One set of a plan.
struct PlanSet {
  Set limits;
  bool inherit = false;
};
/// By resource; -1: for all that have none of their own.
using PlanSets = std::map<int, PlanSet>;

struct Asked {
  int limit = 0;
  std::int64_t amount = 0;
  friend auto operator<=>(const Asked&, const Asked&) = default;
};

struct Request {
  int entity = 0;
  int resource = 0;
  std::vector<Asked> consume;
  SetRef limits;    ///< sent with the request; may be null
  std::string key;  ///< empty: none
  bool shadow = false;
  Time lease_for = 0;  ///< 0: as the options say
};

/// A block of an entity, or its exemption from limits.
struct Rule {
  Access access = Access::blocked;
  int resource = -1;   ///< -1: every one
  Time until = never;  ///< it holds before this moment
  std::string reason = {};
  Time since = 0;
  bool holds(int on, Time now) const { return (resource < 0 || resource == on) && now < until; }
};

/// The block that refused a request. Where the entity has several that last equally long, any of them may be
/// named.
struct Blocked {
  int entity = 0;
  std::vector<Rule> rules = {};
};

/// One line of a report.
struct Line {
  int entity = 0;
  int limit = 0;
  Terms terms;
  std::int64_t requested = 0;
  std::int64_t remaining = 0;
  Time wait = 0;  ///< 0: not exceeded
  Source source = Source::system;
  Owner owner = Owner::operator_;
  Mode mode = Mode::enforce;
  bool would_refuse = false;  ///< left out of the charge
};

struct Answer {
  std::optional<ErrorCode> error;
  bool admitted = false;
  bool never_fits = false;
  std::optional<Time> wait;  ///< nothing: never, or not a wait that can be promised
  std::vector<Line> lines;
  int lease = -1;             ///< of an admitted acquire
  bool repeated = false;      ///< answered from the marker
  Time limits_until = never;  ///< when one of the levels that were looked at expires
  bool written = false;       ///< a refusal that wrote a bucket
  /// When a bucket expires that has not followed a change of limits yet: by the expiry of the old ones.
  Time behind_until = never;
  std::optional<Blocked> block = {};
  bool exempt = false;  ///< no limit could refuse
};

enum class Verb : unsigned char { adjust, settle, rollback, extend };

struct Held {
  int limit = 0;
  Terms terms;
  std::int64_t tokens = 0;
  std::int64_t consumed = 0;
  bool dormant = false;
  Slots slots = {};     ///< of a concurrent limit, whose tokens are its capacity less these
  Granted grants = {};  ///< beside the tokens
  std::int64_t all() const { return tokens + total(grants); }
};

struct BucketState {
  Time refilled_at = 0;
  std::int64_t version = 0;
  std::uint64_t generation = 0;
  Time expires_at = never;
  // A store that charges and gives back blindly leaves the expiry as it is: it lies between these.
  Time earliest = never;          ///< by the last write that took something
  Time latest = 0;                ///< of all writes
  std::vector<Held> limits = {};  ///< ordered by the number of the limit
};

enum class Ending : unsigned char { open, settled, rolled_back };

struct LeaseAmount {
  int limit = 0;
  std::int64_t amount = 0;
  unsigned buckets = 0;                         ///< bit i: the i-th bucket of the lease was charged
  unsigned holds = 0;                           ///< those of them in which the limit is concurrent
  std::map<std::size_t, Granted> granted = {};  ///< what was taken of grants, by bucket
};

struct Lease {
  struct Bucket {
    int entity = 0;
    std::uint64_t generation = 0;
  };
  int resource = 0;
  std::vector<Bucket> buckets;  ///< none: an exempt entity had no limits that the request named
  std::vector<LeaseAmount> amounts;
  Time deadline = 0;
  Ending ending = Ending::open;
  std::vector<std::string> keys;
  /// A later charge did not reach every bucket, because a limit had left it, or charged a limit that the
  /// acquire had left out.
  bool narrowed = false;
  bool extended = false;
};

class Oracle {
 public:
  struct Config {
    int entities = 1;
    int resources = 1;
    int plans = 2;
    int multiplier = 7;
    Time lease_for = 600'000;
    /// A bucket that was refilled further ahead of the clock than this is repaired.
    Time clock_bound = 60'000;
  };
  explicit Oracle(const Config& config);

  struct SetOptions {
    Owner owner = Owner::operator_;
    std::optional<Time> expires_in = {};
    std::optional<int> multiplier = {};
    bool inherit = false;
  };
  using Outcome = std::optional<ErrorCode>;
  Outcome set_limits(const LevelId& level, Set limits, const SetOptions& options, Time now);
  Outcome delete_limits(const LevelId& level, Time now);
  /// `plan`: -1 for none.
  Outcome put_entity(int entity, int parent, bool cascade, int plan, Time now);
  Outcome put_plan(int plan, const PlanSets& sets, Time now);
  Outcome delete_plan(int plan, Time now);
  Outcome delete_entity(int entity, Time now);
  Outcome set_access(int entity, const Rule& rule, Time now);
  Outcome remove_access(int entity, Access access, int resource, Time now);

  Answer acquire(const Request& request, Time now);
  Answer look(const Request& request, Time now) const;
  /// `key` of an adjust; empty: cannot be repeated.
  /// `enforce`: an adjust that must not leave a debt.
  Answer change(int lease, Verb verb, const std::string& key, const std::vector<Asked>& amounts, bool enforce,
                Time now);
  /// The lease has the new deadline afterwards.
  Outcome extend(int lease, Time lease_for, Time now);

  enum class Correction : unsigned char { fill, lower, grant };
  /// A correction of one bucket: fills it, lowers it to at most these amounts, or grants them until `end`.
  Answer correct(int entity, int resource, Correction how, const std::vector<Asked>& amounts, Time now,
                 Time lasts = 0);
  /// Grants more; `lasts` 0: until it is used. With a key it happens once within a day.
  Answer grant(int entity, int resource, const std::vector<Asked>& amounts, Time lasts,
               const std::string& key, Time now);
  /// Fills a bucket that exists, and notes it in the audit.
  Answer reset(int entity, int resource, Time now);

  const Lease& lease(int index) const { return leases_[static_cast<std::size_t>(index)]; }
  int lease_count() const { return static_cast<int>(leases_.size()); }
  /// Null where there is none at that moment.
  const BucketState* bucket(int entity, int resource, Time now) const;
  /// Whether there was a bucket that has expired.
  bool expired_bucket(int entity, int resource, Time now) const;
  /// What a level says at a moment; null: nothing.
  SetRef limits_at(const LevelId& level, Time now) const;
  struct StoredLevel {
    LevelId level;
    bool inherit = false;
    SetRef limits;
    Owner owner;
    Time expires_at;
  };
  std::vector<StoredLevel> stored_levels(Time now) const;
  /// The changes, oldest first, as the audit has them.
  struct Event {
    Time at = 0;
    const char* action = "";
    LevelId subject;
  };
  const std::vector<Event>& events() const { return events_; }
  struct StoredEntity {
    int entity = 0;
    int parent = -1;
    bool cascade = false;
    int plan = -1;
    Time created_at = 0;
    bool access_only = false;
  };
  std::vector<StoredEntity> stored_entities() const;
  /// The rules of an entity, in the order in which they were set; some may have ended.
  const std::vector<Rule>& rules(int entity) const {
    return entities_[static_cast<std::size_t>(entity)].rules;
  }
  /// The entity and all that are above it, whether charges cascade or not.
  std::vector<int> ancestry(int entity) const;
  /// The nearest block of the entity or one above it.
  std::optional<Blocked> block(int entity, int resource, Time now) const;
  /// Whether the entity has an exemption of its own, blocked or not.
  bool exempt(int entity, int resource, Time now) const;
  /// The earliest end of a rule that still holds, and the latest of those that have ended.
  Time next_rule_end(Time now) const;
  /// When the next key of a grant no longer counts; `never` where there is none.
  Time next_key_end(Time now) const;
  Time last_rule_end(Time now) const;
  /// What a plan has; nothing: there is none.
  std::optional<PlanSets> stored_plan(int plan) const;
  int plan_of(int entity) const { return entities_[static_cast<std::size_t>(entity)].plan; }
  bool cascades(int entity) const { return entities_[static_cast<std::size_t>(entity)].cascade; }
  /// The stored limits that hold for an entity on a resource; null: none.
  SetRef effective(int entity, int resource, Time now) const {
    return resolve(entity, resource, nullptr, now).limits;
  }
  /// What an entity used of a resource within an hour, by limit. Sums of 0 are left out.
  struct HourUsed {
    std::map<int, std::int64_t> amounts;
    std::int64_t events = 0;
  };
  /// By the start of the hour.
  using Hours = std::map<Time, HourUsed>;
  const Hours& usage(int entity, int resource) const { return usage_[bucket_index(entity, resource)]; }
  /// The stamp of the newest change of limits; later than the change where there were several at once.
  Time last_change() const { return last_stamp_; }
  /// The lease that an acquire with this key and request was answered with, if it still would be; else -1.
  int marked(const Request& request, Time now) const;
  /// Whether an open lease has taken something of grants of this limit.
  bool has_taken_grants(int entity, int resource, int limit) const;
  /// Entities of the chain, the charged one first.
  std::vector<int> chain(int entity) const;
  int parent_of(int entity) const { return entities_[static_cast<std::size_t>(entity)].parent; }
  bool stored(int entity) const { return entities_[static_cast<std::size_t>(entity)].stored; }
  /// The earliest expiry of a bucket that exists, and the latest of one that does not any more.
  Time next_expiry(Time now) const;
  Time last_expired(Time now) const;
  /// The earliest moment from `at` on at which every bucket either exists or has been expired for an eighth
  /// of its time and a margin.
  Time clear_of_expiries(Time at, Time margin) const;
  const Config& config() const { return config_; }

 private:
  struct Version {
    Time stamp = 0;
    SetRef limits;
    bool gap = false;
  };
  struct Record {
    bool written = false;
    Version current;
    std::vector<Version> earlier;  ///< newest first
    Owner owner = Owner::operator_;
    Time expires_at = never;
    std::optional<int> multiplier;
  };
  struct Resolution {
    SetRef limits;
    Source source = Source::request;
    Owner owner = Owner::operator_;
    Time stamp = 0;
    Time until = never;  ///< when a level expires
    int multiplier = 7;
    bool kept_for_good = false;
    std::shared_ptr<const Resolution> next;  ///< in force once a level has expired; null: no limits are
    /// Entity and resource, entity, plan on the resource, plan, resource, system.
    std::array<const Record*, 6> records{};
    Time plan_stamp = 0;                     ///< when the entity got its plan, or lost it
    std::array<const Record*, 2> left_by{};  ///< the sets of the plan that it loses at this moment
    std::map<int, Source> sources;           ///< of each limit
    bool request_in_force = false;           ///< some limits came with the request
    bool open = false;                       ///< limits of a request come into force
    Source source_of(int limit) const { return sources.at(limit); }
  };
  struct Missed {
    Time moment = 0;
    bool several = false;
    Set lowest;
  };
  struct Claimed {
    int limit = 0;
    Terms terms;
    std::int64_t held = 0;
    std::int64_t consumed = 0;
    bool dormant = false;
    bool joins = false;  ///< added, or dormant until now; a concurrent limit has no need to
    Slots slots = {};
    Granted grants = {};
    std::int64_t all() const { return held + total(grants); }
  };
  struct Claims {
    Time at = 0;
    std::int64_t version = 0;
    bool changed = false;
    bool returned = false;  ///< a limit was dormant until now
    Time changed_at = 0;    ///< the newest change that the bucket missed
    std::vector<Claimed> limits;
    const Claimed* find(int limit) const;
  };
  /// One bucket of a plan.
  struct Link {
    int entity = 0;
    Resolution resolution;
    const BucketState* state = nullptr;
    Claims claims;
    std::set<int> left_out;  ///< limits that are off, or in shadow mode and would refuse
    std::set<int> watching;  ///< limits that never refuse
    bool exceeded = false;
    bool lacks = false;  ///< the record, or a limit that is exceeded, or the limits that were sent
  };
  struct Plan {
    std::optional<ErrorCode> error;
    std::vector<Link> links;
    Answer answer;
    Time until = never;
    bool shadow = false;     ///< no limit refuses
    bool uncharged = false;  ///< of an exempt entity, and no limit has a name that it asked for
  };
  struct EntityState {
    bool stored = false;
    int parent = -1;
    bool cascade = false;
    Time created_at = 0;
    int plan = -1;
    Time plan_stamp = 0;
    std::vector<Rule> rules = {};
    bool access_only = false;  ///< stored for its rules, nobody has put it
  };
  using KeyOf = std::tuple<std::string, int, int, std::vector<Asked>>;

  static Version version_at(const Record& record, Time now);
  Record& record(const LevelId& level);
  const Record& record(const LevelId& level) const { return const_cast<Oracle*>(this)->record(level); }
  std::size_t bucket_index(int entity, int resource) const;
  void write(const LevelId& level, SetRef limits, const SetOptions& options, Time now);
  static void replace(Record& record, SetRef limits, const SetOptions& options, Time now, Time& stamp);
  /// `left`: the plan that the entity loses; -1: none.
  void adopt(const LevelId& level, Time now, int left = -1);
  /// Null: there is none. `resource` -1: the set for all.
  const Record* plan_record(int plan, int resource) const;
  /// The history of one record since a version, as a bucket feels it.
  struct History {
    std::set<Time> changes;
    std::vector<Set> felt;
    bool always = false;  ///< it had limits all the time, and did not inherit
    std::set<int> named_always;
  };
  static History history_of(const Record* record, std::int64_t version, Time now);
  static History history_of_plan(const Resolution& resolution, std::size_t level, std::int64_t version,
                                 Time now);
  Resolution resolve(int entity, int resource, const SetRef& request_limits, Time now, int depth = 0) const;
  static Time keep(const Terms& terms, int multiplier);
  static Missed missed_since(const Resolution& resolution, std::int64_t version, Time now);
  static Missed missed_by(const BucketState& state, const Resolution& resolution, const Claims& claims,
                          bool sent, bool levels_differ, Time now);
  Claims claim(const BucketState* state, const Resolution& resolution, Time now) const;
  static Claimed claim_one(const Held& held, const Terms* in_force, const Missed& missed, Time from, Time at);
  BucketState claimed_state(const Link& link) const;
  static Time kept_from(const Resolution& resolution, Time moment);
  static Time kept_for_debt(const Held& held, const Resolution& resolution, Time at);
  static Time expiry_of(const BucketState& state, const Resolution& resolution);
  Plan plan(const Request& request, Time now) const;
  static std::optional<ErrorCode> error_of(const Plan& plan, const Request& request);
  static Answer refused_by(Blocked block, Time now);
  /// The amounts of a change that an exemption lets through: those of limits that the lease holds.
  std::vector<Asked> changeable(const Lease& lease, const std::vector<Asked>& amounts, Time now) const;
  static Time wait_of(const Link& link, const NamedTerms& named, std::int64_t amount, Time now);
  bool lacks(const Link& link, Time now) const;
  void judge(Plan& plan, const Request& request, Time now) const;
  using VisitAsked = std::function<void(const Link&, const Claimed&, std::int64_t amount)>;
  static void for_each_asked(const Plan& plan, const Request& request, const VisitAsked& visit);
  static std::optional<Time> first_moment(const Plan& plan, const Request& request, Time now);
  std::optional<Time> promised(const Plan& plan, const Request& request, Time longest, Time now) const;
  void put(const Link& link, int resource, BucketState state, Time now, bool gives_only = false);
  void count(int entity, int resource, const std::optional<BucketState>& before, const BucketState& after,
             Time now);
  Request known_of(Request request, Time now) const;
  Answer repeat(const Request& request, Answer answer, int lease, Time now) const;
  static Time end_of_lease(const Plan& plan, const Request& request, Time now, Time length);
  Answer apply(Lease& lease, Lease next, std::vector<LeaseAmount> charges, bool enforce, Time now);
  Resolution resolve_as_stored(int entity, int resource, const BucketState* state, Time now,
                               int left = -1) const;
  Link lease_link(int entity, int resource, Time now) const;

  Config config_;
  std::vector<Record> records_;
  std::vector<Record> plan_records_;
  std::vector<bool> plans_;  ///< which are stored
  std::vector<EntityState> entities_;
  std::vector<std::optional<BucketState>> buckets_;
  std::vector<Hours> usage_;
  std::vector<Lease> leases_;
  std::map<KeyOf, int> markers_;
  std::map<KeyOf, Time> granted_;  ///< until when the key of a grant counts
  std::vector<Event> events_;
  Time last_stamp_ = 0;
  std::uint64_t generations_ = 0;
};

}  // namespace weir::twins
