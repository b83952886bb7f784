#include "usage/deltas.h"

#include <algorithm>

#include "base/wide.h"

namespace weir::usage {
namespace {

constexpr std::size_t digits = 40;

bool by_name(const Used& used, std::string_view limit) { return used.limit < limit; }

void add(std::vector<Used>& sum, const std::vector<Used>& amounts) {
  for (const Used& used : amounts) {
    auto at = std::lower_bound(sum.begin(), sum.end(), used.limit, by_name);
    if (at == sum.end() || at->limit != used.limit) at = sum.insert(at, {used.limit, 0});
    at->amount = base::wrapping_add(at->amount, used.amount);
  }
}

bool same_bucket(const std::optional<Counters>& a, const Counters& b) {
  return a && a->generation == b.generation;
}

/// As a cursor keeps them: without counters of 0, which a missing one stands for.
Counters to_keep(Counters counters) {
  std::erase_if(counters.amounts, [](const Used& used) { return used.amount == 0; });
  counters.counts = true;
  return counters;
}

/// Whether an image has counters that were not counted.
bool differs(const Counters& counted, const Counters& image) {
  return std::any_of(image.amounts.begin(), image.amounts.end(), [&](const Used& used) {
    const Used* const known = counted.find(used.limit);
    return used.amount != (known != nullptr ? known->amount : 0);
  });
}

/// The state of the count while it passes over records.
class Pass {
 public:
  explicit Pass(const std::optional<StreamCursor>& cursor) {
    if (!cursor) return;
    counted_ = cursor->counted;
    position_ = cursor->position;
  }
  bool passes_over(const BucketRecord& record) const { return record.position <= position_; }

  /// What the record consumed.
  std::vector<Used> take(const BucketRecord& record) {
    position_ = record.position;
    if (!record.next) {
      // Without a generation, a deleted bucket and its successor differ in nothing but this.
      if (counted_ && counted_->generation == 0) {
        forgets_ = !counted_->amounts.empty();
        counted_->amounts.clear();
      }
      return {};
    }
    std::vector<Used> deltas;
    if (record.next->counts && !record.migrates) deltas = count(record.old, *record.next);
    counted_ = *record.next;
    return deltas;
  }

  const std::string& position() const { return position_; }
  Counters counted() const { return counted_ ? to_keep(*counted_) : Counters(); }
  /// Whether the next record would be counted otherwise from the cursor of the start than from this state:
  /// after a write that was not counted came one that changed nothing, or a bucket was migrated or deleted.
  bool must_be_kept(const std::optional<StreamCursor>& cursor) const {
    if (forgets_ || !cursor || !counted_ || !counted_->counts) return forgets_;
    return differs(cursor->counted.generation == counted_->generation ? cursor->counted : Counters(),
                   *counted_);
  }
  std::size_t made_good() const { return made_good_; }

 private:
  std::vector<Used> count(const std::optional<Counters>& old, const Counters& next) {
    const bool known = same_bucket(counted_, next);
    const bool has_old = same_bucket(old, next);
    // Where the last write was no usage, it was not counted, and maybe not remembered.
    const bool from_old = has_old && (!counted_ || !old->counts);
    if (has_old && !from_old && differs(known ? *counted_ : Counters(), *old)) ++made_good_;
    const Counters* const base = from_old ? &*old : known ? &*counted_ : nullptr;
    std::vector<Used> deltas;
    for (const Used& used : next.amounts) {
      // A limit that was not in the bucket just before starts at 0, even if it once was and was counted.
      const bool joins = has_old && old->find(used.limit) == nullptr;
      const Used* const before = base != nullptr && !joins ? base->find(used.limit) : nullptr;
      const std::int64_t delta = base::wrapping_sub(used.amount, before != nullptr ? before->amount : 0);
      if (delta != 0) deltas.push_back({used.limit, delta});
    }
    return deltas;
  }

