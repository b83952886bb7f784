#include "store/table/table.h"

#include "decision/lease_change.h"
#include "store/table/fast_path.h"
#include "store/table/locks.h"

namespace weir::table {

using decision::Link;
using decision::Verb;
using store::Progress;
using store::Request;

Table::Table(const Clock& clock, base::HashSeed seed, std::uint64_t first_bucket_generation,
             const std::atomic<std::uint64_t>& catalog_generation, Backing* backing)
    : clock_(clock),
      seed_(seed),
      next_generation_(first_bucket_generation),
      catalog_generation_(catalog_generation),
      backing_(backing),
      shards_(std::make_unique<Shard[]>(shard_count)) {}

std::uint64_t Table::token_of(std::string_view name_space) const { return base::hash(name_space, seed_); }

std::uint64_t Table::owner_hash(std::uint64_t name_space_token, std::string_view entity) const {
  return base::hash(entity, seed_, name_space_token);
}

Shard& Table::shard_of(std::uint64_t owner_hash) const {
  // Middle bits: the map inside the shard uses the low ones.
  return shards_[owner_hash >> 32U & (shard_count - 1)];
}

Slot Table::slot_of(const Request& request, std::string_view entity) const {
  const std::uint64_t token = request.name_space_token;
  const std::uint64_t owner = owner_hash(token != 0 ? token : token_of(request.name_space), entity);
  return {&shard_of(owner), base::hash(request.resource, seed_, owner), nullptr};
}

void Table::add(const Request& request, std::string_view entity, const limits::Resolution* resolution,
                Slots& slots) const {
  slots.chain.add(entity, resolution);
  slots[slots.size() - 1] = slot_of(request, entity);
}

/// Adds the ancestors of the first link.
void Table::add_chain(const Request& request, Slots& slots, const limits::Resolution& resolution) const {
  for (const limits::Resolution* at = &resolution; at->parent_resolution && !slots.full();
       at = at->parent_resolution.get()) {
    // An ancestor without limits is not charged, and has no bucket.
    if (at->parent_resolution->limits) add(request, at->parent, at->parent_resolution.get(), slots);
  }
}

Record* Table::find(const Request& request, std::string_view entity, const Slot& slot, Time now) {
  Record* const record =
      Locks::map_of(*slot.shard).find(slot.hash, {request.name_space, entity, request.resource});
  return record != nullptr && record->expires_at > now ? record : nullptr;
}

bool Table::current(const limits::Resolution& resolution, Time now) const {
  return resolution.catalog_generation == catalog_generation_.load(std::memory_order_acquire) &&
         resolution.valid_until > now;
}

bool Table::all_current(const decision::Chain& chain, Time now) const {
  return std::all_of(chain.begin(), chain.end(),
                     [&](const Link& link) { return current(*link.resolution, now); });
}

bool Table::usable(const Record* record, const Request& request, Time now) const {
  if (record == nullptr || !record->resolution) return false;
  const limits::Resolution& resolution = *record->resolution;
  if (resolution.depends_on_request && request.request_limits != resolution.request_limits.get())
    return false;
  return current(resolution, now);
}

/// Starts a link from a record and its resolution.
inline void start(Link& link, const Request& request, const Record& record) {
  link.entity = request.entity;
  link.key = record.entity_and_resource();
  link.resolution = record.resolution.get();
}

/// Reports a refusal. Computes the link a second time, so that the link of an admitted request never has its
/// address taken and the compiler can keep it in registers.
void Table::refuse(const Request& request, Record& record, Decision& decision, Time now) {
  Link link;
  start(link, request, record);
  link.generation = record.generation;
  link.expires_at = record.expires_at;
  if (!decision::match_in_order(link, request.consume, record.limit_count))
    decision::match(link, request.consume);
  refill_in_place(link, record, now, record.limit_count);
  decision::report_refused(decision.report(), link, request.resource, now);
  const decision::Wait wait = decision::wait_of({&link, 1}, now);
  decision.set_refused(wait.time, wait.never_fits);
}

/// A bucket without ancestors that needs no change but the charge. Requires the shard's lock. `count`: of its
/// limits.
template <class Count>
bool Table::decide_in_place(const Request& request, Record& record, Decision& decision, Time now,
                            Count count) {
  Link link;
  start(link, request, record);
  if (!decision::match_in_order(link, request.consume, count)) {
    const decision::Matched matched = decision::match(link, request.consume);
    const bool other = request.every != nullptr;
    if (other || matched.twice || matched.charges != decision::all_of(request.consume)) [[unlikely]]
      return false;
  }
  if (record.refilled_at > now && decision::is_ahead(record.refilled_at, now)) [[unlikely]]
    return false;
  refill_in_place(link, record, now, count);
  decision.report().clear();
  if (!decision::fits(link, count)) [[unlikely]] {
    if (decision::shadows_of(link, request.shadow) != 0) return false;
    refuse(request, record, decision, now);
    return true;
  }
  charge_in_place(link, record, count);
  decision.set_admitted();
  decision.set_deadline(base::saturating_add(now, request.lease_for));
  decision::report_lines(decision.report(), link, record.entity_and_resource(), record.generation, true,
                         count);
  return true;
}

// Inlines everything that it calls, since the calls would cost as much as the work.
[[gnu::flatten]] bool Table::acquire_carried(const Request& request, Decision& decision) {
  const Time now = clock_.now();
  const Slot slot = slot_of(request, request.entity);
  limits::ResolutionRef resolution;
  {
    const base::Guard guard(slot.shard->lock);
    Record* const record = find(request, request.entity, slot, now);
    if (!usable(record, request, now)) [[unlikely]]
      return false;
    const bool alone = !record->resolution->parent_resolution;
    if (alone && has_current_limits(record, *record->resolution) &&
        counts_in_place(*record, store::counts_usage(request, *record->resolution), now)) [[likely]] {
      if (backing_ != nullptr) [[unlikely]]
        return decide_and_touch(request, slot, *record, decision, now);
      // Two limits (requests and tokens) are the common case: with a constant count the compiler unrolls
      // every loop.
      if (record->limit_count == 2)
        return decide_in_place(request, *record, decision, now, std::integral_constant<std::size_t, 2>());
      return decide_any_in_place(request, *record, decision, now);
    }
    // The names of the limits of a whole chain are known only to the slow path, which resolves it.
    if (request.every != nullptr) return false;
    resolution = record->resolution;
  }
  return acquire_chain({request, std::move(resolution)}, decision, now);
}

bool Table::decide_any_in_place(const Request& request, Record& record, Decision& decision, Time now) {
  return decide_in_place(request, record, decision, now, std::size_t{record.limit_count});
}

/// The same with a backing: marks the record as dirty.
bool Table::decide_and_touch(const Request& request, const Slot& slot, Record& record, Decision& decision,
                             Time now) {
  const bool decided = decide_any_in_place(request, record, decision, now);
  if (decided && decision.admitted()) touch(*slot.shard, slot.hash, record);
  return decided;
}

/// The slow path, which locks the chain in order. Leaves errors in the request to acquire().
bool Table::acquire_chain(const store::Plan& plan, Decision& decision, Time now) {
  const auto decided = decide(plan, decision, Verb::acquire, now);
  return decided && *decided == Progress::decided;
}

void Table::acquire(const store::Plan& plan, Decision& decision, store::Completion<Progress> done) {
  done(plan.request.once == nullptr ? decide(plan, decision, Verb::acquire, clock_.now())
                                    : decide_once(plan, decision, Verb::acquire));
}

void Table::peek(const store::Plan& plan, Decision& decision, store::Completion<Progress> done) {
  done(plan.request.once == nullptr ? decide(plan, decision, Verb::look, clock_.now())
                                    : decide_once(plan, decision, Verb::look));
}

Result<Progress> Table::decide_once(const store::Plan& plan, Decision& decision, Verb verb) {
  const Nonce& nonce = *plan.request.once;
  const Time now = clock_.now();
  const base::Guard guard(markers_.mutex);
  auto found = find_marker(nonce, now);
  if (!found) return found.error();
  const Marker* const repeated = decision::repeats(*found, now) ? *found : nullptr;
  auto progress = decide(plan, decision, verb, now, repeated);
  if (!progress || *progress != Progress::decided || decision.refused() || repeated != nullptr ||
      verb == Verb::look)
    return progress;
  keep_marker(nonce, decision::take_marker(decision), now);
  return progress;
}

/// The resolution that a record keeps for the fast path, which does not know access rules; null: none.
const limits::Resolution* carried(const limits::Resolution* resolution) {
  return resolution->access ? nullptr : resolution;
}

/// Writes the outcome of a decision to the records. Requires the locks.
class Table::Writer {
 public:
  Writer(Table& table, const Request& request, Slots& slots, Time now)
      : table_(table), request_(request), slots_(slots), now_(now) {}
  std::uint64_t charge(Link& link) {
    Slot& slot = slots_.of(link);
    if (link.claimed != nullptr) {
      put(link, decision::charged_state(link, new_generation()));
    } else {
      charge_in_place(link, *slot.record, slot.record->limit_count);
      table_.touch(slot);
    }
    return slot.record->generation;
  }
  void put(Link& link, const bucket::State& state) {
    table_.put(request_, link, slots_.of(link), state, now_);
  }
  std::uint64_t new_generation() { return table_.next_generation(); }

