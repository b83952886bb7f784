#include "cli/local.h"

#include <optional>
#include <ostream>

#include "cli/decision_file.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using client::Acquired;
using client::Request;

/// Calls `decide` with the options of the request.
template <class Decide>
Result<Decision> with_options(const Request& request, Decide decide) {
  AcquireOptions options{.lease_for = request.lease_for, .max_wait = request.max_wait};
  if (request.limits.empty()) return decide(options);
  const auto limits = RequestLimits::make(request.limits);
  if (!limits) return limits.error();
  options.limits = &*limits;
  return decide(options);
}

}  // namespace

template <class Verb>
auto Local::with(Verb verb) -> decltype(verb(std::declval<Limiter&>())) {
  if (limiter_ == nullptr) {
    auto opened = world_.open(url_, options_);
    if (!opened) return opened.error();
    limiter_ = *std::move(opened);
  }
  auto result = verb(*limiter_);
  tell_warnings();
  return result;
}

void Local::tell_warnings() {
  const auto warnings = limiter_->warnings();
  for (; warnings_told_ < warnings.size(); ++warnings_told_)
    world_.err << "weir: warning: " << printable(warnings[warnings_told_]) << '\n';
}

Result<Acquired> Local::acquire(const Request& request, bool with_lease) {
  auto decision = with([&](Limiter& limiter) {
    return with_options(request, [&](const AcquireOptions& options) {
      return limiter.acquire(request.entity, request.resource, request.consume, options);
    });
  });
  if (!decision) return decision.error();
  Acquired acquired{.decision = *std::move(decision)};
  if (acquired.decision.refused() || !with_lease) return acquired;
  Lease& lease = acquired.decision.lease();
  const auto id = lease.id();
  if (!id) {
    // A lease without an id cannot be used, so the charge is rolled back.
    static_cast<void>(lease.rollback());
    return id.error();
  }
  acquired.lease = *id;
  acquired.deadline = lease.deadline();
  return acquired;
}

Result<Decision> Local::available(const Request& request) {
  return with([&](Limiter& limiter) {
    return with_options(request, [&](const AcquireOptions& options) {
      return limiter.available(request.entity, request.resource, request.consume, options);
    });
  });
}

Result<LimitReport> Local::adjust(std::string_view lease, std::span<const Charge> differences,
                                  std::string_view key, Debt debt) {
  return with([&](Limiter& limiter) { return limiter.adjust(lease, differences, key, debt); });
}

Result<LimitReport> Local::settle(std::string_view lease, std::span<const Charge> actual) {
  return with([&](Limiter& limiter) { return limiter.settle(lease, actual); });
}

Result<LimitReport> Local::rollback(std::string_view lease) {
  return with([&](Limiter& limiter) { return limiter.rollback(lease); });
}

Result<Time> Local::extend(std::string_view lease, std::chrono::milliseconds lease_for) {
  return with([&](Limiter& limiter) { return limiter.extend(lease, lease_for); });
}

Result<StoredLimits> Local::set_limits(const Level& level, std::span<const NamedLimit> limits,
                                       const SetLimitsOptions& options) {
  return with([&](Limiter& limiter) { return limiter.set_limits(level, limits, options); });
}

Result<StoredLimits> Local::limits(const Level& level) {
  return with([&](Limiter& limiter) { return limiter.limits(level); });
}

Result<void> Local::delete_limits(const Level& level) {
  return with([&](Limiter& limiter) { return limiter.delete_limits(level); });
}

Result<EffectiveLimits> Local::effective_limits(std::string_view entity, std::string_view resource) {
  return with([&](Limiter& limiter) { return limiter.effective_limits(entity, resource); });
}

Result<Page<StoredLimits>> Local::list_limits(const LimitsFilter& filter, const Paging& paging) {
  return with([&](Limiter& limiter) { return limiter.list_limits(filter, paging); });
}

Result<Entity> Local::put_entity(const Entity& entity) {
  return with([&](Limiter& limiter) { return limiter.put_entity(entity); });
}

Result<Entity> Local::entity(std::string_view id) {
  return with([&](Limiter& limiter) { return limiter.entity(id); });
}

Result<void> Local::delete_entity(std::string_view id) {
  return with([&](Limiter& limiter) { return limiter.delete_entity(id); });
}

