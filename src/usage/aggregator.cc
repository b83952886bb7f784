#include "usage/aggregator.h"

#include <algorithm>
#include <limits>

namespace weir::usage {
namespace {

/// Leases are renewed, with the position, three times before they end.
constexpr Time renewals = 4;

/// When a record was made. Streams round their times down, to a minute even; the moment of the decision is
/// exact, unless its clock was wrong.
Time made_at(const BucketRecord& record, Time now) {
  return std::max(record.created, std::min(record.at, now));
}

}  // namespace

std::vector<Started> Aggregator::poll(Time now) {
  if (!stopping_ && !discovering_ && now >= discover_at_) {
    discovering_ = true;
    start(Discover());
  }
  std::vector<std::string> expired;
  for (auto& [shard, held] : held_) {
    if (held.lease.until <= now) {
      expired.push_back(shard);
    } else {
      poll_shard(held, now);
    }
  }
  for (const std::string& shard : expired) drop(shard);
  while (!due_.empty() && due_.begin()->first <= now && writing_ < options_.most_writes) {
    const Key key = due_.begin()->second;
    due_.erase(due_.begin());
    if (!postpone(key, now)) count(key);
  }
  return std::exchange(started_, {});
}

void Aggregator::stop() {
  stopping_ = true;
  // Do not wait for more records.
  std::multimap<Time, Key> now_due;
  for (auto& [time, key] : due_) now_due.emplace(0, std::move(key));
  due_ = std::move(now_due);
}

void Aggregator::start(Operation operation, Key key) {
  const std::uint64_t id = ++last_id_;
  started_.push_back({id, operation});
  under_way_.emplace(id, UnderWay{std::move(operation), std::move(key)});
}

void Aggregator::poll_shard(Held& held, Time now) {
  const bool done = (held.ended || stopping_) && !held.reading && !has_pending(held.lease.shard);
  const bool old = now >= held.lease.until - options_.lease_for + options_.lease_for / renewals;
  if (!held.writing && (done || old)) renew(held, now);
  if (held.reading || held.ended || stopping_ || now < held.read_at) return;
  if (pending_records_ >= options_.most_pending) return;
  held.reading = true;
  held.asked_at = now;
  start(ReadShard{held.lease.shard, held.iterator, held.sequence}, {held.lease.shard, {}});
}

void Aggregator::renew(Held& held, Time now) {
  LeaseChange change{held.lease, held.lease};
  const BucketRecord* const first = first_pending(held.lease.shard);
  change.next.sequence = first != nullptr ? first->sequence : held.sequence;
  change.next.until = now + options_.lease_for;
  if (first == nullptr && held.ended) {
    change.next.finished = true;
  } else if (first == nullptr && stopping_ && !held.reading) {
    change.next.owner.clear();
    change.next.until = 0;
  }
  held.writing = true;
  start(WriteLease{std::move(change)}, {held.lease.shard, {}});
}

/// Waits a moment, once, for a read that is under way: its records share the write. Otherwise the first of
/// them would begin a batch of its own at once.
bool Aggregator::postpone(const Key& key, Time now) {
  const auto pending = pending_.find(key);
  const auto held = held_.find(key.first);
  if (pending == pending_.end() || held == held_.end()) return false;
  pending->second.postponed = !pending->second.postponed && held->second.reading && !stopping_;
  if (!pending->second.postponed) return false;
  wait(key, now + options_.batch / 10);
  return true;
}

void Aggregator::count(const Key& key) {
  const auto found = pending_.find(key);
  if (found == pending_.end()) return;
  Pending& pending = found->second;
  const auto cursor = cursors_.find(key.second);
  if (cursor == cursors_.end()) {
    ++writing_;
    return start(ReadCursor{key.second}, key);
  }
  Advance step = count_records(cursor->second, pending.records, kept_);
  if (step.must_write) {
    ++writing_;
    return start(WriteUsage{key.second, std::move(step)}, key);
  }
  pending_records_ -= pending.records.size();
  pending_.erase(found);
}

void Aggregator::wait(const Key& key, Time until) { due_.emplace(until, key); }

void Aggregator::drop(const std::string& shard) {
  held_.erase(shard);
  for (auto at = pending_.lower_bound({shard, {}}); at != pending_.end() && at->first.first == shard;) {
    pending_records_ -= at->second.records.size();
    at = pending_.erase(at);
  }
  // An operation that is under way must not be taken for one of the next time that the shard is held.
  for (auto& [id, under_way] : under_way_) {
    if (under_way.key.first == shard) under_way.key.first.clear();
  }
  std::erase_if(due_, [&](const auto& one) { return one.second.first == shard; });
}

bool Aggregator::has_pending(const std::string& shard) const {
  const auto at = pending_.lower_bound({shard, {}});
  return at != pending_.end() && at->first.first == shard;
}

const BucketRecord* Aggregator::first_pending(const std::string& shard) const {
  const BucketRecord* first = nullptr;
  for (auto at = pending_.lower_bound({shard, {}}); at != pending_.end() && at->first.first == shard; ++at) {
    const BucketRecord& record = at->second.records.front();
    if (first == nullptr || record.position < first->position) first = &record;
  }
  return first;
}

void Aggregator::answer(std::uint64_t id, const Answer& answer, Time now) {
  auto found = under_way_.extract(id);
  if (found.empty()) return;
  const UnderWay& under_way = found.mapped();
  if (std::holds_alternative<Failed>(answer)) ++counts_.failures;
  std::visit([&](const auto& asked) { take(asked, under_way.key, answer, now); }, under_way.operation);
}

void Aggregator::take(const Discover& /*asked*/, const Key& /*key*/, const Answer& answer, Time now) {
  discovering_ = false;
  const auto* const found = std::get_if<Discovered>(&answer);
  discover_at_ = now + (found != nullptr ? options_.discover_every : options_.retry_after);
  if (found == nullptr || stopping_) return;
  LeasePlan plan = plan_leases({options_.worker, now, options_.lease_for}, found->shards, found->leases,
                               [&](const std::string& shard) { return held_.contains(shard); });
  for (LeaseChange& change : plan.take) {
    start(WriteLease{std::move(change), true});
  }
  for (ShardLease& lease : plan.erase) start(EraseLease{std::move(lease)});
}

void Aggregator::take(const WriteLease& asked, const Key& key, const Answer& answer, Time now) {
  const ShardLease& lease = asked.change.next;
  const auto* const written = std::get_if<Written>(&answer);
  const auto held = held_.find(key.first);
  if (asked.takes) {
    if (written == nullptr || *written != Written::done || stopping_) return;
    held_.try_emplace(lease.shard, Held{.lease = lease, .iterator = {}, .sequence = lease.sequence});
    // A cursor that is known from before may be older than the first record here. From such a one a record
    // may seem to change nothing.
    cursors_.clear();
    return;
  }
  if (held == held_.end()) return;
  held->second.writing = false;
  // The outcome is not known: the next attempt, on condition of the old lease, tells.
  if (written == nullptr) return;
  if (*written == Written::refused || lease.owner.empty()) return drop(key.first);
  held->second.lease = lease;
  if (!lease.finished) return;
  drop(key.first);
  // Its children can be read now.
  discover_at_ = now;
}

void Aggregator::take(const EraseLease& asked, const Key& /*key*/, const Answer& answer, Time /*now*/) {
  const auto* const written = std::get_if<Written>(&answer);
  const bool erased = written != nullptr && *written == Written::done;
  if (erased && !asked.lease.finished) ++counts_.trimmed;
}

void Aggregator::take(const ReadShard& /*asked*/, const Key& key, const Answer& answer, Time now) {
  const auto found = held_.find(key.first);
  if (found == held_.end()) return;
  Held& held = found->second;
  held.reading = false;
  const auto* const read = std::get_if<ShardRead>(&answer);
  if (read == nullptr) {
    held.read_at = now + options_.retry_after;
    return;
  }
  if (read->state == ShardRead::State::read) return add(held, *read, now);
  held.iterator.clear();
  held.read_at = now;
  if (read->state == ShardRead::State::expired) return;
  ++counts_.trimmed;
  held.sequence.clear();
}

void Aggregator::add(Held& held, const ShardRead& read, Time now) {
  held.iterator = read.iterator;
  held.ended = read.iterator.empty();
  held.at_end = read.empty;
  if (read.empty) held.complete_until = held.asked_at;
  held.read_at = now + (read.empty ? options_.poll_idle : options_.poll_busy);
  if (!read.last_sequence.empty()) held.sequence = read.last_sequence;
  if (read.newest != 0) held.newest = read.newest;
  counts_.malformed += read.malformed;
  counts_.records += read.records.size();
  pending_records_ += read.records.size();
  for (const BucketRecord& record : read.records) {
    const Key key{held.lease.shard, record.bucket};
    held.newest = std::max(held.newest, made_at(record, now));
    Pending& pending = pending_[key];
    pending.records.push_back(record);
    if (pending.busy) continue;
    pending.busy = true;
    wait(key, now + options_.batch);
  }
}

void Aggregator::take(const ReadCursor& asked, const Key& key, const Answer& answer, Time now) {
  --writing_;
  const auto* const cursor = std::get_if<std::optional<StreamCursor>>(&answer);
  if (cursor != nullptr) {
    if (cursors_.size() >= options_.most_cursors) cursors_.erase(cursors_.begin());
    cursors_.insert_or_assign(asked.bucket, *cursor);
  }
  if (pending_.contains(key)) wait(key, cursor != nullptr ? now : now + options_.retry_after);
}

void Aggregator::take(const WriteUsage& asked, const Key& key, const Answer& answer, Time now) {
  --writing_;
  const auto* const written = std::get_if<Written>(&answer);
  const bool done = written != nullptr && *written == Written::done;
  if (done) {
    cursors_.insert_or_assign(asked.bucket, asked.advance.to);
    ++counts_.writes;
    counts_.deltas += asked.advance.deltas;
    counts_.made_good += asked.advance.made_good;
    counts_.events += asked.advance.events();
  } else {
    cursors_.erase(asked.bucket);
    if (written != nullptr) ++counts_.refused;
  }
  const auto found = pending_.find(key);
  if (found == pending_.end()) return;
  if (!done) return wait(key, written != nullptr ? now : now + options_.retry_after);
  auto& records = found->second.records;
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(asked.advance.taken));
  pending_records_ -= asked.advance.taken;
  if (!records.empty()) return wait(key, now + options_.batch);
  pending_.erase(found);
}

