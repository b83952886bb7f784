#include "store/redis/operation.h"

#include "base/text.h"
#include "store/redis/catalog.h"
#include "store/redis/codec.h"
#include "store/redis/read_call.h"

namespace weir::redis {

using store::Progress;

namespace {

/// An attempt fails only if another operation has written the bucket.
constexpr int most_operation_attempts = 200;

}  // namespace

Operation::Operation(RedisBuckets& buckets, std::string_view name_space, std::string_view resource,
                     store::Completion<Progress> done)
    : ScriptCall(buckets.context_),
      buckets_(buckets),
      name_space_(name_space),
      resource_(resource),
      done_(done) {
  gathers = executor_ != nullptr;
}

void Operation::add_bucket(std::string_view entity, const limits::Resolution* resolution,
                           std::string_view family) {
  buckets_in_chain_.push_back({entity, resolution, std::string(context().family(entity, family))});
}

std::string Operation::key_of(const ChainBucket& place) const {
  return context().names.bucket(name_space_, place.family, place.entity, resource_);
}

std::string Operation::index_of(const ChainBucket& place) const {
  return context().names.index(name_space_, place.family, place.entity);
}

std::string Operation::lease_key(std::string_view end_of_chain, const decision::Nonce& nonce) const {
  return context().names.lease(name_space_, context().family({}, end_of_chain), nonce);
}

std::string_view Operation::end_of_chain(std::string_view entity, const limits::Resolution& resolution) {
  for (const limits::Resolution* at = &resolution; at->parent_resolution; at = at->parent_resolution.get())
    entity = at->parent;
  return entity;
}

void Operation::rest_on(const limits::Resolution& resolution) {
  for (const limits::Resolution* at = &resolution; at != nullptr; at = at->parent_resolution.get())
    catalog_generation_ = std::min(catalog_generation_, at->catalog_generation);
}

Time Operation::known(const ChainBucket& place) const {
  return std::max(place.resolution->stamp, buckets_.catalog_.known(name_space_));
}

void Operation::add_links(decision::Chain& chain) const {
  for (const ChainBucket& place : buckets_in_chain_) chain.add(place.entity, place.resolution);
}

decision::NewGeneration Operation::new_generation() const {
  return [this] { return buckets_.next_generation(); };
}

void Operation::append_plan(std::string& plan, const decision::Chain& chain,
                            std::optional<bool> counts) const {
  // The nodes of a cluster have different clocks, and a key may have been written by another node.
  append_number(plan, context().cluster ? context().time.for_scripts() : context().time.expected());
  append_number(plan, !counts ? -1 : *counts ? counting_head : 0);
  for (std::size_t k = 0; k < buckets_in_chain_.size(); ++k) {
    const decision::Link& link = chain[k];
    const limits::Resolution& resolution = *link.resolution;
    const auto set = sets().get(resolution.limits);
    for (const std::int64_t number :
         {head_of(link.limit_count()), resolution.stamp, known(buckets_in_chain_[k]), set->digest,
          to_redis(resolution.keep_for), to_redis(resolution.valid_until), to_redis(resolution.changes_at),
          to_redis(resolution.keep_until)})
      append_number(plan, number);
    for (std::size_t i = 0; i < link.limit_count(); ++i) {
      plan.append(set->parameters, 24 * i, 24);
      append_number(plan, (link.named >> i & 1U) != 0 ? link.amount[i] : never_in_redis);
    }
  }
  plan.append(resource_);
}

void Operation::load() {
  step_ = Step::loading;
  writes_ = false;
  const std::size_t keys = buckets_in_chain_.size() + (marker_.empty() ? 0 : 1);
  begin(Script::load(), keys, keys + 3);
  for (const ChainBucket& place : buckets_in_chain_) key(key_of(place));
  if (!marker_.empty()) key(marker_);
  word(context().time.for_scripts());
  word(std::string_view(marker_.empty() ? "0" : "1"));
  word(std::string_view(contended() ? "1" : "0"));
  repeatable = true;
  send();
}

bool Operation::found_wrong_type() {
  if (step_ != Step::plain) return false;
  load();
  return true;
}

bool Operation::take(const Reply& reply) {
  if (step_ == Step::plain) return false;
  if (step_ == Step::writing) {
    step_ = Step::plain;
    written(reply.integer());
    return true;
  }
  step_ = Step::plain;
  auto at = reply.children();
  at.next();
  const Time now = at.next().integer().value_or(0);
  context().time.learn(now);
  decide_here(now, at);
  return true;
}

Result<std::optional<decision::Marker>> Operation::read_marker(Reply::Children& children) {
  raw_marker_.clear();
  if (marker_.empty() || children.at_end()) return std::optional<decision::Marker>();
  const Reply reply = children.next();
  if (!reply.is_text()) return std::optional<decision::Marker>();
  raw_marker_ = reply.text();
  auto marker = decode_marker(raw_marker_);
  if (marker) return marker;
  Error wrong = base::error(
      ErrorCode::unavailable, "the record ", base::quoted(marker_),
      " of a lease cannot be used; it was written by another version or by hand. Its charge stands");
  context().bad.report(wrong.message);
  return wrong;
}

void Operation::decide_here(Time now, Reply::Children children) {
  States states;
  read_.clear();
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    auto read = read_bucket(children.next(), buckets_in_chain_[i].entity, resource_);
    if (!read) {
      context().bad.report(read.error().message);
      return finish(read.error());
    }
    read_.push_back(*std::move(read));
    const auto& bucket = read_.back().bucket;
    if (!bucket || bucket->state.expires_at <= now) continue;
    if (bucket->stamp > known(buckets_in_chain_[i])) return resolve_again(bucket->stamp, i);
    states[i] = bucket->state;
  }
  auto marker = read_marker(children);
  if (!marker) return finish(marker.error());
  for (const ChainBucket& place : buckets_in_chain_) {
    if (place.resolution->valid_until <= now) return resolve_again(0, 0);
  }
  auto next = decide(now, states, *marker ? &**marker : nullptr);
  if (!next) return finish(next.error());
  if (next->marker && encode(*next->marker) == raw_marker_) next->marker.reset();
  if (next->any()) return write(now, *next);
  unchanged(now, read_);
  finish(Progress::decided);
}

