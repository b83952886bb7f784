// The limiter: the API of weir for programs that embed it.
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/amount.h"
#include "weir/catalog.h"
#include "weir/clock.h"
#include "weir/decision.h"
#include "weir/detail/export.h"
#include "weir/entity.h"
#include "weir/level.h"
#include "weir/limit.h"
#include "weir/result.h"
#include "weir/usage.h"

namespace weir {

namespace limiter {
class Core;
}

/// How a Limiter is opened.
struct Options {
  /// An isolated tenant inside the store: 1 to 32 of a-z, 0-9 and "-".
  std::string name_space = "default";
  /// The source of time. It must outlive the Limiter, and every other Limiter on the same file. Null: the
  /// machine's clock, and on Redis the server's. All processes on a shared store must agree on the time: set
  /// a clock only in tests.
  const Clock* clock = nullptr;
  /// The principal that the audit names for changes of limits and entities: 1 to 128 bytes of UTF-8.
  std::string principal = "library";
  /// How long a lease can be changed after its acquire; at least 1 ms.
  std::chrono::milliseconds lease_deadline = std::chrono::minutes(10);
  /// An unused bucket is kept for this many times the time to fill it, unless the limits of the system set
  /// another multiplier; at least 1.
  int bucket_ttl_refill_multiplier = 7;
  /// How long the store keeps the audit; at least 1 ms. Nothing: the stored setting stays; a new store has
  /// one year. A value is written when the store is opened, so opening fails while the store is unavailable.
  std::optional<std::chrono::milliseconds> keep_audit_for = {};
  /// How long the store keeps usage, by the hour and then by the day; at least one day each. Nothing: the
  /// stored setting stays; a new store has 90 days of hours and 2 years of days. Written like keep_audit_for.
  std::optional<std::chrono::milliseconds> keep_usage_hours_for = {};
  std::optional<std::chrono::milliseconds> keep_usage_days_for = {};
  /// `sqlite:` only: whether to create a missing file. If false, opening a missing file fails.
  bool create = true;
  /// Redis and DynamoDB only: whether opening fails while the server is unavailable. If false, opening
  /// succeeds, calls fail with `unavailable`, and the store opens by itself once the server answers. A
  /// mistake in the URL, an unreadable file of certificates, and missing AWS credentials or region still
  /// fail.
  bool must_be_reachable = true;
  /// `sqlite:` only: how long to wait until another process releases the file.
  std::chrono::milliseconds wait_for_file{0};
};

/// Limits that are sent with requests, the lowest level: they hold where no stored level has any. Made
/// once and used for many requests. Immutable, cheap to copy, and safe to use from any thread.
class WEIR_API RequestLimits {
 public:
  /// Parses and checks 1 to 16 limits. The error names the one that is wrong.
  static Result<RequestLimits> make(const std::vector<LimitText>& limits);
  /// The same for limits that are parsed already.
  static Result<RequestLimits> make(std::span<const NamedLimit> limits);