Time Aggregator::wake_at(Time now) const {
  Time next = stopping_ ? std::numeric_limits<Time>::max() : discover_at_;
  if (discovering_) next = std::numeric_limits<Time>::max();
  for (const auto& [shard, held] : held_) {
    if (!held.writing)
      next = std::min(next, held.lease.until - options_.lease_for * (renewals - 1) / renewals);
    next = std::min(next, held.lease.until);
    if (!held.reading && !held.ended && !stopping_ && pending_records_ < options_.most_pending)
      next = std::min(next, held.read_at);
  }
  if (!due_.empty() && writing_ < options_.most_writes) next = std::min(next, due_.begin()->first);
  return std::max(next, now);
}

Time Aggregator::lag(Time now) const {
  Time oldest = now;
  for (const auto& [shard, held] : held_) {
    const BucketRecord* const first = first_pending(shard);
    if (first != nullptr) {
      oldest = std::min(oldest, made_at(*first, now));
    } else if (!held.at_end && held.newest != 0) {
      oldest = std::min(oldest, held.newest);
    }
  }
  return now - oldest;
}

Time Aggregator::complete_until() const {
  if (held_.empty() || !pending_.empty()) return 0;
  Time until = std::numeric_limits<Time>::max();
  for (const auto& [shard, held] : held_) until = std::min(until, held.complete_until);
  return until;
}

bool Aggregator::caught_up() const {
  return std::all_of(held_.begin(), held_.end(), [](const auto& one) { return one.second.at_end; });
}

}  // namespace weir::usage
