// The public class: forwards to the core.
#include "weir/limiter.h"

#include "limiter/core.h"
#include "limiter/request_limits.h"

namespace weir {

using detail::LeaseVerb;

Result<RequestLimits> RequestLimits::make(std::span<const NamedLimit> limits) {
  auto set = limits::make_limit_set(limits);
  if (!set) return set.error();
  return RequestLimits(std::make_shared<const Set>(Set{*std::move(set)}));
}

Result<RequestLimits> RequestLimits::make(const std::vector<LimitText>& limits) {
  auto parsed = parse_limits(limits);
  if (!parsed) return parsed.error();
  return make(std::span<const NamedLimit>(*parsed));
}

Limiter::Limiter(std::unique_ptr<limiter::Core> core) : core_(std::move(core)) {}
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;
Limiter::~Limiter() = default;

// Inlines the core's function: passing the many arguments would cost more than the work.
[[gnu::flatten]] Result<Decision> Limiter::acquire(std::string_view entity, std::string_view resource,
                                                   std::span<const Charge> consume,
                                                   const AcquireOptions& options) {
  return core_->acquire(entity, resource, consume, options);
}

Result<Decision> Limiter::available(std::string_view entity, std::string_view resource,
                                    std::span<const Charge> consume, const AcquireOptions& options) {
  return core_->available(entity, resource, consume, options);
}

Result<LimitReport> Limiter::adjust(std::string_view lease_id, std::span<const Charge> differences,
                                    std::string_view key, Debt debt) {
  return core_->change_by_id(lease_id,
                             {.verb = LeaseVerb::adjust, .key = key, .charges = differences, .debt = debt});
}

Result<LimitReport> Limiter::settle(std::string_view lease_id, std::span<const Charge> actual) {
  return core_->change_by_id(lease_id, {.verb = LeaseVerb::settle, .key = {}, .charges = actual});
}

Result<LimitReport> Limiter::rollback(std::string_view lease_id) {
  return core_->change_by_id(lease_id, {.verb = LeaseVerb::rollback, .key = {}, .charges = {}});
}

Result<Time> Limiter::extend(std::string_view lease_id, std::chrono::milliseconds lease_for) {
  return core_->extend_by_id(lease_id, lease_for.count());
}

Result<StoredLimits> Limiter::set_limits(const Level& level, std::span<const NamedLimit> limits,
                                         const SetLimitsOptions& options) {
  return core_->set_limits(level, limits, options);
}

Result<StoredLimits> Limiter::set_limits(const Level& level, const std::vector<LimitText>& limits,
                                         const SetLimitsOptions& options) {
  auto parsed = parse_limits(limits);
  if (!parsed) return parsed.error();
  return core_->set_limits(level, *parsed, options);
}

Result<std::vector<StoredLimits>> Limiter::set_limits(std::span<const SetLimits> levels) {
  return core_->set_limits(levels);
}

Result<StoredLimits> Limiter::limits(const Level& level) { return core_->limits(level); }
Result<void> Limiter::delete_limits(const Level& level) { return core_->delete_limits(level); }
Result<EffectiveLimits> Limiter::effective_limits(std::string_view entity, std::string_view resource) {
  return core_->effective_limits(entity, resource);
}

Result<EffectiveLimits> Limiter::limits_below(std::string_view entity, std::string_view resource) {
  return core_->limits_below(entity, resource);
}
Result<Page<StoredLimits>> Limiter::list_limits(const LimitsFilter& filter, const Paging& paging) {
  return core_->list_limits(filter, paging);
}

Result<Entity> Limiter::put_entity(const Entity& entity) { return core_->put_entity(entity); }
Result<Entity> Limiter::entity(std::string_view id) { return core_->entity(id); }
Result<Entity> Limiter::set_access(std::string_view entity, const AccessRule& rule) {
  return core_->set_access(entity, rule);
}
Result<void> Limiter::remove_access(std::string_view entity, Access access, std::string_view resource) {
  return core_->remove_access(entity, access, resource);
}
Result<void> Limiter::delete_entity(std::string_view id) { return core_->delete_entity(id); }
Result<Page<std::string>> Limiter::children(std::string_view id, const Paging& paging) {
  return core_->children(id, paging);
}

Result<void> Limiter::change(std::span<const CatalogChange> changes, const ChangeOptions& options) {
  return core_->change(changes, options);
}
Result<Page<Entity>> Limiter::entities(const Paging& paging) { return core_->entities(paging); }
Result<LimitsPlan> Limiter::put_plan(const LimitsPlan& plan) { return core_->put_plan(plan); }

Result<LimitsPlan> Limiter::plan(std::string_view name) { return core_->plan(name); }

Result<void> Limiter::delete_plan(std::string_view name) { return core_->delete_plan(name); }

Result<Page<LimitsPlan>> Limiter::plans(const Paging& paging) { return core_->plans(paging); }

Result<Page<std::string>> Limiter::members(std::string_view plan, const Paging& paging) {
  return core_->members(plan, paging);
}

Result<std::vector<Bucket>> Limiter::reset(std::string_view entity, std::string_view resource) {
  return core_->reset(entity, resource);
}

Result<Bucket> Limiter::grant(std::string_view entity, std::string_view resource,
                              std::span<const Charge> amounts, const GrantOptions& options) {
  return core_->grant(entity, resource, amounts, options);
}

Result<LimitReport> Limiter::lower(std::string_view entity, std::string_view resource,
                                   std::span<const Charge> at_most) {
  return core_->lower(entity, resource, at_most);
}

Result<Page<Bucket>> Limiter::buckets(std::string_view entity, const Paging& paging) {
  return core_->buckets(entity, paging);
}
Result<Page<Bucket>> Limiter::buckets_on(std::string_view resource, const BucketsFilter& filter,
                                         const Paging& paging) {
  return core_->buckets_on(resource, filter, paging);
}
Result<Page<AuditEvent>> Limiter::audit(std::string_view subject, const Paging& paging) {
  return core_->audit(subject, paging);
}
Result<Page<AuditEvent>> Limiter::audit_events(const AuditFilter& filter, const Paging& paging) {
  return core_->audit_events(filter, paging);
}

Result<Page<Usage>> Limiter::usage(const UsageFilter& filter, const Paging& paging) {
  return core_->usage(filter, paging);
}

Result<std::vector<UsageTotal>> Limiter::top_usage(const UsageFilter& filter, std::string_view limit,
                                                   std::size_t count) {
  return core_->top_usage(filter, limit, count);
}
Result<std::vector<Namespace>> Limiter::namespaces() { return core_->namespaces(); }
Result<Namespace> Limiter::create_namespace(std::string_view name) { return core_->create_namespace(name); }
Result<Namespace> Limiter::purge_namespace(std::string_view name, std::chrono::milliseconds keep_for) {
  return core_->purge_namespace(name, keep_for.count());
}
Result<Namespace> Limiter::restore_namespace(std::string_view name) { return core_->restore_namespace(name); }
std::vector<std::string> Limiter::warnings() const { return core_->warnings(); }

}  // namespace weir