 private:
  friend class limiter::Core;
  struct Set;
  explicit RequestLimits(std::shared_ptr<const Set> set) : set_(std::move(set)) {}
  std::shared_ptr<const Set> set_;
};

/// Options of acquire() and available().
struct AcquireOptions {
  /// The lowest level of limits, for the entity's own bucket only. It must live until the call returns.
  /// Null: none.
  const RequestLimits* limits = nullptr;
  /// Makes retries safe; 1 to 128 bytes. The same request by the same principal with the same key is charged
  /// once, and until the lease's deadline every repetition is answered with the same lease. A refusal is not
  /// remembered. Empty: every acquire is a new one.
  std::string_view idempotency_key = {};
  /// No limit refuses, as if all were in shadow mode: those that would are left uncharged and reported. A
  /// later change of the lease that names such a limit charges it, unless the limit itself is in shadow mode.
  bool shadow = false;
  /// How long the lease can be changed, and holds concurrent limits; 1 ms to a year. 0:
  /// Options::lease_deadline. A lease that holds something of a concurrent limit may get up to an eighth
  /// more; see Lease::deadline().
  std::chrono::milliseconds lease_for{0};
  /// Whether the charge counts as usage. Later changes of the lease count if the last acquire on the bucket
  /// did.
  bool usage = true;
  /// acquire() only: waits until the request is admitted, instead of refusing it, for at most this long; 0 to
  /// longest_wait. Requests that wait on one Limiter for the same entity and resource are served first come,
  /// first served; others may overtake them. A request that cannot be admitted in time is refused at once,
  /// as are requests beyond 4,096 that wait for one entity and resource. See Decision::waited().
  std::chrono::milliseconds max_wait{0};
  static constexpr std::chrono::milliseconds longest_wait = std::chrono::seconds(60);
};

/// How Limiter::grant() is carried out.
struct GrantOptions {
  /// When the grant ends: 1 ms to ten years from now. Nothing: it lasts until it is used.
  std::optional<std::chrono::milliseconds> expires_in = {};
  /// The same grant with the same key happens once, however often it is sent within a day. Empty: it happens
  /// every time.
  std::string key = {};
};

/// Decides requests on one store, in one namespace.
///
/// **Threads.** Safe to use from any thread. Destroy, move or assign it only while no other thread uses it.
///
/// **Ownership.** A lease points to the Limiter that made it, and must be destroyed before it. Moving a
/// Limiter keeps its leases valid; assigning to a Limiter ends the one that it was. A Limiter that was moved
/// from can only be destroyed or assigned to. Texts that are passed in need to live only until the call
/// returns.
///
/// **Blocking.** Every call blocks until it has its answer. On `memory:` a call waits for nothing but short
/// locks. On `sqlite:` a call that changes something returns after its commit is on the disk; calls of other
/// threads share the commit. On Redis and DynamoDB a call waits for the server. A decision waits at most for
/// `deadline_ms` of the store's URL (250 ms by default) for each request that it sends; changes and listings
/// of limits and entities may take several seconds. An acquire with AcquireOptions::max_wait may also wait
/// for refill.
///
/// **Failure.** Every failure is an Error that names its cause and changes nothing, unless its code is
/// outcome_unknown.
///
/// **Names.** An entity is 1 to 256 letters, digits and `_-.:@/+=`; a resource 1 to 128 letters, digits and
/// `_-.:/*` (a `*` is a character like any other), not `_default_`, and so is a plan; a limit a letter, then
/// letters, digits,
/// `_` and `-`, at most 64. A bucket has at most 16 limits, a chain at most 8 entities, a request names at
/// most 64 limits, a page holds 1 to 1000 items.
class WEIR_API Limiter {
 public:
  /// Opens a store by its URL:
  ///
  /// - `memory:` (also `memory`): a new, empty store, which only this Limiter uses.
  /// - `sqlite:PATH`: a file, which is created if it is missing. Limiters on the same file in one process
  ///   share it, and must have the same clock. Another process cannot open the file meanwhile.
  /// - `redis://HOST:PORT`, `rediss://` with TLS: shared by every process (docs/redis.md has the parameters).
  /// - `dynamodb://TABLE`: shared by every process (docs/dynamodb.md has the parameters). The table must
  ///   exist; `weir store init` creates it.
  ///
  /// Opening Redis waits a few seconds at most, opening DynamoDB up to 10 seconds. If the server is
  /// unavailable, opening fails, unless Options::must_be_reachable is false.
  static Result<Limiter> open(std::string_view url, const Options& options = {});

  Limiter(Limiter&&) noexcept;
  Limiter& operator=(Limiter&&) noexcept;
  /// The last Limiter on a store closes it, and waits until the threads of the store have ended.
  ~Limiter();