  std::optional<Counters> counted_;
  std::string position_;
  bool forgets_ = false;
  std::size_t made_good_ = 0;
};

/// The sum of an hour; null where there are too many hours already.
HourSum* sum_of(std::vector<HourSum>& sums, Time hour) {
  const auto at = std::lower_bound(sums.begin(), sums.end(), hour,
                                   [](const HourSum& sum, Time moment) { return sum.hour < moment; });
  if (at != sums.end() && at->hour == hour) return &*at;
  return sums.size() < most_hours ? &*sums.insert(at, {hour}) : nullptr;
}

/// Adds what a record consumed. False: there are too many hours or days already.
bool add(Advance& step, const BucketRecord& record, const std::vector<Used>& deltas, const Kept& kept) {
  const bool late = record.at < retention_at(record.created, kept).first_hour;
  HourSum* const of_hour = sum_of(step.sums, hour_of(late ? record.created : record.at));
  HourSum* const sum = late ? sum_of(step.days, start_of(UsageWindow::day, record.at)) : of_hour;
  if (of_hour == nullptr || sum == nullptr) return false;
  add(sum->amounts, deltas);
  ++sum->events;
  step.deltas += deltas.size();
  return true;
}

void drop_zeros(std::vector<HourSum>& sums) {
  for (HourSum& sum : sums) std::erase_if(sum.amounts, [](const Used& used) { return used.amount == 0; });
}

}  // namespace

const Used* Counters::find(std::string_view limit) const {
  const auto at = std::lower_bound(amounts.begin(), amounts.end(), limit, by_name);
  return at != amounts.end() && at->limit == limit ? &*at : nullptr;
}

std::string stream_position(std::string_view label, std::string_view sequence) {
  std::string position(label);
  position += '/';
  position.append(digits - std::min(digits, sequence.size()), '0');
  position += sequence;
  return position;
}

std::vector<Used> extract_deltas(const BucketRecord& record) { return Pass({}).take(record); }

Advance count_records(const std::optional<StreamCursor>& cursor, std::span<const BucketRecord> records,
                      const Kept& kept) {
  Advance step;
  step.from = cursor;
  Pass pass(cursor);
  for (const BucketRecord& record : records) {
    if (!pass.passes_over(record)) {
      Pass next = pass;
      const std::vector<Used> deltas = next.take(record);
      if (!deltas.empty() && !add(step, record, deltas, kept)) break;
      pass = std::move(next);
    }
    ++step.taken;
  }
  drop_zeros(step.sums);
  drop_zeros(step.days);
  step.made_good = pass.made_good();
  step.must_write = !step.sums.empty() || pass.must_be_kept(cursor);
  step.to = {pass.position(), pass.counted(), cursor ? cursor->hour : 0};
  if (!step.sums.empty()) step.to.hour = std::max(step.to.hour, step.sums.back().hour);
  return step;
}

std::uint64_t Advance::events() const {
  std::int64_t events = 0;
  for (const HourSum& sum : sums) events += sum.events;
  for (const HourSum& sum : days) events += sum.events;
  return static_cast<std::uint64_t>(events);
}

std::vector<HourWrite> writes_of(const Advance& step) {
  using Condition = HourWrite::Condition;
  // A suffix: the position with it sorts after the position itself, and before the next one.
  constexpr const char* retired = "~";
  std::vector<HourWrite> writes;
  HourWrite& last = writes.emplace_back(HourWrite{.hour = step.to.hour, .cursor = step.to});
  const bool stays = step.from && step.from->hour == step.to.hour;
  last.condition = stays ? Condition::cursor : Condition::no_cursor;
  if (stays) last.position = step.from->position;
  last.is_new = !stays;
  if (step.from && !stays) {
    writes.push_back({.hour = step.from->hour,
                      .condition = Condition::cursor,
                      .position = step.from->position,
                      .retires = step.from->position + retired,
                      .is_new = false});
  }
  for (const HourSum& sum : step.sums) {
    auto at = std::find_if(writes.begin(), writes.end(),
                           [&](const HourWrite& write) { return write.hour == sum.hour; });
    if (at == writes.end()) {
      at = writes.insert(at, {.hour = sum.hour});
      // Nothing was counted yet. A copy of this step may be shorter, and have its last hour here.
      if (!step.from) {
        at->condition = Condition::no_cursor;
        at->cursor = step.to;
        at->cursor->position += retired;
      }
    }
    at->amounts = sum.amounts;
    at->events = sum.events;
  }
  for (const HourSum& sum : step.days)
    writes.push_back(
        {.window = UsageWindow::day, .hour = sum.hour, .amounts = sum.amounts, .events = sum.events});
  return writes;
}

}  // namespace weir::usage
