#include "store/table/usage_ledger.h"

#include <algorithm>

#include "usage/rows.h"

namespace weir::table {

Usage row_of(std::string_view entity, std::string_view resource, const usage::Segment& segment) {
  Usage row{.entity = std::string(entity),
            .resource = std::string(resource),
            .start = segment.hour,
            .events = segment.events};
  for (const usage::Used& used : segment.amounts)
    row.limits.push_back({used.limit, Amount::milli(used.amount)});
  std::sort(row.limits.begin(), row.limits.end(),
            [](const UsedAmount& a, const UsedAmount& b) { return a.limit < b.limit; });
  return row;
}

void UsageLedger::add(const ClosedSegment& closed, Time now) {
  if (usage::hour_of(now) > folded_at_) fold(usage::hour_of(now));
  const usage::Retention retention = usage::retention_at(folded_at_, kept_);
  Usage row = row_of(closed.entity, closed.resource, closed.segment);
  usage::fold_into_day(row, retention);
  if (row.start >= retention.first_day) add_row(closed.name_space, row);
}

void UsageLedger::add_row(const std::string& name_space, const Usage& row) {
  const auto [known, is_new] =
      rows_.try_emplace(ByEntity{name_space, row.entity, row.resource, row.start}, row);
  if (is_new) {
    by_resource_.emplace(name_space, row.resource, row.start, row.entity);
  } else {
    usage::add(known->second, row);
  }
}

void UsageLedger::for_each(const store::UsageQuery& query,
                           const std::function<void(const Usage& row)>& visit) const {
  const std::string name_space(query.name_space);
  const std::string resource(query.resource);
  if (query.entity.empty()) {
    auto at = by_resource_.lower_bound({name_space, resource, query.from, ""});
    for (; at != by_resource_.end(); ++at) {
      const auto& [of_space, of_resource, start, entity] = *at;
      if (of_space != name_space || of_resource != resource || start >= query.to) return;
      visit(rows_.at({name_space, entity, resource, start}));
    }
    return;
  }
  const std::string entity(query.entity);
  for (auto at = rows_.lower_bound({name_space, entity, resource, 0}); at != rows_.end(); ++at) {
    const auto& [of_space, of_entity, of_resource, start] = at->first;
    if (of_space != name_space || of_entity != entity) return;
    if (!resource.empty() && of_resource != resource) return;
    if (start >= query.from && start < query.to) visit(at->second);
  }
}

void UsageLedger::erase(const ByEntity& key) {
  const auto& [name_space, entity, resource, start] = key;
  by_resource_.erase({name_space, resource, start, entity});
  rows_.erase(key);
}

void UsageLedger::fold(Time now) {
  folded_at_ = now;
  const usage::Retention retention = usage::retention_at(now, kept_);
  std::vector<std::pair<ByEntity, Usage>> old;
  for (const auto& [key, row] : rows_) {
    const bool is_hour = row.window == UsageWindow::hour;
    if (row.start < (is_hour ? retention.first_hour : retention.first_day)) old.emplace_back(key, row);
  }
  for (auto& [key, row] : old) {
    erase(key);
    usage::fold_into_day(row, retention);
    if (row.start >= retention.first_day) add_row(std::get<0>(key), row);
  }
}

}  // namespace weir::table