 private:
  Table& table_;
  const Request& request_;
  Slots& slots_;
  const Time now_;
};

Result<Progress> Table::decide(const store::Plan& plan, Decision& decision, Verb verb, Time now,
                               const Marker* repeated) {
  const Request& request = plan.request;
  Slots slots;
  Locks locks;
  // An entity without limits of its own is still charged for its ancestors'.
  if (plan.resolution->limits) add(request, request.entity, plan.resolution.get(), slots);
  add_chain(request, slots, *plan.resolution);
  auto locked = lock(request, slots, locks, now);
  if (!locked) return locked.error();
  if (!*locked || !current(*plan.resolution, now)) return Progress::resolve_again;
  if (auto evaluated = evaluate(request, slots, now); !evaluated) return evaluated.error();
  if (repeated != nullptr) {
    decision::answer_repeated(slots.chain, *repeated, store::asked_of(request), request.resource, decision);
  } else {
    decision::conclude(slots.chain, {verb, request.resource, now, request.lease_for}, decision,
                       Writer(*this, request, slots, now));
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Record* const record = slots[i].record;
    const limits::Resolution* const resolution = carried(slots.chain[i].resolution);
    if (record != nullptr && record->resolution.get() != resolution)
      record->resolution = limits::ResolutionRef(resolution);
  }
  return Progress::decided;
}

Result<bool> Table::lock(const Request& request, Slots& slots, Locks& locks, Time now) {
  bool is_current = true;
  if (backing_ == nullptr) [[likely]] {
    locks.lock_all(slots);
    is_current = all_current(slots.chain, now);
  } else {
    auto loaded = lock_loaded(request, slots, locks, now);
    if (!loaded) return loaded;
    is_current = *loaded;
  }
  for (std::size_t i = 0; is_current && i < slots.size(); ++i)
    slots[i].record = find(request, slots.chain[i].entity, slots[i], now);
  return is_current;
}

/// Matches the charges with the limits of every link and claims its refill, in place where its record allows
/// it.
Result<void> Table::evaluate(const Request& request, Slots& slots, Time now) const {
  if (auto matched = decision::match_all(slots.chain, request.consume); !matched) return matched;
  for (Link& link : slots.chain) {
    const Record* const record = slots.of(link).record;
    const bool in_place = has_current_limits(record, *link.resolution) &&
                          !decision::is_ahead(record->refilled_at, now) &&
                          counts_in_place(*record, store::counts_usage(request, *link.resolution), now);
    if (in_place) {
      link.key = record->entity_and_resource();
      link.generation = record->generation;
      link.expires_at = record->expires_at;
      refill_in_place(link, *record, now, link.limit_count());
    } else {
      slots.chain.claim(link, record != nullptr ? std::optional(state_of(*record)) : std::nullopt, now);
      if (auto checked = decision::check_size(link); !checked) return checked;
    }
    decision::decide(link, request.shadow);
  }
  return {};
}

void Table::put(const Request& request, const Link& link, Slot& slot, const bucket::State& state, Time now) {
  if (link.claimed->repaired) clock_watch_.repaired(slot.record->refilled_at - now);
  Record* const record = record_of({request.name_space, link.entity, request.resource}, state,
                                   limits::ResolutionRef(link.resolution));
  if (link.resolution->access) record->resolution = {};
  record->stored = slot.record != nullptr && slot.record->stored;
  replace(*slot.shard, slot.hash, record, store::counts_usage(request, *link.resolution), now);
  slot.record = record;
  touch(slot);
}

bool Table::has_bucket(std::string_view name_space, std::string_view entity) {
  Shard& shard = shard_of(owner_hash(token_of(name_space), entity));
  const Time now = clock_.now();
  const base::Guard guard(shard.lock);
  bool found = false;
  shard.map.for_each([&](const Record& record) {
    found = found || (record.expires_at > now && record.belongs_to(name_space, entity));
  });
  return found;
}

void Table::forget(std::string_view name_space, std::string_view entity) {
  Shard& shard = shard_of(owner_hash(token_of(name_space), entity));
  const Time now = clock_.now();
  const base::Guard guard(shard.lock);
  shard.map.erase_if([&](const Record& record) {
    const bool erased = record.belongs_to(name_space, entity);
    if (erased) close(shard, record, now);
    return erased;
  });
}

void Table::adopt(std::string_view name_space, std::string_view entity, std::string_view on,
                  const std::function<base::Ref<limits::Resolution>(std::string_view resource)>& resolve) {
  const std::uint64_t owner = owner_hash(token_of(name_space), entity);
  Shard& shard = shard_of(owner);
  const Time now = clock_.now();
  const base::Guard guard(shard.lock);
  std::vector<RecordPtr> adopted;
  shard.map.for_each([&](Record& record) {
    if (record.expires_at <= now || !record.belongs_to(name_space, entity)) return;
    if (!on.empty() && record.resource() != on) return;
    const auto of_levels = resolve(record.resource());
    if (!of_levels->limits) return;
    auto resolution = decision::resolve_as_stored(*of_levels, state_of(record), now);
    if (!resolution) resolution = limits::ResolutionRef(of_levels.get());
    decision::Chain chain;
    Link& link = chain.add(entity, resolution.get());
    chain.claim(link, state_of(record), now);
    if (!decision::must_adopt(link)) return;
    adopted.emplace_back(
        record_of({name_space, entity, record.resource()}, decision::claimed_state(link, 0), resolution));
    adopted.back()->stored = record.stored;
  });
  for (RecordPtr& next : adopted) {
    const std::uint64_t hash = base::hash(next->resource(), seed_, owner);
    touch(shard, hash, *next);
    const Record* const old = shard.map.find(hash, {name_space, entity, next->resource()});
    const bool counts = old->counts_usage();
    replace(shard, hash, next.release(), counts, now);
  }
}

std::size_t Table::size() {
  std::size_t size = 0;
  for (std::size_t i = 0; i < shard_count; ++i) {
    const base::Guard guard(shards_[i].lock);
    size += shards_[i].map.size();
  }
  return size;
}

}  // namespace weir::table