  /// Charges the entity, and its ancestors as far as charges cascade, for all named limits at once, or
  /// for nothing at all. A limit that is named with 0 is checked (refused while in debt), one that is
  /// not named is neither checked nor charged. At least one limit must be named. A refusal is an answer, not
  /// an error.
  Result<Decision> acquire(std::string_view entity, std::string_view resource,
                           std::initializer_list<Charge> consume, const AcquireOptions& options = {}) {
    return acquire(entity, resource, std::span(consume.begin(), consume.size()), options);
  }
  /// @overload
  Result<Decision> acquire(std::string_view entity, std::string_view resource,
                           std::span<const Charge> consume, const AcquireOptions& options = {});

  /// The answer that acquire would give. Charges nothing, and promises nothing: the wait of a bucket that
  /// does not exist yet is guaranteed only after an acquire was refused. Without charges it reports the
  /// balances. An idempotency key is ignored.
  Result<Decision> available(std::string_view entity, std::string_view resource,
                             std::initializer_list<Charge> consume = {}, const AcquireOptions& options = {}) {
    return available(entity, resource, std::span(consume.begin(), consume.size()), options);
  }
  /// @overload
  Result<Decision> available(std::string_view entity, std::string_view resource,
                             std::span<const Charge> consume, const AcquireOptions& options = {});

  /// Adjusts a lease by its id (Lease::id), from any process on the same store and namespace: see
  /// Lease::adjust. The key, 1 to 128 bytes, makes retries safe: the same key again changes nothing more,
  /// whatever the amounts. A lease can be adjusted 1024 times.
  Result<LimitReport> adjust(std::string_view lease_id, std::initializer_list<Charge> differences,
                             std::string_view key, Debt debt = Debt::allowed) {
    return adjust(lease_id, std::span(differences.begin(), differences.size()), key, debt);
  }
  /// @overload
  Result<LimitReport> adjust(std::string_view lease_id, std::span<const Charge> differences,
                             std::string_view key, Debt debt = Debt::allowed);
  /// States the true cost of a lease by its id, and ends it: see Lease::settle.
  Result<LimitReport> settle(std::string_view lease_id, std::initializer_list<Charge> actual) {
    return settle(lease_id, std::span(actual.begin(), actual.size()));
  }
  /// @overload
  Result<LimitReport> settle(std::string_view lease_id, std::span<const Charge> actual);
  /// Gives back the whole charge of a lease by its id, and ends it: see Lease::rollback.
  Result<LimitReport> rollback(std::string_view lease_id);

  /// Extends a lease by its id: see Lease::extend. Returns the new deadline.
  Result<Time> extend(std::string_view lease_id, std::chrono::milliseconds lease_for);

  /// Stores the limits of one level, in place of all limits that the level had. The first level that has
  /// limits replaces the whole set of the levels below it, also limits that it does not name, unless
  /// SetLimitsOptions::inherit is set.
  ///
  /// A change also applies to existing buckets, and never grants more than the old or the new limits would:
  /// refill is claimed at the old rate up to the change, and a balance above a lower burst is cut.
  Result<StoredLimits> set_limits(const Level& level, std::span<const NamedLimit> limits,
                                  const SetLimitsOptions& options = {});
  /// @overload
  Result<StoredLimits> set_limits(const Level& level, const std::vector<LimitText>& limits,
                                  const SetLimitsOptions& options = {});
  /// Stores the limits of several levels, all or none, as change() does. Returns them in the same order.
  Result<std::vector<StoredLimits>> set_limits(std::span<const SetLimits> levels);
  /// The limits that are stored at one level; not_found if it has none.
  Result<StoredLimits> limits(const Level& level);
  /// Deletes all limits of one level; not_found if it has none.
  Result<void> delete_limits(const Level& level);
  /// The limits that hold for an entity on a resource: those of the first level that has any. The error is
  /// no_limits if no level has any.
  Result<EffectiveLimits> effective_limits(std::string_view entity, std::string_view resource);
  /// The limits that would hold if the entity had none of its own on this resource: those that return when
  /// its own are deleted or expire.
  Result<EffectiveLimits> limits_below(std::string_view entity, std::string_view resource);
  /// The levels that have limits, page by page.
  Result<Page<StoredLimits>> list_limits(const LimitsFilter& filter = {}, const Paging& paging = {});

