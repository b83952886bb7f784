#include "store/redis/operation.h"

#include "base/text.h"
#include "store/redis/catalog.h"
#include "store/redis/codec.h"

namespace weir::redis {

using store::Progress;

namespace {

/// Each attempt that fails means that somebody else got through.
constexpr int most_operation_attempts = 200;

}  // namespace

Operation::Operation(RedisBuckets& buckets, std::string_view name_space, std::string_view resource,
                     store::Completion<Progress> done)
    : ScriptCall(buckets.site_),
      buckets_(buckets),
      name_space_(name_space),
      resource_(resource),
      done_(done) {
  gathers = home_ != nullptr;
}

void Operation::add_place(std::string_view entity, const limits::Resolution* resolution,
                          std::string_view family) {
  places_.push_back({entity, resolution, std::string(site().family(entity, family))});
}

std::string Operation::key_of(const Place& place) const {
  return site().names.bucket(name_space_, place.family, place.entity, resource_);
}

std::string Operation::index_of(const Place& place) const {
  return site().names.index(name_space_, place.family, place.entity);
}

std::string Operation::lease_key(std::string_view end_of_chain, const table::Nonce& nonce) const {
  return site().names.lease(name_space_, site().family({}, end_of_chain), nonce);
}

std::string_view Operation::end_of_chain(std::string_view entity, const limits::Resolution& resolution) {
  for (const limits::Resolution* at = &resolution; at->parent_resolution; at = at->parent_resolution.get())
    entity = at->parent;
  return entity;
}

Time Operation::known(const Place& place) const {
  return std::max(place.resolution->stamp, buckets_.catalog_.known(name_space_));
}

void Operation::load(const std::string& marker) {
  step_ = Step::loading;
  writes_ = false;
  const std::size_t keys = places_.size() + (marker.empty() ? 0 : 1);
  begin(Script::load(), keys, keys + 2);
  for (const Place& place : places_) key(key_of(place));
  if (!marker.empty()) key(marker);
  word(site().time.for_scripts());
  word(std::string_view(marker.empty() ? "0" : "1"));
  repeatable = true;
  send();
}

bool Operation::take(const Reply& reply) {
  if (step_ == Step::plain) return false;
  if (step_ == Step::writing) {
    step_ = Step::plain;
    reply.integer() == 1 ? finish(Progress::decided) : restart();
    return true;
  }
  step_ = Step::plain;
  auto at = reply.children();
  at.next();
  const Time now = at.next().integer().value_or(0);
  site().time.learn(now);
  decide_here(now, at);
  return true;
}

void Operation::decide_here(Time now, Reply::Children children) {
  buckets_.detours_.fetch_add(1, std::memory_order_relaxed);
  Workbench bench(now, generation(), site().entropy);
  raw_.clear();
  raw_marker_.clear();
  for (const Place& place : places_) {
    auto found = read_bucket(children.next(), {name_space_, place.entity, resource_});
    if (!found) return finish(found.error());
    raw_.push_back(found->raw);
    const bool there = found->record && found->record->expires_at > now;
    if (there && found->state.stamp > known(place)) return resolve_again(found->state.stamp, raw_.size() - 1);
    bench.add(*std::move(found));
  }
  if (!children.at_end() && !marker_key().empty()) {
    raw_marker_ = children.next().text();
    if (!raw_marker_.empty()) {
      auto marker = decode_marker(raw_marker_);
      if (!marker)
        return finish(base::error(ErrorCode::unavailable, "the record of the lease cannot be read"));
      bench.set_marker(std::move(marker));
    }
  }
  auto decided = decide(bench);
  if (!decided) return finish(decided.error());
  if (*decided == Progress::resolve_again) return resolve_again(0, 0);
  write(now, bench, std::move(decided));
}

void Operation::write(Time now, Workbench& bench, Result<Progress> result) {
  const std::vector<Written> written = bench.take_written();
  const auto marker = bench.take_marker();
  const std::string marker_text = marker ? encode(*marker) : std::string();
  const bool new_marker = marker && marker_text != raw_marker_;
  if (written.empty() && !new_marker) return finish(std::move(result));
  step_ = Step::writing;
  writes_ = true;
  // With a marker: whoever finds it written starts over, and finds it done.
  repeatable = new_marker;
  const std::string lease = marker_key();
  const std::size_t keys = 2 * places_.size() + (lease.empty() ? 0 : 1);
  begin(Script::put(), keys, keys + 5 + 7 * places_.size());
  for (const Place& place : places_) key(key_of(place));
  for (const Place& place : places_) key(index_of(place));
  if (!lease.empty()) key(lease);
  word(static_cast<std::int64_t>(places_.size()));
  word(resource_);
  word(raw_marker_);
  word(new_marker ? std::string_view(marker_text) : std::string_view());
  const Time deadline = marker ? to_redis(marker->deadline) : now;
  word(std::max<Time>(deadline - now, 0) + marker_margin);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto changed = std::find_if(written.begin(), written.end(),
                                      [&](const Written& one) { return one.entity == places_[i].entity; });
    const Written none;
    const Written& next = changed == written.end() ? none : *changed;
    for (const std::string_view one : {std::string_view(raw_[i]), std::string_view(next.b),
                                       std::string_view(next.p), std::string_view(next.d)})
      word(one);
    word(next.stays);
    word(next.rounds);
    word(next.keep_for);
  }
  send();
}

bool Operation::again_allowed() {
  if (++attempts_ < most_operation_attempts) return true;
  finish(
      base::error(ErrorCode::contention, "others changed the same buckets too often meanwhile; try again"));
  return false;
}

void Operation::resolve_again(Time seen, std::size_t place) {
  for (const Place& one : places_) buckets_.catalog_.distrust(name_space_, one.entity);
  if (seen == 0 || place >= places_.size()) return finish(Progress::resolve_again);
  seen_ = seen;
  buckets_.catalog_.find(
      name_space_, places_[place].entity, resource_,
      {[](void* self, Result<store::Found>&& found) { static_cast<Operation*>(self)->compare_stamp(found); },
       this});
}

/// If the catalog cannot have what the bucket has seen, it has lost something (or the clock was set back),
/// and buckets are not held to it.
void Operation::compare_stamp(const Result<store::Found>& found) {
  if (!found) return finish(found.error());
  const auto newest = limits::resolve(found->levels, {}, found->now, limits::default_ttl_multiplier);
  if (newest->stamp < seen_) buckets_.catalog_.accept(name_space_, seen_);
  finish(Progress::resolve_again);
}

void Operation::finish(Result<Progress> result) {
  // It ends where it is told of, which is mostly where it was made: memory that is freed on another thread
  // than it was taken on costs several times as much.
  store::tell(home_,
              {[](void* self, Result<Progress>&& told) {
                 auto* const operation = static_cast<Operation*>(self);
                 const auto done = operation->done_;
                 delete operation;
                 done(std::move(told));
               },
               this},
              std::move(result));
}

void Operation::failed(Error error) {
  forget_spent();
  finish(std::move(error));
}

void Operation::forget_spent() {
  if (!site().spent.used() || !site().spent.any(site().time.here())) return;
  for (const Place& place : places_) site().spent.forget(key_of(place));
}

}  // namespace weir::redis
