// The target of commands: a store opened in this process, or a service. Commands do not know which.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decision_log/entry.h"
#include "store/finding.h"
#include "weir/catalog.h"
#include "weir/decision.h"
#include "weir/entity.h"
#include "weir/limiter.h"
#include "weir/result.h"
#include "weir/usage.h"

namespace weir::client {

/// An acquire or a check of availability.
struct Request {
  std::string_view entity;
  std::string_view resource;
  std::span<const Charge> consume;
  std::span<const NamedLimit> limits = {};  ///< the lowest level; empty: none
  std::chrono::milliseconds lease_for{0};   ///< how long the lease lasts; 0: the default
  std::chrono::milliseconds max_wait{0};    ///< waits for at most this long to be admitted
  /// Through a service: send an idempotency key, so that an acquire whose answer was lost can be sent again.
  bool keyed = true;
};

/// A decision and the id of its lease.
struct Acquired {
  Decision decision;
  std::string lease = {};  ///< the id; empty unless admitted and asked for
  std::string id = {};     ///< of a refusal in the decision log of the service; empty: it is not kept
  Time deadline = 0;       ///< of the lease; 0: not known
  /// Admitted without a charge, since the store is unavailable and on_unavailable is allow.
  bool degraded = false;
};

/// The verbs of weir::Limiter, with the same meaning and the same errors.
class Target {
 public:
  virtual ~Target() = default;

  virtual Result<Acquired> acquire(const Request& request, bool with_lease) = 0;
  virtual Result<Decision> available(const Request& request) = 0;
  virtual Result<LimitReport> adjust(std::string_view lease, std::span<const Charge> differences,
                                     std::string_view key, Debt debt) = 0;
  virtual Result<LimitReport> settle(std::string_view lease, std::span<const Charge> actual) = 0;
  virtual Result<LimitReport> rollback(std::string_view lease) = 0;
  virtual Result<Time> extend(std::string_view lease, std::chrono::milliseconds lease_for) = 0;

  virtual Result<StoredLimits> set_limits(const Level& level, std::span<const NamedLimit> limits,
                                          const SetLimitsOptions& options) = 0;
  virtual Result<StoredLimits> limits(const Level& level) = 0;
  virtual Result<void> delete_limits(const Level& level) = 0;
  virtual Result<EffectiveLimits> effective_limits(std::string_view entity, std::string_view resource) = 0;
  virtual Result<Page<StoredLimits>> list_limits(const LimitsFilter& filter, const Paging& paging) = 0;

  virtual Result<Entity> put_entity(const Entity& entity) = 0;
  virtual Result<Entity> entity(std::string_view id) = 0;
  virtual Result<void> delete_entity(std::string_view id) = 0;
  virtual Result<Entity> set_access(std::string_view entity, const AccessRule& rule) = 0;
  virtual Result<void> remove_access(std::string_view entity, Access access, std::string_view resource) = 0;
  virtual Result<Page<std::string>> children(std::string_view id, const Paging& paging) = 0;
  virtual Result<Page<Entity>> entities(const Paging& paging) = 0;
  virtual Result<LimitsPlan> put_plan(const LimitsPlan& plan) = 0;
  virtual Result<LimitsPlan> plan(std::string_view name) = 0;
  virtual Result<void> delete_plan(std::string_view name) = 0;
  virtual Result<Page<LimitsPlan>> plans(const Paging& paging) = 0;
  virtual Result<Page<std::string>> members(std::string_view plan, const Paging& paging) = 0;
  virtual Result<Page<Bucket>> buckets(std::string_view entity, const Paging& paging) = 0;
  virtual Result<std::vector<Bucket>> reset(std::string_view entity, std::string_view resource) = 0;
  /// With a key in the options it is safe to send again.
  virtual Result<Bucket> grant(std::string_view entity, std::string_view resource,
                               std::span<const Charge> amounts, const GrantOptions& options) = 0;
  virtual Result<Page<Bucket>> buckets_on(std::string_view resource, const BucketsFilter& filter,
                                          const Paging& paging) = 0;

  virtual Result<void> change(std::span<const CatalogChange> changes, const ChangeOptions& options) = 0;
  virtual Result<Page<AuditEvent>> audit(const AuditFilter& filter, const Paging& paging) = 0;
  virtual Result<Page<Usage>> usage(const UsageFilter& filter, const Paging& paging) = 0;
  virtual Result<std::vector<UsageTotal>> top_usage(const UsageFilter& filter, std::string_view limit,
                                                    std::size_t count) = 0;
  /// A decision of the decision log, and those that a filter selects, newest first. The filter's namespace is
  /// that of the target.
  virtual Result<decision_log::Entry> decision(std::string_view id) = 0;
  virtual Result<Page<decision_log::Entry>> decisions(const decision_log::Filter& filter,
                                                      const Paging& paging) = 0;
  virtual Result<std::vector<Namespace>> namespaces() = 0;
  virtual Result<Namespace> create_namespace(std::string_view name) = 0;
  virtual Result<Namespace> purge_namespace(std::string_view name, std::chrono::milliseconds keep_for) = 0;
  virtual Result<Namespace> restore_namespace(std::string_view name) = 0;
  /// Checks the stored data.
  virtual Result<std::vector<store::Finding>> check() = 0;
};

}  // namespace weir::client
