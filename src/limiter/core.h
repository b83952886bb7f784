// The limiter itself. An acquire resolves limits, makes a plan, asks the store, and opens a lease.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "base/entropy.h"
#include "limiter/acquire_operation.h"
#include "limiter/resolver.h"
#include "limiter/waiting_room.h"
#include "store/store.h"
#include "weir/limiter.h"

namespace weir::limiter {

/// The dependencies of a limiter. They outlive it.
struct Foundation {
  std::shared_ptr<const Clock> clock;
  std::shared_ptr<base::Entropy> entropy;
  std::shared_ptr<store::Store> store;
  /// Where requests wait; shared by the limiters of a service. Null: the limiter has its own.
  std::shared_ptr<WaitingRoom> waiting = nullptr;
};

/// A year: the longest lease that a request can ask for, unless Options::lease_deadline is longer.
inline constexpr Time longest_lease = Time{365} * 86'400'000;

/// Depends on store interfaces only. Safe to use from any thread.
class Core final : public detail::LeaseKeeper {
 public:
  Core(Foundation foundation, const Options& options);

  const std::string& name_space() const { return name_space_; }
  WaitingRoom& waiting() { return *foundation_.waiting; }
  /// How long a lease lasts where the request does not say, ms.
  Time lease_deadline() const { return lease_deadline_; }

  Result<Decision> acquire(std::string_view entity, std::string_view resource,
                           std::span<const Charge> consume, const AcquireOptions& options);
  Result<Decision> available(std::string_view entity, std::string_view resource,
                             std::span<const Charge> consume, const AcquireOptions& options);

  Result<LimitReport> change(detail::LeaseData& lease, detail::LeaseVerb verb,
                             std::span<const Charge> charges, Debt debt) override;
  Result<LimitReport> change_by_id(std::string_view id, const decision::LeaseChange& change);
  Result<void> extend(detail::LeaseData& lease, Time lease_for) override;
  /// The new deadline.
  Result<Time> extend_by_id(std::string_view id, Time lease_for);
  Result<std::string> make_id(detail::LeaseData& lease) override;
  /// Appends the lease id of an admitted acquire, for callers that return it and drop the decision.
  void append_id(std::string& id, Decision& admitted);
  using Nonce = std::array<std::uint64_t, 2>;
  /// The nonce of the lease of a keyed acquire; the same request with the same key has the same nonce.
  Result<Nonce> nonce_of(const store::Request& request, std::string_view idempotency_key) const;

  Result<StoredLimits> set_limits(const Level& level, std::span<const NamedLimit> limits,
                                  const SetLimitsOptions& options);
  Result<std::vector<StoredLimits>> set_limits(std::span<const SetLimits> levels);
  Result<StoredLimits> limits(const Level& level);
  Result<void> delete_limits(const Level& level);
  Result<EffectiveLimits> effective_limits(std::string_view entity, std::string_view resource);
  Result<EffectiveLimits> limits_below(std::string_view entity, std::string_view resource);
  Result<Page<StoredLimits>> list_limits(const LimitsFilter& filter, const Paging& paging);
  Result<Entity> put_entity(const Entity& entity);
  Result<Entity> entity(std::string_view id);
  Result<void> delete_entity(std::string_view id);
  Result<Entity> set_access(std::string_view entity, const AccessRule& rule);
  Result<void> remove_access(std::string_view entity, Access access, std::string_view resource);
  Result<Page<std::string>> children(std::string_view id, const Paging& paging);
  Result<Page<Entity>> entities(const Paging& paging);
  Result<LimitsPlan> put_plan(const LimitsPlan& plan);
  Result<LimitsPlan> plan(std::string_view name);
  Result<void> delete_plan(std::string_view name);
  Result<Page<LimitsPlan>> plans(const Paging& paging);
  Result<Page<std::string>> members(std::string_view plan, const Paging& paging);
  Result<Page<Bucket>> buckets(std::string_view entity, const Paging& paging);
  /// An empty resource: every one that the entity has a bucket for.
  Result<std::vector<Bucket>> reset(std::string_view entity, std::string_view resource);
  Result<Bucket> grant(std::string_view entity, std::string_view resource, std::span<const Charge> amounts,
                       const GrantOptions& options);
  Result<LimitReport> lower(std::string_view entity, std::string_view resource,
                            std::span<const Charge> at_most);
  Result<Page<Bucket>> buckets_on(std::string_view resource, const BucketsFilter& filter,
                                  const Paging& paging);
  Result<void> change(std::span<const CatalogChange> changes, const ChangeOptions& options = {});
  /// The same; returns how many limits of sync were replaced by an operator's.
  Result<std::size_t> change_counted(std::span<const CatalogChange> changes,
                                     const ChangeOptions& options = {});
  Result<Page<AuditEvent>> audit(std::string_view subject, const Paging& paging);
  Result<Page<AuditEvent>> audit_events(const AuditFilter& filter, const Paging& paging);
  Result<Page<Usage>> usage(const UsageFilter& filter, const Paging& paging);
  Result<std::vector<UsageTotal>> top_usage(const UsageFilter& filter, std::string_view limit,
                                            std::size_t count);
  Result<std::vector<Namespace>> namespaces();
  Result<Namespace> create_namespace(std::string_view name);
  Result<Namespace> purge_namespace(std::string_view name, Time keep_for);
  Result<Namespace> restore_namespace(std::string_view name);
  std::vector<std::string> warnings() const { return store_.warnings(); }

