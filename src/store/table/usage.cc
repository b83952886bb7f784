// Counts usage in the records of the table, and reads it.
#include <algorithm>

#include "store/table/fast_path.h"
#include "store/table/table.h"
#include "usage/page_rows.h"

namespace weir::table {
namespace {

/// The segment of the predecessor goes on: the usual case, without the general rule (usage/segment.h).
bool carry_segment(const Record& old, Record& next, bool counts, Time now) {
  const bool same = old.generation == next.generation && old.limits == next.limits;
  if (!same || !counts || !counts_in_place(old, counts, now)) return false;
  bool changed = false;
  for (std::size_t i = 0; i < next.limit_count; ++i) {
    next.balances()[i].counted = old.balances()[i].counted;
    changed = changed || next.balances()[i].consumed != old.balances()[i].consumed;
  }
  next.hour = old.hour;
  next.hour_length = old.hour_length;
  next.segment = old.segment;
  next.events = old.events + (changed ? 1 : 0);
  return true;
}

bool is_asked_for(const Record& record, const store::UsageQuery& query) {
  if (!record.counts_usage() || record.events == 0) return false;
  if (record.hour < query.from || record.hour >= query.to) return false;
  if (!query.entity.empty() && record.entity() != query.entity) return false;
  if (!query.resource.empty() && record.resource() != query.resource) return false;
  return record.name_space() == query.name_space;
}

}  // namespace

void Table::replace(Shard& shard, std::uint64_t hash, Record* next, bool counts, Time now) WEIR_NOT_ANALYSED {
  const Key key{next->name_space(), next->entity(), next->resource()};
  count_usage(shard, shard.map.find(hash, key), *next, counts, now);
  shard.map.put(hash, next, now, [&](const Record& dropped) { close(shard, dropped, now); });
}

void Table::count_usage(Shard& shard, const Record* old, Record& next, bool counts, Time now) {
  if (old != nullptr && carry_segment(*old, next, counts, now)) return;
  std::optional<bucket::State> before;
  if (old != nullptr) before = state_of(*old);
  auto step = usage::count(old != nullptr ? segment_of(*old) : std::nullopt, before ? &*before : nullptr,
                           state_of(next), now, counts, next_generation());
  const bool successor = old != nullptr && old->generation != next.generation;
  if (step.closed && !(successor && is_closed_by_backing(*old)))
    close(shard, next, *std::move(step.closed), now);
  set_segment(next, step.open);
}

/// Whether the backing has the whole segment, and closes it when it replaces or deletes the bucket.
bool Table::is_closed_by_backing(const Record& record) const { return backing_ != nullptr && !record.dirty; }

void Table::close(Shard& shard, const Record& record, Time now) {
  if (record.events == 0 || is_closed_by_backing(record)) return;
  if (auto segment = segment_of(record)) close(shard, record, *std::move(segment), now);
}

void Table::close(Shard& shard, const Record& record, usage::Segment segment, Time now) WEIR_NOT_ANALYSED {
  ClosedSegment closed{std::string(record.name_space()), std::string(record.entity()),
                       std::string(record.resource()), std::move(segment)};
  if (backing_ != nullptr) {
    shard.closed.push_back(std::move(closed));
  } else {
    shard.ledger.add(closed, now);
  }
}

store::Page<Usage> Table::usage(const store::UsageQuery& query, const usage::Position& after,
                                std::size_t limit) {
  const bool of_entity = !query.entity.empty();
  usage::PageRows rows(after, of_entity, limit);
  const auto read = [&](Shard& shard) {
    const base::Guard guard(shard.lock);
    shard.map.for_each([&](const Record& record) {
      if (is_asked_for(record, query))
        rows.add(row_of(record.entity(), record.resource(), *segment_of(record)));
    });
    shard.ledger.for_each(query, [&](const Usage& row) { rows.add(row); });
  };
  if (of_entity) {
    read(shard_of(owner_hash(token_of(query.name_space), query.entity)));
  } else {
    for (std::size_t i = 0; i < shard_count; ++i) read(shards_[i]);
  }
  return rows.page();
}

void Table::keep_usage(const store::UsageKept& kept) {
  for (std::size_t i = 0; i < shard_count; ++i) {
    const base::Guard guard(shards_[i].lock);
    shards_[i].ledger.keep(kept);
  }
}

}  // namespace weir::table
