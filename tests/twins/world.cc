#include "twins/world.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "twins/words.h"

namespace weir::twins {
namespace {

using std::chrono::milliseconds;

/// Empty where both failed alike or neither did.
template <class T>
std::string compare_errors(const Result<T>& real, std::optional<ErrorCode> ideal) {
  const std::string of_real = real ? "done" : name_of(real.error().code);
  const std::string of_ideal = ideal ? name_of(*ideal) : "done";
  if (of_real == of_ideal) return {};
  return "store: " + of_real + (real ? "" : " (" + real.error().message + ")") + ", oracle: " + of_ideal;
}

}  // namespace

World::World(const WorldConfig& config, const StoreKind& kind)
    : kind_(kind),
      config_(config),
      oracle_(config.oracle),
      clock_(kind.traits.first_moment + config.start),
      now_(clock_.now()),
      latest_(now_),
      store_(kind.make()) {
  static_cast<void>(open());
}

std::string World::open() {
  Options options;
  options.clock = &clock_;
  options.bucket_ttl_refill_multiplier = config_.multiplier;
  options.lease_deadline = milliseconds(config_.oracle.lease_for);
  options.keep_audit_for = keep_audit_for;
  if (kind_.traits.counts_usage) {
    options.keep_usage_hours_for = keep_usage_for;
    options.keep_usage_days_for = keep_usage_for;
  }
  for (auto& [id, held] : leases_) held.handle.reset();
  limiters_.clear();
  for (int i = 0; i < (kind_.traits.shared ? 2 : 1); ++i) {
    auto opened = store_->open(options);
    if (!opened) return "the store cannot be opened: " + opened.error().message;
    limiters_.push_back(*std::move(opened));
  }
  return {};
}

Limiter& World::limiter(const Op& op) {
  return limiters_[static_cast<std::size_t>(op.limiter) % limiters_.size()];
}

std::string World::run(const Op& op) {
  std::string wrong = run_one(op);
  live_leases_.follow(oracle_, now_);
  // A bucket of concurrent limits of which nothing is held expires as it is written.
  if (kind_.traits.blind_margin) set_clock(oracle_.clear_of_expiries(now_, *kind_.traits.blind_margin));
  return wrong;
}

std::string World::run_one(const Op& op) {
  observed_ = {};
  if (limiters_.empty()) return "the store cannot be opened";
  if (op.kind != Kind::advance) store_->between();
  if (now_ >= hidden_until_) {
    if (std::string wrong = hear(); !wrong.empty()) return wrong;
  }
  const bool wide = op.level.entity < 0;
  switch (op.kind) {
    case Kind::acquire:
      return acquire(op);
    case Kind::look:
      return look(op);
    case Kind::advance:
      return advance(op);
    case Kind::change:
      return change(op);
    case Kind::lower:
    case Kind::grant:
    case Kind::reset:
      return correct(op);
    case Kind::set_limits:
      return set_limits(op);
    case Kind::delete_limits: {
      ideal_.change(oracle_, false, now_);
      const std::string wrong = compare_errors(limiter(op).delete_limits(level_of(op.level)),
                                               oracle_.delete_limits(op.level, now_));
      ideal_.change(oracle_, wide, now_);
      return wrong.empty() ? hear() : wrong;
    }
    case Kind::put_entity: {
      ideal_.change(oracle_, false, now_);
      const std::string wrong =
          compare_errors(limiter(op).put_entity(entity_of(op.entity, op.parent, op.cascade, op.plan)),
                         oracle_.put_entity(op.entity, op.parent, op.cascade, op.plan, now_));
      ideal_.change(oracle_, false, now_);
      return wrong.empty() ? hear() : wrong;
    }
    case Kind::put_plan: {
      ideal_.change(oracle_, false, now_);
      const std::string wrong = compare_errors(limiter(op).put_plan(plan_of(op.plan, op.sets)),
                                               oracle_.put_plan(op.plan, op.sets, now_));
      ideal_.change(oracle_, true, now_);
      return wrong.empty() ? hear() : wrong;
    }
    case Kind::delete_plan: {
      const std::string wrong =
          compare_errors(limiter(op).delete_plan(plan_name(op.plan)), oracle_.delete_plan(op.plan, now_));
      return wrong.empty() ? hear() : wrong;
    }
    case Kind::delete_entity: {
      const std::string wrong = compare_errors(limiter(op).delete_entity(entity_name(op.entity)),
                                               oracle_.delete_entity(op.entity, now_));
      ideal_.forget(op.entity);
      live_leases_.forget(oracle_, op.entity);
      return wrong.empty() ? hear() : wrong;
    }
    case Kind::set_access:
    case Kind::remove_access:
      return change_access(op);
    case Kind::reopen:
      return kind_.traits.reopens ? open() : std::string();
    case Kind::compare:
      return compare_entity(op.entity, op.limiter != 0);
  }
  return {};
}

const RequestLimits* World::limits_of(const SetRef& set) {
  if (!set) return nullptr;
  for (const auto& [known, limits] : request_limits_) {
    if (known == set || *known == *set) return &limits;
  }
  request_limits_.emplace_back(set, *RequestLimits::make(std::span<const NamedLimit>(named(*set))));
  return &request_limits_.back().second;
}

void World::observe(const Request& request) {
  const int entity = request.entity;
  observed_.existing_bucket = oracle_.bucket(entity, request.resource, now_) != nullptr;
  observed_.expired_bucket = oracle_.expired_bucket(entity, request.resource, now_);
  observed_.new_bucket = !observed_.existing_bucket && !observed_.expired_bucket;
  for (const int one : oracle_.chain(entity)) {
    const BucketState* const state = oracle_.bucket(one, request.resource, now_);
    if (state != nullptr && state->refilled_at > now_ + kind_.traits.clock_bound) observed_.repaired = true;
  }
}

std::string World::acquire(const Op& op) {
  const Request& request = op.request;
  const int marked = oracle_.marked(request, now_);
  // A store may have forgotten a lease whose deadline passed before the clock went back, or may have it.
  if (marked >= 0 && forgettable(oracle_.lease(marked))) return observed_.skipped = true, "";
  observe(request);
  if (marked >= 0) {
    const Lease::Bucket& first = oracle_.lease(marked).buckets.front();
    const BucketState* const state = oracle_.bucket(first.entity, request.resource, now_);
    observed_.reborn = state == nullptr || state->generation != first.generation;
  }
  charges_.clear();
  for (const Asked& asked : request.consume)
    charges_.push_back({limit_name(asked.limit), Amount::milli(asked.amount)});
  AcquireOptions options;
  options.limits = limits_of(request.limits);
  options.idempotency_key = request.key;
  options.shadow = request.shadow;
  options.lease_for = milliseconds(request.lease_for);
  auto real =
      limiter(op).acquire(entity_name(request.entity), resource_name(request.resource), charges_, options);
  observed_.answer = oracle_.acquire(request, now_);
  const Answer& answer = observed_.answer;
  if (std::string wrong = compare(real, answer, request.resource); !wrong.empty()) return wrong;
  if (answer.error) return {};
  const bool charged = answer.admitted && !answer.repeated;
  std::string wrong =
      check_ideals(request.resource, charged ? IdealBuckets::Step::charged : IdealBuckets::Step::looked);
  if (!wrong.empty()) return wrong;
  if (answer.block) return {};
  if (!answer.admitted) return probe(request, answer);
  return keep(op, real, answer);
}

/// The same request is refused one millisecond before the wait is over, and admitted when it is.
std::string World::probe(const Request& request, const Answer& refused) const {
  if (!refused.wait) return {};
  const Time end = now_ + *refused.wait;
  if (refused.limits_until <= end) return {};
  if (!oracle_.look(request, end).admitted)
    return "promise 8: still refused after the wait of " + std::to_string(*refused.wait) + lines_of(refused);
  // Where a resource's or the system's limits changed while a bucket slept, it expires by its old deadline.
  if (refused.behind_until <= end) return {};
  if (*refused.wait > 0 && oracle_.look(request, end - 1).admitted)
    return "promise 8: admitted before the wait of " + std::to_string(*refused.wait) + lines_of(refused);
  return {};
}

std::string World::keep(const Op& op, Result<Decision>& real, const Answer& answer) {
  const Lease& lease = oracle_.lease(answer.lease);
  if (real->lease().deadline() != lease.deadline)
    return "deadline of the store " + std::to_string(real->lease().deadline()) + ", of the oracle " +
           std::to_string(lease.deadline);
  const bool share = op.hold == Hold::id || !op.request.key.empty();
  if (share) {
    const auto id = real->lease().id();
    if (!id) return "no id of the lease: " + id.error().message;
    const auto [known, added] = ids_.try_emplace(answer.lease, *id);
    // The id says which buckets were charged, and until when, and the marker keeps what the last change made
    // of that.
    if (!added && known->second != *id && !lease.narrowed && !lease.extended)
      return "a repeated acquire answers with another lease";
  }
  if (op.hold == Hold::nothing) return {};
  HeldLease held;
  held.lease = answer.lease;
  if (const auto id = ids_.find(answer.lease); id != ids_.end()) held.id = id->second;
  if (op.hold == Hold::handle) held.handle = std::make_unique<Decision>(*std::move(real));
  leases_[op.id] = std::move(held);
  if (leases_.size() > 64) leases_.erase(leases_.begin());
  return {};
}

std::string World::look(const Op& op) {
  const Request& request = op.request;
  observe(request);
  charges_.clear();
  for (const Asked& asked : request.consume)
    charges_.push_back({limit_name(asked.limit), Amount::milli(asked.amount)});
  const auto real = limiter(op).available(
      entity_name(request.entity), resource_name(request.resource), charges_,
      {.limits = limits_of(request.limits), .idempotency_key = {}, .shadow = request.shadow});
  observed_.answer = oracle_.look(request, now_);
  if (std::string wrong = compare(real, observed_.answer, request.resource); !wrong.empty()) return wrong;
  if (observed_.answer.error) return {};
  return check_ideals(request.resource, IdealBuckets::Step::looked);
}

/// Neither the ideal buckets nor the live leases may have less than was answered.
std::string World::check_ideals(int resource, IdealBuckets::Step step) {
  std::string wrong = ideal_.check(oracle_, resource, observed_.answer, step, now_);
  return wrong.empty() ? live_leases_.check(oracle_, resource, observed_.answer, now_) : wrong;
}

std::string World::compare(const Result<Decision>& real, const Answer& answer, int resource) {
  if (std::string wrong = compare_errors(real, answer.error); !wrong.empty() || answer.error) return wrong;
  if (std::string wrong = twins::compare(real->block(), answer.block); !wrong.empty()) return wrong;
  std::optional<Time> told;
  if (const auto wait = real->retry_after()) told = wait->count();
  if (real->admitted() != answer.admitted || real->never_fits() != answer.never_fits ||
      !same_wait(told, answer)) {
    const auto words = [](bool admitted, bool for_ever, std::optional<Time> wait) {
      return std::string(admitted ? "admitted" : "refused") + (for_ever ? " for ever" : "") + " wait " +
             number(wait);
    };
    return "store: " + words(real->admitted(), real->never_fits(), told) +
           ", oracle: " + words(answer.admitted, answer.never_fits, answer.wait) +
           "; lines of the oracle:" + lines_of(answer);
  }
  return compare(real->limits(), answer, resource);
}

/// A bucket that expires later than it must may still be there when the oracle's is not.
bool World::same_wait(std::optional<Time> told, const Answer& answer) const {
  if (told == answer.wait) return true;
  if (!kind_.traits.blind_margin || answer.wait || answer.never_fits || !told) return false;
  Time longest = 0;
  for (const Line& line : answer.lines) longest = std::max(longest, line.wait);
  return *told == longest;
}

std::string World::compare(const LimitReport& real, const Answer& answer, int resource) {
  for (std::size_t i = 0; i < std::max(real.size(), answer.lines.size()); ++i) {
    if (i < real.size() && i < answer.lines.size()) {
      const LimitStatus status = real[i];
      if (status.resource == resource_name(resource) && same(status, answer.lines[i])) continue;
    }
    return "line " + std::to_string(i) + "\n    store:  " + (i < real.size() ? describe(real[i]) : "none") +
           "\n    oracle: " + (i < answer.lines.size() ? describe(answer.lines[i]) : "none");
  }
  return {};
}

std::string World::advance(const Op& op) {
  Time to = now_ + op.by;
  // A bucket that has expired may be gone or not: the clock does not go back to where it would exist again.
  // A rule that has ended may hold again or not.
  if (op.by < 0) to = std::min(now_, std::max({to, oracle_.last_expired(now_), oracle_.last_rule_end(now_)}));
  if (to < now_) ideal_.forget();
  set_clock(to);
  return {};
}

void World::set_clock(Time to) {
  // Other limits come into force where a level expires.
  std::set<Time> ends;
  for (const auto& level : oracle_.stored_levels(now_)) {
    if (level.expires_at > now_ && level.expires_at <= to) ends.insert(level.expires_at);
  }
  for (const Time end : ends) ideal_.change(oracle_, false, end);
  now_ = to;
  latest_ = std::max(latest_, now_);
  clock_.set(now_);
}

std::string World::change(const Op& op) {
  const auto held = leases_.find(op.lease_of);
  if (held == leases_.end()) return observed_.skipped = true, "";
  const bool by_handle = op.hold == Hold::handle;
  HeldLease& lease = held->second;
  const Lease& known = oracle_.lease(lease.lease);
  if (by_handle ? !lease.handle : lease.id.empty()) return observed_.skipped = true, "";
  if (forgettable(known) && now_ < known.deadline) return observed_.skipped = true, "";
  // The store keeps nothing of a lease without buckets, so that an extension is known to its caller alone.
  if (known.buckets.empty() && known.extended) return observed_.skipped = true, "";
  if (!known.buckets.empty()) {
    const Lease::Bucket& first = known.buckets.front();
    const BucketState* const state = oracle_.bucket(first.entity, known.resource, now_);
    observed_.reborn = state == nullptr || state->generation != first.generation;
  }
  if (op.verb == Verb::extend) return extend(op, lease);
  charges_.clear();
  for (const Asked& asked : op.amounts)
    charges_.push_back({limit_name(asked.limit), Amount::milli(asked.amount)});
  const std::span<const Charge> charges = charges_;
  const Debt debt = op.enforce ? Debt::refused : Debt::allowed;
  const auto ask = [&]() -> Result<LimitReport> {
    if (by_handle) {
      weir::Lease& handle = lease.handle->lease();
      if (op.verb == Verb::adjust) return handle.adjust(charges, debt);
      return op.verb == Verb::settle ? handle.settle(charges) : handle.rollback();
    }
    if (op.verb == Verb::adjust) return limiter(op).adjust(lease.id, charges, op.key, debt);
    return op.verb == Verb::settle ? limiter(op).settle(lease.id, charges) : limiter(op).rollback(lease.id);
  };
  const auto real = ask();
  observed_.answer =
      oracle_.change(lease.lease, op.verb, by_handle ? std::string() : op.key, op.amounts, op.enforce, now_);
  const Answer& answer = observed_.answer;
  if (std::string wrong = compare_errors(real, answer.error); !wrong.empty() || answer.error) return wrong;
  if (std::string wrong = compare(*real, answer, known.resource); !wrong.empty()) return wrong;
  return check_ideals(known.resource, IdealBuckets::Step::lease);
}

std::string World::correct(const Op& op) {
  const int entity = op.request.entity;
  const int resource = op.request.resource;
  // A correction is no refill, so the ideal bucket starts anew from it.
  ideal_.forget(entity);
  if (op.kind == Kind::reset) {
    const auto real = limiter(op).reset(entity_name(entity), resource_name(resource));
    observed_.answer = oracle_.reset(entity, resource, now_);
    const std::string wrong = compare_errors(real, observed_.answer.error);
    return wrong.empty() ? hear() : wrong;
  }
  charges_.clear();
  for (const Asked& asked : op.amounts)
    charges_.push_back({limit_name(asked.limit), Amount::milli(asked.amount)});
  if (op.kind == Kind::grant) {
    GrantOptions options{.key = op.key};
    if (op.by > 0) options.expires_in = milliseconds(op.by);
    const auto real = limiter(op).grant(entity_name(entity), resource_name(resource), charges_, options);
    observed_.answer = oracle_.grant(entity, resource, op.amounts, op.by, op.key, now_);
    const std::string wrong = compare_errors(real, observed_.answer.error);
    return wrong.empty() ? hear() : wrong;
  }
  const auto real = limiter(op).lower(entity_name(entity), resource_name(resource), charges_);
  observed_.answer = oracle_.correct(entity, resource, Oracle::Correction::lower, op.amounts, now_);
  const Answer& answer = observed_.answer;
  std::string wrong = compare_errors(real, answer.error);
  if (!wrong.empty() || answer.error) return wrong;
  return compare(*real, answer, resource);
}

std::string World::extend(const Op& op, HeldLease& lease) {
  const auto real = op.hold == Hold::handle ? lease.handle->lease().extend(milliseconds(op.by))
                                            : limiter(op).extend(lease.id, milliseconds(op.by));
  observed_.answer.error = oracle_.extend(lease.lease, op.by, now_);
  std::string wrong = compare_errors(real, observed_.answer.error);
  if (!wrong.empty() || observed_.answer.error) return wrong;
  const Time deadline = oracle_.lease(lease.lease).deadline;
  if (*real == deadline && (op.hold != Hold::handle || lease.handle->lease().deadline() == deadline))
    return {};
  return "extended by the store until " + std::to_string(*real) + ", by the oracle until " +
         std::to_string(deadline);
}

std::string World::set_limits(const Op& op) {
  SetLimitsOptions options;
  options.owner = op.options.owner;
  if (op.options.expires_in) options.expires_in = milliseconds(*op.options.expires_in);
  options.bucket_ttl_refill_multiplier = op.options.multiplier;
  options.inherit = op.options.inherit;
  // Limits may have expired unseen.
  ideal_.change(oracle_, false, now_);
  const auto real = limiter(op).set_limits(level_of(op.level), named(op.limits), options);
  const std::string wrong = compare_errors(real, oracle_.set_limits(op.level, op.limits, op.options, now_));
  ideal_.change(oracle_, op.level.entity < 0, now_);
  return wrong.empty() ? hear() : wrong;
}

std::string World::change_access(const Op& op) {
  has_rules_ = true;
  if (op.kind == Kind::remove_access) {
    const AccessRule rule = rule_of(op.rule);
    observed_.answer.error = oracle_.remove_access(op.entity, op.rule.access, op.rule.resource, now_);
    const std::string wrong =
        compare_errors(limiter(op).remove_access(entity_name(op.entity), rule.access, rule.resource),
                       observed_.answer.error);
    return wrong.empty() ? hear() : wrong;
  }
  const auto real = limiter(op).set_access(entity_name(op.entity), rule_of(op.rule));
  observed_.answer.error = oracle_.set_access(op.entity, op.rule, now_);
  std::string wrong = compare_errors(real, observed_.answer.error);
  if (!wrong.empty() || observed_.answer.error) return wrong;
  if (real->access.empty() || real->access.back() != rule_of(oracle_.rules(op.entity).back()))
    return "the entity is returned without its new rule";
  return hear();
}

}  // namespace weir::twins