  /// Stores a plan, in place of everything that was stored under its name: a named set of limits, with sets
  /// of their own for some resources. They hold for every entity that names the plan (Entity::plan), below
  /// the entity's own limits and above those of the resource. Members follow a change of the plan with their
  /// next decision. At least one set must have limits; a plan has sets for at most 100 resources.
  Result<LimitsPlan> put_plan(const LimitsPlan& plan);
  /// A stored plan; not_found if it is not stored.
  Result<LimitsPlan> plan(std::string_view name);
  /// Deletes a plan. Refused with conflict while an entity has it.
  Result<void> delete_plan(std::string_view name);
  /// Every stored plan, in the order of the names.
  Result<Page<LimitsPlan>> plans(const Paging& paging = {});
  /// The ids of the entities that have this plan.
  Result<Page<std::string>> members(std::string_view plan, const Paging& paging = {});

  /// Stores an entity, in place of everything that was stored about it except the time of its creation.
  /// Parent and cascade can be changed only while the entity has no bucket (in a Redis Cluster: while no
  /// entity below it has one either). A parent need not be stored itself; a parent without limits is not
  /// charged. The plan must exist, and can be changed at any time: the entity's buckets adopt it at once.
  Result<Entity> put_entity(const Entity& entity);
  /// A stored entity; not_found if it is not stored.
  Result<Entity> entity(std::string_view id);
  /// Deletes an entity with its limits and buckets. Refused with conflict while it has children.
  Result<void> delete_entity(std::string_view id);
  /// Blocks an entity, or exempts it from limits, at once in this process and within a moment in others
  /// (DynamoDB: within `cache_ms`). Replaces the rule of the same kind for the same resource. A block holds
  /// for every descendant, whether charges cascade or not, and wins over every limit, also over names of
  /// limits that do not exist, and over exemptions. The entity need not be stored. A reason is required.
  /// Returns the entity with its rules.
  Result<Entity> set_access(std::string_view entity, const AccessRule& rule);
  /// Removes the rule of this kind for this resource (empty: the rule for every resource); not_found if there
  /// is none. Others stay.
  Result<void> remove_access(std::string_view entity, Access access, std::string_view resource = {});
  /// The ids of the entities whose parent this is.
  Result<Page<std::string>> children(std::string_view id, const Paging& paging = {});
  /// Every stored entity, in the order of the ids.
  Result<Page<Entity>> entities(const Paging& paging = {});
  /// The buckets of an entity, in the order of the resources. The entity need not be stored.
  Result<Page<Bucket>> buckets(std::string_view entity, const Paging& paging = {});
  /// The buckets on a resource, of every entity; an empty resource: all buckets. BucketLimit::in_force is as
  /// the bucket was last written. A page may be short although another one follows.
  ///
  /// An order other than BucketOrder::entity reads all of them for every page and keeps one page in memory;
  /// the error is invalid_argument if there are more than 100,000. Balances change meanwhile, so a bucket may
  /// be on two pages or on none.
  Result<Page<Bucket>> buckets_on(std::string_view resource, const BucketsFilter& filter = {},
                                  const Paging& paging = {});

