#include "twins/world.h"

#include <algorithm>
#include <chrono>

namespace weir::twins {
namespace {

using std::chrono::milliseconds;

std::string number(std::optional<Time> value) { return value ? std::to_string(*value) : "none"; }

Level level_of(const LevelId& level) {
  switch (level.kind) {
    case Source::entity:
      return Level::entity(entity_name(level.entity), resource_name(level.resource));
    case Source::entity_default:
      return Level::entity_default(entity_name(level.entity));
    case Source::resource:
      return Level::resource(resource_name(level.resource));
    default:
      return Level::system();
  }
}

std::vector<NamedLimit> named(const Set& set) {
  std::vector<NamedLimit> limits;
  for (const NamedTerms& one : set) {
    limits.push_back({limit_name(one.limit), *Limit::make({.capacity = Amount::milli(one.terms.capacity),
                                                           .burst = Amount::milli(one.terms.burst),
                                                           .refill_amount = Amount::milli(one.terms.amount),
                                                           .refill_period = milliseconds(one.terms.period)})});
  }
  return limits;
}

/// Empty where both failed alike or neither did.
template <class T>
std::string compare_errors(const Result<T>& real, std::optional<ErrorCode> ideal) {
  const std::string of_real = real ? "done" : name_of(real.error().code);
  const std::string of_ideal = ideal ? name_of(*ideal) : "done";
  if (of_real == of_ideal) return {};
  return "store: " + of_real + (real ? "" : " (" + real.error().message + ")") + ", oracle: " + of_ideal;
}

std::string describe(const LimitStatus& status) {
  return std::string(status.entity) + " " + std::string(status.name) + " capacity " + status.capacity.to_string() +
         " burst " + status.burst.to_string() + " requested " + status.requested.to_string() + " remaining " +
         status.remaining.to_string() + (status.exceeded ? " exceeded" : "") + " wait " +
         (status.retry_after ? std::to_string(status.retry_after->count()) : "never") + " from " +
         name_of(status.source) + " of " + name_of(status.owner);
}

std::string describe(const Line& line) {
  return entity_name(line.entity) + " " + limit_name(line.limit) + " capacity " +
         Amount::milli(line.terms.capacity).to_string() + " burst " + Amount::milli(line.terms.burst).to_string() +
         " requested " + Amount::milli(line.requested).to_string() + " remaining " +
         Amount::milli(line.remaining).to_string() + (line.wait != 0 ? " exceeded" : "") + " wait " +
         (line.wait == never_fits ? "never" : std::to_string(line.wait)) + " from " + name_of(line.source) + " of " +
         name_of(line.owner);
}

std::string lines_of(const Answer& answer) {
  std::string lines;
  for (const Line& line : answer.lines) lines += "\n    " + describe(line);
  return lines;
}

bool same(const LimitStatus& real, const Line& line) {
  const Time wait = real.retry_after ? real.retry_after->count() : never_fits;
  const Time fill = std::max<Time>((time_to_grant(line.terms, line.terms.capacity) + 999) / 1000, 1);
  return real.name == limit_name(line.limit) && real.entity == entity_name(line.entity) &&
         real.remaining.millitokens() == line.remaining && real.requested.millitokens() == line.requested &&
         wait == line.wait && real.exceeded == (line.wait != 0) &&
         real.capacity.millitokens() == line.terms.capacity && real.burst.millitokens() == line.terms.burst &&
         real.source == line.source && real.owner == line.owner && real.window.count() == fill;
}

bool same_rate(const Limit& limit, const Terms& terms) {
  const Terms real{0, 0, limit.refill_amount().millitokens(), limit.refill_period().count()};
  return !slower(real, terms) && !slower(terms, real);
}

std::string describe(const Bucket& bucket) {
  std::string out = "at " + std::to_string(bucket.refilled_at) + " until " + number(bucket.expires_at);
  for (const BucketLimit& limit : bucket.limits) {
    out += "; " + limit.name + " " + limit.limit.to_json() + " holds " + limit.tokens.to_string() + " consumed " +
           limit.consumed.to_string() + (limit.in_force ? "" : " dormant");
  }
  return out;
}

std::string describe(const BucketState& state) {
  std::string out = "at " + std::to_string(state.refilled_at) + " until " +
                    (state.expires_at == never ? "none" : std::to_string(state.expires_at));
  for (const Held& held : state.limits) {
    out += "; " + limit_name(held.limit) + " " + text(held.terms) + " holds " +
           Amount::milli(held.tokens).to_string() + " consumed " + Amount::milli(held.consumed).to_string() +
           (held.dormant ? " dormant" : "");
  }
  return out;
}

bool same(const Bucket& real, const BucketState& state, bool exact_expiry) {
  if (real.refilled_at != state.refilled_at || real.limits.size() != state.limits.size()) return false;
  const Time expires_at = real.expires_at.value_or(never);
  if (exact_expiry ? expires_at != state.expires_at : expires_at < state.expires_at) return false;
  for (std::size_t i = 0; i < real.limits.size(); ++i) {
    const BucketLimit& limit = real.limits[i];
    const Held& held = state.limits[i];
    if (limit.name != limit_name(held.limit) || limit.tokens.millitokens() != held.tokens ||
        limit.consumed.millitokens() != held.consumed || limit.in_force == held.dormant ||
        limit.limit.capacity().millitokens() != held.terms.capacity ||
        limit.limit.burst().millitokens() != held.terms.burst || !same_rate(limit.limit, held.terms))
      return false;
  }
  return true;
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
  observed_ = {};
  if (limiters_.empty()) return "the store cannot be opened";
  if (op.kind != Kind::advance) store_->between();
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
      const Entity entity{.id = entity_name(op.entity),
                          .parent = op.parent < 0 ? std::string() : entity_name(op.parent),
                          .cascade = op.cascade,
                          .name = "n\xc3\xa9 \"x\"",
                          .metadata = {{"plan", "gold\n"}}};
      const std::string wrong =
          compare_errors(limiter(op).put_entity(entity), oracle_.put_entity(op.entity, op.parent, op.cascade, now_));
      return wrong.empty() ? hear() : wrong;
    }
    case Kind::delete_entity: {
      const std::string wrong = compare_errors(limiter(op).delete_entity(entity_name(op.entity)),
                                               oracle_.delete_entity(op.entity, now_));
      ideal_.forget(op.entity);
      return wrong.empty() ? hear() : wrong;
    }
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
  // What was past its deadline before the clock went back may be forgotten or not.
  if (marked >= 0 && forgettable(oracle_.lease(marked))) return observed_.skipped = true, "";
  observe(request);
  if (marked >= 0) {
    const Lease::Bucket& first = oracle_.lease(marked).buckets.front();
    const BucketState* const state = oracle_.bucket(first.entity, request.resource, now_);
    observed_.reborn = state == nullptr || state->generation != first.generation;
  }
  charges_.clear();
  for (const Asked& asked : request.consume) charges_.push_back({limit_name(asked.limit), Amount::milli(asked.amount)});
  AcquireOptions options;
  options.limits = limits_of(request.limits);
  options.idempotency_key = request.key;
  auto real = limiter(op).acquire(entity_name(request.entity), resource_name(request.resource), charges_, options);
  if (real && real->from_memory() && oracle_.look(request, now_).admitted && credited_lately(request.entity))
    return observed_.skipped = true, "";
  observed_.answer = oracle_.acquire(request, now_);
  const Answer& answer = observed_.answer;
  if (std::string wrong = compare(real, answer, request.resource); !wrong.empty()) return wrong;
  if (answer.error) return {};
  const bool charged = answer.admitted && !answer.repeated;
  std::string wrong = ideal_.check(oracle_, request.resource, answer,
                                   charged ? IdealBuckets::Step::charged : IdealBuckets::Step::looked, now_);
  if (!wrong.empty()) return wrong;
  if (!answer.admitted) return probe(request, answer);
  return keep(op, real, answer);
}

/// The same request is refused one millisecond before the wait is over, and admitted when it is.
std::string World::probe(const Request& request, const Answer& refused) const {
  if (!refused.wait || oracle_.last_change() > now_) return {};
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
  if (share && lease.ending == Ending::open) {
    const auto id = real->lease().id();
    if (!id) return "no id of the lease: " + id.error().message;
    const auto [known, added] = ids_.try_emplace(answer.lease, *id);
    if (!added && known->second != *id) return "a repeated acquire answers with another lease";
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
  for (const Asked& asked : request.consume) charges_.push_back({limit_name(asked.limit), Amount::milli(asked.amount)});
  const auto real = limiter(op).available(entity_name(request.entity), resource_name(request.resource), charges_,
                                          {.limits = limits_of(request.limits), .idempotency_key = {}});
  observed_.answer = oracle_.look(request, now_);
  if (std::string wrong = compare(real, observed_.answer, request.resource); !wrong.empty()) return wrong;
  if (observed_.answer.error) return {};
  return ideal_.check(oracle_, request.resource, observed_.answer, IdealBuckets::Step::looked, now_);
}

std::string World::compare(const Result<Decision>& real, const Answer& answer, int resource) {
  if (std::string wrong = compare_errors(real, answer.error); !wrong.empty() || answer.error) return wrong;
  std::optional<Time> told;
  if (const auto wait = real->retry_after()) told = wait->count();
  if (real->admitted() != answer.admitted || real->never_fits() != answer.never_fits || told != answer.wait) {
    const auto words = [](bool admitted, bool for_ever, std::optional<Time> wait) {
      return std::string(admitted ? "admitted" : "refused") + (for_ever ? " for ever" : "") + " wait " + number(wait);
    };
    return "store: " + words(real->admitted(), real->never_fits(), told) +
           ", oracle: " + words(answer.admitted, answer.never_fits, answer.wait) + "; lines of the oracle:" + lines_of(answer);
  }
  return compare(real->limits(), answer, resource);
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
  if (op.by < 0) to = std::min(now_, std::max(to, oracle_.last_expired(now_)));
  if (to < now_) ideal_.forget();
  now_ = to;
  latest_ = std::max(latest_, now_);
  clock_.set(now_);
  return {};
}

std::string World::change(const Op& op) {
  const auto held = leases_.find(op.lease_of);
  if (held == leases_.end()) return observed_.skipped = true, "";
  const bool by_handle = op.hold == Hold::handle;
  HeldLease& lease = held->second;
  const Lease& known = oracle_.lease(lease.lease);
  if (by_handle ? !lease.handle : lease.id.empty()) return observed_.skipped = true, "";
  if (forgettable(known) && now_ < known.deadline) return observed_.skipped = true, "";
  const Lease::Bucket& first = known.buckets.front();
  const BucketState* const state = oracle_.bucket(first.entity, known.resource, now_);
  observed_.reborn = state == nullptr || state->generation != first.generation;
  charges_.clear();
  for (const Asked& asked : op.amounts) charges_.push_back({limit_name(asked.limit), Amount::milli(asked.amount)});
  const std::span<const Charge> charges = charges_;
  const auto ask = [&]() -> Result<LimitReport> {
    if (by_handle) {
      weir::Lease& handle = lease.handle->lease();
      if (op.verb == Verb::adjust) return handle.adjust(charges);
      return op.verb == Verb::settle ? handle.settle(charges) : handle.rollback();
    }
    if (op.verb == Verb::adjust) return limiter(op).adjust(lease.id, charges, op.key);
    return op.verb == Verb::settle ? limiter(op).settle(lease.id, charges) : limiter(op).rollback(lease.id);
  };
  const auto real = ask();
  observed_.answer = oracle_.change(lease.lease, op.verb, by_handle ? std::string() : op.key, op.amounts, now_);
  const Answer& answer = observed_.answer;
  if (std::string wrong = compare_errors(real, answer.error); !wrong.empty() || answer.error) return wrong;
  if (std::string wrong = compare(*real, answer, known.resource); !wrong.empty()) return wrong;
  for (const Lease::Bucket& bucket : known.buckets) credits_[bucket.entity] = {now_, op.limiter};
  return ideal_.check(oracle_, known.resource, answer, IdealBuckets::Step::lease, now_);
}

std::string World::set_limits(const Op& op) {
  SetLimitsOptions options;
  options.owner = op.options.owner;
  if (op.options.expires_in) options.expires_in = milliseconds(*op.options.expires_in);
  options.bucket_ttl_refill_multiplier = op.options.multiplier;
  // Limits may have expired unseen.
  ideal_.change(oracle_, false, now_);
  const auto real = limiter(op).set_limits(level_of(op.level), named(op.limits), options);
  const std::string wrong = compare_errors(real, oracle_.set_limits(op.level, op.limits, op.options, now_));
  ideal_.change(oracle_, op.level.entity < 0, now_);
  return wrong.empty() ? hear() : wrong;
}

/// Whether somebody gave back to a bucket of the chain so lately that a process may not have heard of it.
bool World::credited_lately(int entity) const {
  for (const int one : oracle_.chain(entity)) {
    const auto found = credits_.find(one);
    if (found != credits_.end() && now_ - found->second.first <= kind_.traits.refuses_for) return true;
  }
  return false;
}

/// Waits until every limiter has heard of the last change of limits and entities.
std::string World::hear() { return {}; }

std::string World::compare_entity(int entity, bool other) {
  const auto page = limiters_[other ? limiters_.size() - 1 : 0].buckets(entity_name(entity));
  if (!page) return "no buckets: " + page.error().message;
  std::size_t at = 0;
  for (int resource = 0; resource < config_.oracle.resources; ++resource) {
    const BucketState* const state = oracle_.bucket(entity, resource, now_);
    const Bucket* const real =
        at < page->items.size() && page->items[at].resource == resource_name(resource) ? &page->items[at++] : nullptr;
    if (state == nullptr && real == nullptr) continue;
    if (state != nullptr && real != nullptr && same(*real, *state, kind_.traits.exact_expiry)) continue;
    return "bucket of " + entity_name(entity) + " on " + resource_name(resource) +
           "\n    store:  " + (real == nullptr ? "none" : describe(*real)) +
           "\n    oracle: " + (state == nullptr ? "none" : describe(*state));
  }
  return {};
}

std::string World::compare_limits() {
  const auto page = limiters_[0].list_limits({}, {.cursor = {}, .limit = 1000});
  if (!page) return "no listing of limits: " + page.error().message;
  const auto words = [](const Level& level, const std::vector<NamedLimit>& limits, Owner owner, Time expires_at) {
    std::string out = std::string(name_of(level.kind())) + " " + level.entity() + " " + level.resource() + " " +
                      name_of(owner) + " " + std::to_string(expires_at);
    for (const NamedLimit& limit : limits) out += " " + limit.name + limit.limit.to_json();
    return out;
  };
  std::vector<std::string> real;
  for (const StoredLimits& item : page->items)
    real.push_back(words(item.level, item.limits, item.owner, item.expires_at.value_or(never)));
  std::vector<std::string> ideal;
  for (const Oracle::StoredLevel& item : oracle_.stored_levels(now_))
    ideal.push_back(words(level_of(item.level), named(*item.limits), item.owner, item.expires_at));
  std::sort(real.begin(), real.end());
  std::sort(ideal.begin(), ideal.end());
  if (real == ideal) return {};
  std::string out = "limits\n  store:";
  for (const std::string& line : real) out += "\n    " + line;
  out += "\n  oracle:";
  for (const std::string& line : ideal) out += "\n    " + line;
  return out;
}

std::string World::compare_all() {
  for (int entity = 0; entity < config_.oracle.entities; ++entity) {
    if (std::string wrong = compare_entity(entity, entity % 2 == 1); !wrong.empty()) return wrong;
  }
  return compare_limits();
}

}  // namespace weir::twins
