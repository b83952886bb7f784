#include "limiter/core.h"

#include "base/text.h"
#include "limiter/deciding.h"
#include "limiter/request_limits.h"
#include "limits/names.h"

namespace weir::limiter {
namespace {

using base::invalid;
using base::quoted;
using store::wait_for;

// More names than any chain is likely to have; the store keeps a bit for each.
constexpr std::size_t most_charges = 64;

bool plain(std::span<const Charge> consume) {
  // As unsigned numbers, what is negative is too large: one comparison for both.
  constexpr auto most = static_cast<std::uint64_t>(Amount::max_millitokens);
  for (const Charge& charge : consume) {
    if (static_cast<std::uint64_t>(charge.amount.millitokens()) > most) return false;
  }
  return !consume.empty() && consume.size() <= most_charges;
}

/// What is not plain() about it.
Result<void> check_consume(std::span<const Charge> consume) {
  if (consume.size() > most_charges)
    return invalid("more than ", std::to_string(most_charges), " limits are named in one request");
  for (const Charge& charge : consume) {
    if (charge.amount < Amount())
      return invalid("amount of ", quoted(charge.limit), " is negative; ask for 0 or more");
    if (!charge.amount.in_range()) {
      return invalid("amount of ", quoted(charge.limit), " is too large; the most is ",
                     Amount::milli(Amount::max_millitokens).to_string());
    }
  }
  return {};
}

Result<void> check_names(std::string_view entity, std::string_view resource,
                         std::span<const Charge> consume) {
  if (auto checked = limits::check_entity(entity); !checked) return checked;
  if (auto checked = limits::check_resource(resource); !checked) return checked;
  for (const Charge& charge : consume) {
    if (auto checked = limits::check_limit_name(charge.limit); !checked) return checked;
  }
  return {};
}

StoredLimits stored(const Level& level, const limits::LimitsRecord& record) {
  StoredLimits out{level, record.current.limits->limits(), record.owner, {}};
  if (record.expires_at != limits::never) out.expires_at = record.expires_at;
  return out;
}

Result<void> check_options(const Level& level, const SetLimitsOptions& options) {
  const bool entity_level = level.kind() == Source::entity || level.kind() == Source::entity_default;
  if (options.owner == Owner::sync && !entity_level)
    return invalid("only an entity's limits can be owned by sync");
  if (options.owner == Owner::sync && !options.expires_in)
    return invalid("limits owned by sync need an expiry");
  if (options.owner == Owner::operator_ && options.expires_in)
    return invalid("an operator's limits do not expire; leave the expiry out, or write them as sync");
  if (options.expires_in && options.expires_in->count() < 1)
    return invalid("the expiry must be in the future");
  if (!options.bucket_ttl_refill_multiplier) return {};
  if (level.kind() != Source::system)
    return invalid("bucket_ttl_refill_multiplier belongs to the system's limits");
  if (*options.bucket_ttl_refill_multiplier < 1)
    return invalid("bucket_ttl_refill_multiplier must be at least 1");
  return {};
}

}  // namespace

Core::Core(Foundation foundation, std::string name_space, Time lease_deadline)
    : foundation_(std::move(foundation)),
      store_(*foundation_.store),
      buckets_(store_.buckets()),
      name_space_(std::move(name_space)),
      name_space_token_(buckets_.token_of(name_space_)),
      lease_deadline_(lease_deadline) {}

const limits::LimitSet* Core::set_of(const RequestLimits* limits) {
  return limits == nullptr ? nullptr : limits->set_->limits.get();
}

Result<Decision> Core::acquire(std::string_view entity, std::string_view resource,
                               std::span<const Charge> consume, const AcquireOptions& options) {
  Result<Decision> result(std::in_place);
  const store::Request request{name_space_,     entity,           resource, consume, set_of(options.limits),
                               lease_deadline_, name_space_token_};
  // Names need no check on the fast way: a bucket with a bad name does not exist.
  if (!plain(consume) || !buckets_.acquire_carried(request, *result)) {
    decide_slowly(request, Mode::acquire, result);
  }
  if (result && result->admitted()) result->open_lease(*this);
  return result;
}

Result<Decision> Core::available(std::string_view entity, std::string_view resource,
                                 std::span<const Charge> consume, const AcquireOptions& options) {
  Result<Decision> result(std::in_place);
  const store::Request request{name_space_,     entity,           resource, consume, set_of(options.limits),
                               lease_deadline_, name_space_token_};
  decide_slowly(request, Mode::peek, result);
  return result;
}

void Core::decide_slowly(const store::Request& request, Mode mode, Result<Decision>& result) {
  auto checked = check_consume(request.consume);
  if (checked) checked = check_names(request.entity, request.resource, request.consume);
  if (checked && mode == Mode::acquire && request.consume.empty()) {
    checked = invalid("the request names no limit; say what it consumes, such as rpm 1");
  }
  if (!checked) {
    result = checked.error();
    return;
  }
  Deciding deciding(buckets_, store_.limits(), shared_);
  auto decided =
      wait_for<void>([&](store::Completion<void> done) { deciding.start(request, mode, *result, done); });
  if (!decided) result = decided.error();
}

Result<limits::ResolutionRef> Core::resolve(std::string_view entity, std::string_view resource,
                                            const limits::LimitSetRef& request_limits) {
  Walk walk(store_.limits(), shared_);
  return wait_for<limits::ResolutionRef>([&](store::Completion<limits::ResolutionRef> done) {
    walk.start({name_space_, entity, resource, request_limits}, done);
  });
}

Result<StoredLimits> Core::set_limits(const Level& level, std::span<const NamedLimit> limits,
                                      const SetLimitsOptions& options) {
  if (auto checked = limits::check_level(level); !checked) return checked.error();
  if (auto checked = check_options(level, options); !checked) return checked.error();
  auto set = limits::make_limit_set(limits);
  if (!set) return set.error();
  std::optional<Time> expires_in;
  if (options.expires_in) expires_in = options.expires_in->count();
  const store::LimitsWrite write{name_space_,   level,      *set,
                                 options.owner, expires_in, options.bucket_ttl_refill_multiplier};
  auto record = wait_for<limits::LimitsRecordRef>([&](auto done) { store_.limits().write(write, done); });
  if (!record) return record.error();
  return stored(level, **record);
}

Result<StoredLimits> Core::limits(const Level& level) {
  if (auto checked = limits::check_level(level); !checked) return checked.error();
  auto record =
      wait_for<limits::LimitsRecordRef>([&](auto done) { store_.limits().read(name_space_, level, done); });
  if (!record) return record.error();
  return stored(level, **record);
}

Result<void> Core::delete_limits(const Level& level) {
  if (auto checked = limits::check_level(level); !checked) return checked.error();
  const store::LimitsWrite write{name_space_, level, {}, Owner::operator_, {}, {}};
  auto record = wait_for<limits::LimitsRecordRef>([&](auto done) { store_.limits().write(write, done); });
  if (!record) return record.error();
  return {};
}

Result<EffectiveLimits> Core::effective_limits(std::string_view entity, std::string_view resource) {
  if (auto checked = check_names(entity, resource, {}); !checked) return checked.error();
  auto resolution = resolve(entity, resource, {});
  if (!resolution) return resolution.error();
  if (!(*resolution)->limits) {
    return base::error(ErrorCode::no_limits, "no limits are set for entity ", quoted(entity), " on resource ",
                       quoted(resource));
  }
  return EffectiveLimits{(*resolution)->limits->limits(), (*resolution)->source, (*resolution)->owner};
}

Result<Entity> Core::put_entity(const Entity& entity) {
  if (auto checked = limits::check_entity(entity.id); !checked) return checked.error();
  if (!entity.parent.empty()) {
    if (auto checked = limits::check_entity(entity.parent); !checked)
      return invalid("parent: ", checked.error().message);
  }
  if (entity.cascade && entity.parent.empty())
    return invalid("entity ", quoted(entity.id), " has cascade on but no parent; name a parent");
  return wait_for<Entity>([&](auto done) { store_.entities().put(name_space_, entity, done); });
}

Result<Entity> Core::entity(std::string_view id) {
  if (auto checked = limits::check_entity(id); !checked) return checked.error();
  return wait_for<Entity>([&](auto done) { store_.entities().get(name_space_, id, done); });
}

Result<void> Core::delete_entity(std::string_view id) {
  if (auto checked = limits::check_entity(id); !checked) return checked.error();
  auto erased = wait_for<bool>([&](auto done) { store_.entities().erase(name_space_, id, done); });
  if (!erased) return erased.error();
  return {};
}

Result<std::vector<std::string>> Core::children(std::string_view id) {
  if (auto checked = limits::check_entity(id); !checked) return checked.error();
  return wait_for<std::vector<std::string>>(
      [&](auto done) { store_.entities().children(name_space_, id, done); });
}

}  // namespace weir::limiter