Result<Page<std::string>> Local::children(std::string_view id, const Paging& paging) {
  return with([&](Limiter& limiter) { return limiter.children(id, paging); });
}

Result<Page<Entity>> Local::entities(const Paging& paging) {
  return with([&](Limiter& limiter) { return limiter.entities(paging); });
}

Result<LimitsPlan> Local::put_plan(const LimitsPlan& plan) {
  return with([&](Limiter& limiter) { return limiter.put_plan(plan); });
}

Result<LimitsPlan> Local::plan(std::string_view name) {
  return with([&](Limiter& limiter) { return limiter.plan(name); });
}

Result<void> Local::delete_plan(std::string_view name) {
  return with([&](Limiter& limiter) { return limiter.delete_plan(name); });
}

Result<Page<LimitsPlan>> Local::plans(const Paging& paging) {
  return with([&](Limiter& limiter) { return limiter.plans(paging); });
}

Result<Page<std::string>> Local::members(std::string_view plan, const Paging& paging) {
  return with([&](Limiter& limiter) { return limiter.members(plan, paging); });
}

Result<std::vector<Bucket>> Local::reset(std::string_view entity, std::string_view resource) {
  return with([&](Limiter& limiter) { return limiter.reset(entity, resource); });
}

Result<Bucket> Local::grant(std::string_view entity, std::string_view resource,
                            std::span<const Charge> amounts, const GrantOptions& options) {
  return with([&](Limiter& limiter) { return limiter.grant(entity, resource, amounts, options); });
}

Result<Entity> Local::set_access(std::string_view entity, const AccessRule& rule) {
  return with([&](Limiter& limiter) { return limiter.set_access(entity, rule); });
}

Result<void> Local::remove_access(std::string_view entity, Access access, std::string_view resource) {
  return with([&](Limiter& limiter) { return limiter.remove_access(entity, access, resource); });
}

Result<Page<Bucket>> Local::buckets(std::string_view entity, const Paging& paging) {
  return with([&](Limiter& limiter) { return limiter.buckets(entity, paging); });
}

Result<void> Local::change(std::span<const CatalogChange> changes, const ChangeOptions& options) {
  return with([&](Limiter& limiter) { return limiter.change(changes, options); });
}

Result<Page<Bucket>> Local::buckets_on(std::string_view resource, const BucketsFilter& filter,
                                       const Paging& paging) {
  return with([&](Limiter& limiter) { return limiter.buckets_on(resource, filter, paging); });
}

Result<Page<AuditEvent>> Local::audit(const AuditFilter& filter, const Paging& paging) {
  return with([&](Limiter& limiter) { return limiter.audit_events(filter, paging); });
}

Result<std::vector<Namespace>> Local::namespaces() {
  return with([&](Limiter& limiter) { return limiter.namespaces(); });
}

Result<Namespace> Local::create_namespace(std::string_view name) {
  return with([&](Limiter& limiter) { return limiter.create_namespace(name); });
}

Result<Namespace> Local::purge_namespace(std::string_view name, std::chrono::milliseconds keep_for) {
  return with([&](Limiter& limiter) { return limiter.purge_namespace(name, keep_for); });
}

Result<Namespace> Local::restore_namespace(std::string_view name) {
  return with([&](Limiter& limiter) { return limiter.restore_namespace(name); });
}

Result<Page<Usage>> Local::usage(const UsageFilter& filter, const Paging& paging) {
  return with([&](Limiter& limiter) { return limiter.usage(filter, paging); });
}

Result<std::vector<UsageTotal>> Local::top_usage(const UsageFilter& filter, std::string_view limit,
                                                 std::size_t count) {
  return with([&](Limiter& limiter) { return limiter.top_usage(filter, limit, count); });
}

/// The log of the process that serves the store, which is beside its file.
Result<decision_log::Entry> Local::decision(std::string_view id) {
  const auto log = DecisionFile::of_store(url_);
  if (!log) return log.error();
  return log->reader().find(id, options_.name_space);
}

Result<Page<decision_log::Entry>> Local::decisions(const decision_log::Filter& filter, const Paging& paging) {
  const auto log = DecisionFile::of_store(url_);
  if (!log) return log.error();
  decision_log::Filter here = filter;
  here.name_space = options_.name_space;
  return log->reader().list(here, paging);
}

}  // namespace weir::cli
