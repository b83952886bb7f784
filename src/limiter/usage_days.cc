// Days as sums of hours.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "limiter/usage.h"
#include "limiter/usage_cursor.h"
#include "usage/rows.h"

namespace weir::limiter {
namespace {

constexpr char entity_days = 'e';
constexpr char resource_days = 'r';

Time day_of(Time moment) { return start_of(UsageWindow::day, moment); }

Usage empty_day(const Usage& row) {
  return {.entity = row.entity,
          .resource = row.resource,
          .window = UsageWindow::day,
          .start = day_of(row.start),
          .limits = {}};
}

Result<Time> read_day(const std::string& text) {
  if (text.empty()) return -1;
  const auto day = base::parse_digits(text);
  if (!day) return base::invalid("cursor must be what the page before returned as the next");
  return *day;
}

/// The sums of one day by entity: only the first few by name, so that memory is bounded.
class DaySums {
 public:
  void begin(std::size_t most) { most_ = most; }
  void add(const Usage& row) {
    auto known = sums_.find(row.entity);
    if (known == sums_.end()) {
      if (sums_.size() == most_ && row.entity > sums_.rbegin()->first) return;
      known = sums_.emplace(row.entity, empty_day(row)).first;
      // Its sum is incomplete, and stays out: every entity that is kept has a smaller name.
      if (sums_.size() > most_) sums_.erase(std::prev(sums_.end()));
    }
    usage::add(known->second, row);
  }
  /// Appends the sums to the page. True if it is full, and some are left.
  bool move_to(Page<Usage>& page, std::size_t limit) {
    for (auto& [entity, sum] : sums_) {
      if (page.items.size() == limit) return true;
      page.items.push_back(std::move(sum));
    }
    sums_.clear();
    return false;
  }

 private:
  std::map<std::string, Usage> sums_;
  std::size_t most_ = 0;
};

}  // namespace

Result<const Usage*> UsageRows::next() {
  while (at_ == rows_.size()) {
    if (begun_ && next_page_.empty()) return nullptr;
    page_ = next_page_;
    auto read = store::wait_for<Page<Usage>>(
        [&](auto done) { reader_.read(query_, {.cursor = page_, .limit = maxima::page}, done); });
    if (!read) return read.error();
    begun_ = true;
    rows_ = std::move(read->items);
    next_page_ = std::move(read->next);
    at_ = 0;
  }
  return &rows_[at_++];
}

Result<Page<Usage>> days_of_entity(store::UsageReader& reader, const store::UsageQuery& query,
                                   const Paging& paging) {
  // The page of the store in which the next day begins, and the last day that was returned.
  const auto cursor = read_usage_cursor(entity_days, 3, paging.cursor);
  if (!cursor) return cursor.error();
  const std::string& last_resource = (*cursor)[1];
  const auto last_day = read_day((*cursor)[2]);
  if (!last_day) return last_day.error();
  UsageRows rows(reader, query, (*cursor)[0]);
  Page<Usage> page;
  for (;;) {
    const auto row = rows.next();
    if (!row) return row.error();
    if (*row == nullptr) return page;
    const Usage& hour = **row;
    if (std::tie(hour.resource, hour.start) < std::tuple(last_resource, *last_day) ||
        (hour.resource == last_resource && day_of(hour.start) <= *last_day))
      continue;
    const bool same = !page.items.empty() && page.items.back().resource == hour.resource &&
                      page.items.back().start == day_of(hour.start);
    if (!same && page.items.size() == paging.limit) {
      const Usage& last = page.items.back();
      page.next = make_usage_cursor(entity_days, {rows.page(), last.resource, std::to_string(last.start)});
      return page;
    }
    if (!same) page.items.push_back(empty_day(hour));
    usage::add(page.items.back(), hour);
  }
}

Result<Page<Usage>> days_of_resource(store::UsageReader& reader, store::UsageQuery query,
                                     const Paging& paging) {
  const auto cursor = read_usage_cursor(resource_days, 2, paging.cursor);
  if (!cursor) return cursor.error();
  const auto last_day = read_day((*cursor)[0]);
  if (!last_day) return last_day.error();
  const std::string& last_entity = (*cursor)[1];
  query.from = std::max(query.from, *last_day);
  UsageRows rows(reader, query);
  Page<Usage> page;
  DaySums sums;
  const auto ended = [&](Page<Usage>& full) {
    const Usage& last = full.items.back();
    full.next = make_usage_cursor(resource_days, {std::to_string(last.start), last.entity});
  };
  for (Time day = -1;;) {
    const auto row = rows.next();
    if (!row) return row.error();
    if (*row == nullptr || day_of((*row)->start) != day) {
      const bool full = sums.move_to(page, paging.limit);
      if (full || (*row != nullptr && page.items.size() == paging.limit)) {
        ended(page);
        return page;
      }
      if (*row == nullptr) return page;
      day = day_of((*row)->start);
      // One more than there is room for, to know whether there are more.
      sums.begin(paging.limit - page.items.size() + 1);
    }
    if (day == *last_day && (*row)->entity <= last_entity) continue;
    sums.add(**row);
  }
}

}  // namespace weir::limiter
