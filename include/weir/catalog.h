// The catalog that an operator sets up: limits at levels, plans, entities, and the audit of every change.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weir/amount.h"
#include "weir/clock.h"
#include "weir/detail/export.h"
#include "weir/entity.h"
#include "weir/level.h"
#include "weir/limit.h"

namespace weir {

/// The decision while the store is unavailable.
enum class OnUnavailable : unsigned char { deny, allow };

/// "deny" or "allow".
WEIR_API const char* name_of(OnUnavailable policy);

/// Options of set_limits().
struct SetLimitsOptions {
  /// An operator's write takes ownership and never expires. Sync can write only an entity's limits, and its
  /// write fails with operator_owned where an operator owns them.
  Owner owner = Owner::operator_;
  /// After this time the limits are gone. Sync must set it; an operator must not.
  std::optional<std::chrono::milliseconds> expires_in = {};
  /// In place of `expires_in`, the moment itself. A write that reaches the store late does not make the
  /// limits last longer, and after that moment it fails with invalid_argument.
  std::optional<Time> expires_at = {};
  /// The version of the limits that this write replaces, 0: none. Where the level has limits of another
  /// version, the write fails with conflict and changes nothing; where it has none, it succeeds.
  std::optional<std::int64_t> replaces = {};
  /// System level only: an unused bucket is kept for this many times the time to fill it; at least 1.
  std::optional<int> bucket_ttl_refill_multiplier = {};
  /// System level only: the policy of programs on this store while it is unavailable, unless they set their
  /// own.
  std::optional<OnUnavailable> on_unavailable = {};
  /// Resource and system level only: whether usage is counted. The resource's setting replaces the system's;
  /// without either, usage is counted. Nothing: as it is stored.
  std::optional<bool> usage = {};
  /// Written by applying a limits file. A later version of the file that does not name them may remove them.
  bool from_file = false;
  /// Limits that this level does not name come from the next level that has limits. Otherwise this level
  /// replaces the whole set. Not for the system's limits, which are the last stored level.
  bool inherit = false;
};

/// Limits as they are stored at one level.
struct StoredLimits {
  Level level;
  std::vector<NamedLimit> limits;
  Owner owner = Owner::operator_;
  std::optional<Time> expires_at = {};
  std::int64_t version = 0;  ///< grows with every change of the level
  std::optional<int> bucket_ttl_refill_multiplier = {};
  std::optional<OnUnavailable> on_unavailable = {};
  std::optional<bool> usage = {};
  bool from_file = false;
  bool inherit = false;
  /// Answers of set_limits only: these limits replaced some that sync owned. Deleting them returns ownership
  /// to sync.
  bool taken_from_sync = false;
};

/// The limits that hold for an entity on a resource, and where they came from.
struct EffectiveLimits {
  std::vector<NamedLimit> limits;
  Source source;                     ///< the strongest level that has limits
  Owner owner;                       ///< of that level
  std::vector<Source> sources = {};  ///< the level of each limit; they differ where a level inherits
};

/// One set of limits of a plan.
struct PlanLimits {
  std::vector<NamedLimit> limits = {};
  /// Limits that the set does not name come from the next level: for a resource's set that is the plan's set
  /// for all resources.
  bool inherit = false;
};

/// A named set of limits that entities refer to, with sets of their own for some resources.
struct LimitsPlan {
  std::string name;
  PlanLimits limits = {};  ///< on every resource without a set of its own; may be empty
  std::map<std::string, PlanLimits> resources = {};
  /// Put by applying a limits file. A later version of the file that does not name it may delete it.
  bool from_file = false;
};

/// One step of change(): as Limiter::set_limits.
struct SetLimits {
  Level level;
  std::vector<NamedLimit> limits;
  SetLimitsOptions options = {};
};
/// One step of change(): as Limiter::delete_limits.
struct DeleteLimits {
  Level level;
};
/// One step of change(): as Limiter::put_entity.
struct PutEntity {
  Entity entity;
};
/// One step of change(): as Limiter::delete_entity.
struct DeleteEntity {
  std::string id;
};
/// One step of change(): as Limiter::put_plan.
struct PutPlan {
  LimitsPlan plan;
};
/// One step of change(): as Limiter::delete_plan.
struct DeletePlan {
  std::string name;
};
/// One step of change(): as Limiter::set_access.
struct SetAccess {
  std::string entity;
  AccessRule rule;
};
/// One step of change(): as Limiter::remove_access.
struct RemoveAccess {
  std::string entity;
  Access access = Access::blocked;
  std::string resource = {};
};
/// Any one step of change().
using CatalogChange = std::variant<SetLimits, DeleteLimits, PutEntity, DeleteEntity, PutPlan, DeletePlan,
                                   SetAccess, RemoveAccess>;

/// Options of change().
struct ChangeOptions {
  /// Called now and then with the progress, on the thread that called change(). Each change counts twice:
  /// once checked and once written. It must not call the Limiter, which may hold a lock meanwhile.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};

/// Which limits list_limits() returns; empty: all.
struct LimitsFilter {
  std::optional<Source> level = {};
  std::optional<Owner> owner = {};
};

/// The order of Limiter::buckets_on().
enum class BucketOrder {
  entity,     ///< by entity, then by resource
  remaining,  ///< those that have the least left first, as a share of the capacity
  consumed,   ///< those that have consumed the most first
};

/// Which buckets buckets_on() returns, and in which order.
struct BucketsFilter {
  BucketOrder order = BucketOrder::entity;
  /// Only buckets that hold less than so many percent of a limit's capacity. Nothing: all.
  std::optional<Amount> below_percent = {};
  /// The limit that is compared; buckets without it are left out. Empty: of `remaining` and `below_percent`
  /// the one of which the smallest share is left, of `consumed` the one that has consumed its capacity most
  /// often.
  std::string limit = {};
};

/// Which events Limiter::audit_events() returns; what is left out does not matter.
struct AuditFilter {
  std::string subject = {};                    ///< as AuditEvent::subject
  Time from = 0;                               ///< the first moment
  Time to = std::numeric_limits<Time>::max();  ///< the moment after the last
  std::string principal = {};
  std::string kind = {};  ///< "limits", "entity", "plan" or "namespace", or an action, such as "limits.set"
};

/// A namespace of a store.
struct Namespace {
  std::string name;
  std::optional<Time> created_at = {};  ///< nothing: it was not created, but used
  std::optional<Time> purged_at = {};   ///< from then on its requests are refused
  std::optional<Time> kept_until = {};  ///< of a purged one: until then it can be restored
  bool erased = false;                  ///< everything in it was deleted by this purge
  friend bool operator==(const Namespace&, const Namespace&) = default;
};

/// Which page of a listing: the items after the cursor of the previous page.
struct Paging {
  std::string cursor = {};  ///< empty: from the beginning
  std::size_t limit = 100;
};

/// One page of a listing; `next` is the cursor of the next, empty at the end.
template <class T>
struct Page {
  std::vector<T> items;
  std::string next = {};
};

/// An amount held of a concurrent limit until a deadline, at which it is given back at the latest.
struct HeldAmount {
  Time deadline = 0;
  Amount amount;
  friend bool operator==(const HeldAmount&, const HeldAmount&) = default;
};

/// The rest of a grant, beside the balance of a limit (Limiter::grant).
struct GrantLeft {
  std::optional<Time> end = {};  ///< nothing: it lasts until it is used
  Amount amount;
  friend bool operator==(const GrantLeft&, const GrantLeft&) = default;
};

/// One limit of a bucket, as it is stored.
struct BucketLimit {
  std::string name;
  Limit limit;           ///< the parameters that the bucket was last written under
  Amount tokens;         ///< the stored balance, without refill since Bucket::refilled_at; may be negative
  Amount consumed;       ///< charged since the bucket was created
  bool in_force = true;  ///< false: dormant; it left the set before it was full, and refills
  std::vector<HeldAmount> held = {};  ///< of a concurrent limit, by deadline, also deadlines that have passed
  std::vector<GrantLeft> grants = {};  ///< beside the balance, by end, also those that have ended
};

/// A bucket as it is stored: the state of all limits of one entity on one resource.
struct Bucket {
  std::string entity;
  std::string resource;
  Time refilled_at = 0;  ///< the stored balances include the refill up to this moment
  std::optional<Time> expires_at = {};
  std::int64_t version = 0;  ///< the newest change of limits that the bucket has followed
  std::vector<BucketLimit> limits = {};
};

/// One change of limits, of a plan or of an entity.
struct AuditEvent {
  std::string id;  ///< sorts by time
  Time at = 0;
  std::string principal;
  /// "limits.set", "limits.delete", "entity.put", "entity.delete", "plan.put", "plan.delete", "entity.block",
  /// "entity.unblock", "entity.exempt", "entity.unexempt", "entity.reset", "entity.grant",
  /// "namespace.create", "namespace.purge", "namespace.restore", "namespace.erase"
  std::string action;
  std::string subject;   ///< the entity, "$PLAN:{plan}", "$RESOURCE:{resource}" or "$SYSTEM"
  std::string resource;  ///< of an entity's limits; empty: every resource
  std::string before;    ///< JSON; empty: it did not exist
  std::string after;     ///< JSON; empty: it was deleted
  friend bool operator==(const AuditEvent&, const AuditEvent&) = default;
};

}  // namespace weir