  /// Fills the entity's bucket on a resource to capacity, or all of its buckets where the resource is empty.
  /// Never lowers a balance; leaves alone what is held of concurrent limits. Counts as no consumption, and is
  /// in the audit. Returns the buckets after it. Filling again later fills again.
  Result<std::vector<Bucket>> reset(std::string_view entity, std::string_view resource = {});
  /// Grants more to the entity's bucket on a resource, beside the balances of its limits: a grant does not
  /// refill and is not cut at the burst, and requests take it first. It ends as the options say. At most four
  /// with different ends for each limit; the error is conflict for one more. Only rate limits that are in
  /// force. Counts as no consumption, and is in the audit. Returns the bucket after it; without limits if a
  /// repeated grant finds none.
  Result<Bucket> grant(std::string_view entity, std::string_view resource, std::span<const Charge> amounts,
                       const GrantOptions& options = {});
  /// @overload
  Result<Bucket> grant(std::string_view entity, std::string_view resource,
                       std::initializer_list<Charge> amounts, const GrantOptions& options = {}) {
    return grant(entity, resource, std::span(amounts.begin(), amounts.size()), options);
  }
  /// Lowers the entity's bucket on a resource to at most these balances; never raises one. Counts as no
  /// consumption. For limits of another party that say what is left, such as a vendor's answer. Only rate
  /// limits; the ancestors are left alone.
  Result<LimitReport> lower(std::string_view entity, std::string_view resource,
                            std::span<const Charge> at_most);

  /// Makes all changes, or none of them. An error names the change that failed, counted from 1. On DynamoDB
  /// other processes may see a part of more than about 30 changes before the rest.
  Result<void> change(std::initializer_list<CatalogChange> changes, const ChangeOptions& options = {}) {
    return change(std::span(changes.begin(), changes.size()), options);
  }
  /// @overload
  Result<void> change(std::span<const CatalogChange> changes, const ChangeOptions& options = {});

  /// The audit: changes of limits, plans and entities, newest first. `subject`: an entity, "$PLAN:{plan}",
  /// "$RESOURCE:{resource}" or "$SYSTEM"; empty: all.
  Result<Page<AuditEvent>> audit(std::string_view subject = {}, const Paging& paging = {});
  /// The same, only the events that fit the filter. A page may be short although another one follows.
  Result<Page<AuditEvent>> audit_events(const AuditFilter& filter, const Paging& paging = {});

  /// The namespaces of the store that were created or have limits, plans, entities or buckets, by name. Redis
  /// and DynamoDB read all keys of the store for it.
  Result<std::vector<Namespace>> namespaces();
  /// Creates a namespace, so that it is listed before it is used. Using one does not need it. A second time
  /// changes nothing; conflict while it is purged.
  Result<Namespace> create_namespace(std::string_view name);
  /// Purges a namespace: from now on every request in it is refused as blocked, and for `keep_for` (up to a
  /// year) it can be restored as it was. After that time another purge deletes everything in it, its audit
  /// included; with 0 the first one does. not_found where the namespace holds nothing. A purge that is sent
  /// again before that time changes nothing. Changes of limits and entities are still possible, and are
  /// deleted too.
  Result<Namespace> purge_namespace(std::string_view name, std::chrono::milliseconds keep_for);
  /// Ends a purge. The error is not_found if the namespace was not purged, and conflict if its time is over.
  Result<Namespace> restore_namespace(std::string_view name);

  /// The usage, by hours or days of UTC. Order: of an entity by resource and start; of a parent by child,
  /// resource and start; else by start and entity. Hours that are not kept any more are returned as days. A
  /// page may have fewer items than asked for; only the last one has no `next`. A day is counted whole if it
  /// starts within the range.
  Result<Page<Usage>> usage(const UsageFilter& filter, const Paging& paging = {});
  /// The largest users: the entities of the filter, or the resources of one entity, in descending order of
  /// the named limit, or of events if it is empty; equals by name. `count`: how many, 1 to 100. Those that
  /// did not use the limit are left out. Reads the whole range, more than once if more than 65,536 entities
  /// used the resource: memory is bounded by as many names, and by the series of the result.
  Result<std::vector<UsageTotal>> top_usage(const UsageFilter& filter, std::string_view limit,
                                            std::size_t count);

  /// Warnings about the store for the operator, such as a file that was written while the clock was ahead,
  /// or a record that cannot be used. Complete sentences for the log; new ones are appended.
  std::vector<std::string> warnings() const;

 private:
  explicit Limiter(std::unique_ptr<limiter::Core> core);
  std::unique_ptr<limiter::Core> core_;
};

}  // namespace weir
