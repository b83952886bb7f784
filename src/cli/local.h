// A store opened in this process.
#pragma once

#include <memory>
#include <string>

#include "cli/world.h"
#include "client/target.h"
#include "weir/limiter.h"

namespace weir::cli {

/// Opens the store when it is first needed.
class Local final : public client::Target {
 public:
  Local(const World& world, std::string url, Options options)
      : world_(world), url_(std::move(url)), options_(std::move(options)) {}

  Result<client::Acquired> acquire(const client::Request& request, bool with_lease) override;
  Result<Decision> available(const client::Request& request) override;
  Result<LimitReport> adjust(std::string_view lease, std::span<const Charge> differences,
                             std::string_view key, Debt debt) override;
  Result<LimitReport> settle(std::string_view lease, std::span<const Charge> actual) override;
  Result<LimitReport> rollback(std::string_view lease) override;
  Result<Time> extend(std::string_view lease, std::chrono::milliseconds lease_for) override;

  Result<StoredLimits> set_limits(const Level& level, std::span<const NamedLimit> limits,
                                  const SetLimitsOptions& options) override;
  Result<StoredLimits> limits(const Level& level) override;
  Result<void> delete_limits(const Level& level) override;
  Result<EffectiveLimits> effective_limits(std::string_view entity, std::string_view resource) override;
  Result<Page<StoredLimits>> list_limits(const LimitsFilter& filter, const Paging& paging) override;

  Result<Entity> put_entity(const Entity& entity) override;
  Result<Entity> entity(std::string_view id) override;
  Result<void> delete_entity(std::string_view id) override;
  Result<Entity> set_access(std::string_view entity, const AccessRule& rule) override;
  Result<void> remove_access(std::string_view entity, Access access, std::string_view resource) override;
  Result<Page<std::string>> children(std::string_view id, const Paging& paging) override;
  Result<Page<Entity>> entities(const Paging& paging) override;
  Result<LimitsPlan> put_plan(const LimitsPlan& plan) override;
  Result<LimitsPlan> plan(std::string_view name) override;
  Result<void> delete_plan(std::string_view name) override;
  Result<Page<LimitsPlan>> plans(const Paging& paging) override;
  Result<Page<std::string>> members(std::string_view plan, const Paging& paging) override;
  Result<Page<Bucket>> buckets(std::string_view entity, const Paging& paging) override;
  Result<std::vector<Bucket>> reset(std::string_view entity, std::string_view resource) override;
  Result<Bucket> grant(std::string_view entity, std::string_view resource, std::span<const Charge> amounts,
                       const GrantOptions& options) override;
  Result<Page<Bucket>> buckets_on(std::string_view resource, const BucketsFilter& filter,
                                  const Paging& paging) override;

  Result<void> change(std::span<const CatalogChange> changes, const ChangeOptions& options) override;
  Result<Page<AuditEvent>> audit(const AuditFilter& filter, const Paging& paging) override;
  Result<Page<Usage>> usage(const UsageFilter& filter, const Paging& paging) override;
  Result<std::vector<UsageTotal>> top_usage(const UsageFilter& filter, std::string_view limit,
                                            std::size_t count) override;
  Result<decision_log::Entry> decision(std::string_view id) override;
  Result<Page<decision_log::Entry>> decisions(const decision_log::Filter& filter,
                                              const Paging& paging) override;
  Result<std::vector<Namespace>> namespaces() override;
  Result<Namespace> create_namespace(std::string_view name) override;
  Result<Namespace> purge_namespace(std::string_view name, std::chrono::milliseconds keep_for) override;
  Result<Namespace> restore_namespace(std::string_view name) override;
  Result<std::vector<store::Finding>> check() override { return world_.check(url_, options_); }

 private:
  /// The result of `verb` on the limiter, or why it could not be opened.
  template <class Verb>
  auto with(Verb verb) -> decltype(verb(std::declval<Limiter&>()));

  /// Prints the store's new warnings.
  void tell_warnings();

  const World& world_;
  std::string url_;
  Options options_;
  std::shared_ptr<Limiter> limiter_;
  std::size_t warnings_told_ = 0;
};

}  // namespace weir::cli
