// The target of commands: a store opened in this process, or a service. Commands do not know which.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/finding.h"
#include "weir/catalog.h"
#include "weir/decision.h"
#include "weir/entity.h"
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
};

/// A decision and the id of its lease.
struct Acquired {
  Decision decision;
  std::string lease = {};  ///< the id; empty unless admitted and asked for
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
  virtual Result<Page<std::string>> children(std::string_view id, const Paging& paging) = 0;
  virtual Result<Page<Entity>> entities(const Paging& paging) = 0;
  virtual Result<LimitsPlan> put_plan(const LimitsPlan& plan) = 0;
  virtual Result<LimitsPlan> plan(std::string_view name) = 0;
  virtual Result<void> delete_plan(std::string_view name) = 0;
  virtual Result<Page<LimitsPlan>> plans(const Paging& paging) = 0;
  virtual Result<Page<std::string>> members(std::string_view plan, const Paging& paging) = 0;
  virtual Result<Page<Bucket>> buckets(std::string_view entity, const Paging& paging) = 0;

  virtual Result<void> change(std::span<const CatalogChange> changes, const ChangeOptions& options) = 0;
  virtual Result<Page<AuditEvent>> audit(std::string_view subject, const Paging& paging) = 0;
  virtual Result<Page<Usage>> usage(const UsageFilter& filter, const Paging& paging) = 0;
  virtual Result<std::vector<UsageTotal>> top_usage(const UsageFilter& filter, std::string_view limit,
                                                    std::size_t count) = 0;
  /// Checks the stored data.
  virtual Result<std::vector<store::Finding>> check() = 0;
};

}  // namespace weir::client
