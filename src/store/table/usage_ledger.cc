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

void UsageLedger::add(const ClosedSegment& closed) {
  if (closed.segment.hour > folded_at_) fold(closed.segment.hour);
  add_row(closed.name_space, row_of(closed.entity, closed.resource, closed.segment));
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
  // Whole days only, so that the row of a day never stands beside hours of the same day.
  const Time first_hour = start_of(UsageWindow::day, now - kept_.hours);
  const Time first_day = start_of(UsageWindow::day, now - kept_.days);
  std::vector<std::pair<ByEntity, Usage>> old;
  for (const auto& [key, row] : rows_) {
    if (row.start < (row.window == UsageWindow::hour ? first_hour : first_day)) old.emplace_back(key, row);
  }
  for (auto& [key, row] : old) {
    erase(key);
    row.start = start_of(UsageWindow::day, row.start);
    if (row.start < first_day) continue;
    row.window = UsageWindow::day;
    add_row(std::get<0>(key), row);
  }
}

}  // namespace weir::table