void Operation::write(Time now, const decision::Next& next) {
  writes_of_buckets_.clear();
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    if (!next.states[i]) {
      writes_of_buckets_.push_back(unchanged_write(read_[i]));
      continue;
    }
    StoredBucket bucket{*next.states[i], buckets_in_chain_[i].resolution->stamp, {}};
    if (const auto& before = read_[i].bucket) {
      bucket.stamp = std::max(bucket.stamp, before->stamp);
      bucket.others = before->others;
    }
    writes_of_buckets_.push_back(counted_write(read_[i], std::move(bucket), now, counts(read_[i])));
  }
  next_marker_ = next.marker ? encode(*next.marker) : std::string();
  marker_stays_ = std::max<Time>(next.marker ? to_redis(next.marker->deadline) - now : 0, 0) + marker_margin;
  decided_at_ = now;
  send_write(!context().cluster ? IndexedBy::script : in_index_ ? IndexedBy::caller : IndexedBy::nobody);
}

void Operation::send_write(IndexedBy indexed) {
  step_ = Step::writing;
  writes_ = true;
  // Safe to repeat with a marker: if it was written, the operation starts over and finds it.
  repeatable = !next_marker_.empty() && idempotent_;
  const Names& names = context().names;
  const bool in_script = indexed == IndexedBy::script;
  const std::size_t keys = 4 * buckets_in_chain_.size() + (in_script ? 2 : 0) + (marker_.empty() ? 0 : 1);
  begin(Script::put(), keys, keys + 10 + 8 * buckets_in_chain_.size());
  for (const ChainBucket& place : buckets_in_chain_) key(key_of(place));
  for (const ChainBucket& place : buckets_in_chain_) key(index_of(place));
  for (const ChainBucket& place : buckets_in_chain_) key(names.fence(name_space_, place.family));
  for (const ChainBucket& place : buckets_in_chain_)
    key(names.usage(name_space_, place.family, place.entity, resource_));
  if (in_script) {
    key(names.used(name_space_));
    key(names.namespaces());
  }
  if (!marker_.empty()) key(marker_);
  word(static_cast<std::int64_t>(buckets_in_chain_.size()));
  word(resource_);
  word(std::string_view(context().time.for_tests() ? "PEXPIRE" : "PEXPIREAT"));
  word(raw_marker_);
  word(next_marker_);
  word(marker_stays_);
  word(static_cast<std::int64_t>(catalog_generation_));
  for (const std::string& one : usage_words(context(), name_space_, indexed)) word(one);
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    const BucketName name = name_of(buckets_in_chain_[i]);
    for (const std::string& one : words_of(context(), name, writes_of_buckets_[i], decided_at_)) word(one);
  }
  send();
}