 private:
  friend class PendingAcquire;
  friend class PendingChange;
  friend class PendingCorrection;
  /// Whether a request can take the fast path: it names limits, and its numbers are valid.
  bool plain(const store::Request& request) const;
  static const limits::LimitSet* set_of(const RequestLimits* limits);
  using Mode = AcquireOperation::Mode;
  void decide_slowly(const store::Request& request, Mode mode, Result<Decision>& result);
  bool decide_carried(const store::Request& request, Result<Decision>& result);
  Result<limits::ResolutionRef> resolve(std::string_view entity, std::string_view resource,
                                        const limits::LimitSetRef& request_limits);
  store::Request request_of(std::string_view entity, std::string_view resource,
                            std::span<const Charge> consume, const AcquireOptions& options) const {
    return {.name_space = name_space_,
            .entity = entity,
            .resource = resource,
            .consume = consume,
            .request_limits = set_of(options.limits),
            .lease_for = options.lease_for.count() == 0 ? lease_deadline_ : options.lease_for.count(),
            .name_space_token = name_space_token_,
            .shadow = options.shadow,
            .counts_usage = options.usage};
  }
  Result<void> check(const store::Request& request, Mode mode) const;
  Result<void> check_lease_for(Time lease_for) const;
  void share(detail::LeaseData& lease);
  Result<detail::LeaseData> open_by_id(std::string_view id, const decision::LeaseChange& change);
  /// Before a change is made: whether the lease is open, as far as it says so itself. Moves the deadline of a
  /// lease without buckets, of which nothing is stored.
  Result<void> begin_change(detail::LeaseData& lease, const decision::LeaseChange& change) const;
  Result<LimitReport> change_keyed(detail::LeaseData& lease, const decision::LeaseChange& change);
  Result<std::vector<store::Changed>> write(std::span<const store::Change> changes,
                                            const ChangeOptions& options = {}) {
    return write_in(name_space_, changes, options);
  }
  Result<std::vector<store::Changed>> write_in(std::string_view name_space,
                                               std::span<const store::Change> changes,
                                               const ChangeOptions& options = {});
  Result<Namespace> change_namespace(std::string_view name, const store::NamespaceWrite& write);
  Result<void> erase_namespace(std::string_view name);

  Result<store::CorrectionOutcome> correct(std::string_view entity, std::string_view resource,
                                           const decision::Correction& correction,
                                           const Nonce* once = nullptr);
  Result<std::vector<Bucket>> buckets_to_reset(std::string_view entity, std::string_view resource);
  bool is_noted(std::string_view entity, std::string_view resource, std::string_view granted);
  static Result<void> check_paging(const Paging& paging);
  Result<Page<Bucket>> list_on(std::string_view resource, const Paging& paging);
  Result<Page<Bucket>> filtered_buckets(std::string_view resource, const BucketsFilter& filter,
                                        const Paging& paging);
  Result<Page<Bucket>> sorted_buckets(std::string_view resource, const BucketsFilter& filter,
                                      const Paging& paging);

  Nonce next_nonce();
  void open_once(Decision& decision, const Nonce& nonce);
  void acquire_waiting(std::string_view entity, std::string_view resource, std::span<const Charge> consume,
                       const AcquireOptions& options, Result<Decision>& result);
  void acquire_once(store::Request request, std::string_view idempotency_key, Result<Decision>& result);

  Foundation foundation_;
  store::Store& store_;
  store::Buckets& buckets_;
  const std::string name_space_;
  const std::uint64_t name_space_token_;
  const std::string principal_;
  const Time lease_deadline_;
  const Time longest_lease_;
  const Nonce nonce_start_;
  std::atomic<std::uint64_t> nonces_{0};
  SharedResolutions shared_;
};

}  // namespace weir::limiter
