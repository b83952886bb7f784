// Collects the rows of one page of usage.
#pragma once

#include <map>
#include <utility>

#include "usage/position.h"
#include "usage/rows.h"
#include "weir/catalog.h"

namespace weir::usage {

/// The first rows behind a position, in the order of store::UsageReader. Rows may come in any order; those of
/// the same window are summed. Never has many more rows than the page.
class PageRows {
 public:
  PageRows(Position after, bool of_entity, std::size_t limit)
      : after_(std::move(after)), of_entity_(of_entity), limit_(limit), rows_(Before{of_entity}) {}

  void add(const Usage& row) {
    if (!is_after(row, after_, of_entity_)) return;
    const auto [known, is_new] = rows_.try_emplace(position_of(row, of_entity_), row);
    if (!is_new) {
      // The first hour of a day starts with the day: what has both is the day.
      if (row.window == UsageWindow::day) known->second.window = row.window;
      return usage::add(known->second, row);
    }
    // One more than the page has, to know whether another page follows.
    if (rows_.size() > limit_ + 1) rows_.erase(std::prev(rows_.end()));
  }
  /// Whether rows that come after this one cannot be in the page.
  bool is_full_at(const Usage& row) const {
    return rows_.size() > limit_ && Before{of_entity_}(rows_.rbegin()->first, position_of(row, of_entity_));
  }
  Page<Usage> page() {
    Page<Usage> page;
    for (auto& [position, row] : rows_) {
      if (page.items.size() == limit_) {
        page.next = cursor_of(position_of(page.items.back(), of_entity_));
        break;
      }
      page.items.push_back(std::move(row));
    }
    return page;
  }

 private:
  struct Before {
    bool of_entity;
    bool operator()(const Position& a, const Position& b) const {
      const int names = a.name.compare(b.name);
      if (of_entity) return names != 0 ? names < 0 : a.start < b.start;
      return a.start != b.start ? a.start < b.start : names < 0;
    }
  };
  const Position after_;
  const bool of_entity_;
  const std::size_t limit_;
  std::map<Position, Usage, Before> rows_;
};

}  // namespace weir::usage