void Operation::written(std::optional<std::int64_t> code) {
  if (code == PutAnswer::chain_changed) {
    // The chain is out of date. Which of its entities has moved is unknown.
    buckets_.catalog_.distrust();
    return finish(Progress::resolve_again);
  }
  if (code == PutAnswer::not_indexed) return index(0);
  if (code == PutAnswer::written_without_usage) {
    for (const ChainBucket& place : buckets_in_chain_)
      context().bad.report(unusable_usage(place.entity, resource_));
  }
  const bool done = code == PutAnswer::written || code == PutAnswer::written_without_usage;
  done ? finish(Progress::decided) : restart();
}

void Operation::index(std::size_t done) {
  in_index_ = done > buckets_in_chain_.size();
  if (in_index_) return send_write(IndexedBy::caller);
  const bool namespaces = done == 0;
  const std::string where = namespaces ? context().names.namespaces() : context().names.used(name_space_);
  std::string add;
  if (namespaces) {
    add = wire::resp::command({"SADD", where, name_space_});
  } else {
    const auto members = members_of(context(), name_of(buckets_in_chain_[done - 1]));
    add = wire::resp::command({"ZADD", where, "0", members[0], "0", members[1]});
  }
  indexed_ = done;
  const store::Completion<bool> then{[](void* self, Result<bool>&& added) {
                                       auto* const operation = static_cast<Operation*>(self);
                                       if (!added) return operation->fail(added.error());
                                       operation->index(operation->indexed_ + 1);
                                     },
                                     this};
  // Nothing is charged yet, and it may be sent again: so it is sent as a read is.
  read<bool>(context(), where, std::move(add), then, [](const Result<Reply>& reply) -> Result<bool> {
    if (!reply) return reply.error();
    return true;
  });
}

bool Operation::again_allowed() {
  if (++attempts_ < most_operation_attempts) return true;
  finish(
      base::error(ErrorCode::contention, "others changed the same buckets too often meanwhile; try again"));
  return false;
}

void Operation::resolve_again(Time seen, std::size_t place) {
  for (const ChainBucket& one : buckets_in_chain_) buckets_.catalog_.distrust(name_space_, one.entity);
  if (seen == 0 || place >= buckets_in_chain_.size()) return finish(Progress::resolve_again);
  seen_ = seen;
  buckets_.catalog_.find(
      name_space_, buckets_in_chain_[place].entity, resource_,
      {[](void* self, Result<store::Found>&& found) { static_cast<Operation*>(self)->compare_stamp(found); },
       this});
}

/// If the catalog does not have the stamp that the bucket has seen, it has lost changes (or the clock was set
/// back), and the stamp is accepted.
void Operation::compare_stamp(const Result<store::Found>& found) {
  if (!found) return finish(found.error());
  const auto newest = limits::resolve(found->levels, {}, found->now, limits::default_ttl_multiplier);
  if (newest->stamp < seen_) buckets_.catalog_.accept(name_space_, seen_);
  finish(Progress::resolve_again);
}

Result<Progress> Operation::confirmed(Result<Progress> result) const {
  const bool done = result && *result == Progress::decided && !refused();
  if (!maybe_written() || done || (!result && result.error().code == ErrorCode::outcome_unknown))
    return result;
  // An operation that starts over, or a refusal, would not know of the earlier copy either.
  return error_of({true, result ? "an earlier copy got no answer" : result.error().message});
}

void Operation::finish(Result<Progress> outcome) {
  Result<Progress> result = confirmed(std::move(outcome));
  // The operation is destroyed on the thread of its completion, which mostly allocated it: freeing memory on
  // another thread costs several times as much.
  store::complete(executor_,
                  {[](void* self, Result<Progress>&& progress) {
                     auto* const operation = static_cast<Operation*>(self);
                     const auto done = operation->done_;
                     delete operation;
                     done(std::move(progress));
                   },
                   this},
                  std::move(result));
}

void Operation::failed(Error error) {
  forget_exhausted();
  finish(std::move(error));
}

void Operation::forget_exhausted() {
  if (!context().exhausted.used() || !context().exhausted.any(context().time.here())) return;
  for (const ChainBucket& place : buckets_in_chain_) context().exhausted.forget(key_of(place));
}

}  // namespace weir::redis
