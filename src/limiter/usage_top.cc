// The entities or resources with the largest sums.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/wide.h"
#include "limiter/usage.h"
#include "usage/rows.h"

namespace weir::limiter {

/// The first few by amount. Names are kept, and no rows: those of the result are read again.
class UsageQueries::TopList {
 public:
  TopList(std::string_view limit, std::size_t most) : limit_(limit), most_(most) {}

  struct Place {
    std::string entity;
    std::string resource;
    std::int64_t amount = 0;
    /// The largest amount first, equals by name.
    friend bool operator<(const Place& a, const Place& b) {
      return std::tie(b.amount, a.entity, a.resource) < std::tie(a.amount, b.entity, b.resource);
    }
  };

  /// What decides, of one row; nothing if the limit was not used.
  template <class Row>
  std::optional<std::int64_t> amount_of(const Row& row) const {
    if (limit_.empty()) return row.events;
    const auto used = std::find_if(row.limits.begin(), row.limits.end(),
                                   [&](const UsedAmount& one) { return one.limit == limit_; });
    if (used == row.limits.end()) return std::nullopt;
    return used->amount.millitokens();
  }
  void offer(Place place) {
    const auto at = std::upper_bound(places_.begin(), places_.end(), place);
    if (at == places_.end() && places_.size() == most_) return;
    places_.insert(at, std::move(place));
    if (places_.size() > most_) places_.pop_back();
  }
  const std::vector<Place>& places() const { return places_; }

 private:
  std::string_view limit_;
  std::size_t most_;
  std::vector<Place> places_;
};

namespace {

struct LimitSum {
  std::int64_t amount = 0;
  bool used = false;
  void add(std::optional<std::int64_t> more) {
    if (!more) return;
    amount = base::wrapping_add(amount, *more);
    used = true;
  }
};

}  // namespace

/// Rows of one resource are contiguous.
Result<void> UsageQueries::rank_resources(const UsageFilter& filter, TopList& ranking) {
  UsageRows rows(reader_, query_of(filter, filter.entity));
  std::string resource;
  LimitSum sum;
  for (;;) {
    const auto row = rows.next();
    if (!row) return row.error();
    if (*row == nullptr || (*row)->resource != resource) {
      if (sum.used) ranking.offer({filter.entity, resource, sum.amount});
      if (*row == nullptr) return {};
      resource = (*row)->resource;
      sum = {};
    }
    sum.add(ranking.amount_of(**row));
  }
}

Result<void> UsageQueries::rank_children(const UsageFilter& filter, TopList& ranking) {
  Paging paging{.cursor = {}, .limit = maxima::page};
  do {
    auto children = children_(filter.parent, paging);
    if (!children) return children.error();
    for (const std::string& child : children->items) {
      UsageRows rows(reader_, query_of(filter, child));
      LimitSum sum;
      for (;;) {
        const auto row = rows.next();
        if (!row) return row.error();
        if (*row == nullptr) break;
        sum.add(ranking.amount_of(**row));
      }
      if (sum.used) ranking.offer({child, filter.resource, sum.amount});
    }
    paging.cursor = std::move(children->next);
  } while (!paging.cursor.empty());
  return {};
}

/// The rows of an entity lie apart, so the sums of all entities grow together. If there are too many, the
/// first by name are summed, and the range is read again for the others.
Result<void> UsageQueries::rank_entities(const UsageFilter& filter, std::size_t ranked, TopList& ranking) {
  std::string after;
  for (bool more = true; more;) {
    more = false;
    std::map<std::string, std::int64_t> sums;
    UsageRows rows(reader_, query_of(filter, {}));
    for (;;) {
      const auto row = rows.next();
      if (!row) return row.error();
      if (*row == nullptr) break;
      const auto amount = ranking.amount_of(**row);
      const std::string& entity = (*row)->entity;
      if (!amount || entity <= after) continue;
      if (sums.size() == ranked && entity > sums.rbegin()->first) {
        more = true;
        continue;
      }
      std::int64_t& sum = sums[entity];
      sum = base::wrapping_add(sum, *amount);
      if (sums.size() <= ranked) continue;
      sums.erase(std::prev(sums.end()));
      more = true;
    }
    if (sums.empty()) break;
    after = sums.rbegin()->first;
    for (const auto& [entity, sum] : sums) ranking.offer({entity, filter.resource, sum});
  }
  return {};
}

Result<UsageTotal> UsageQueries::total_of(const UsageFilter& filter, std::string_view entity,
                                          std::string_view resource) {
  UsageFilter one = filter;
  one.resource = resource;
  UsageRows rows(reader_, query_of(one, entity));
  UsageTotal total{
      .entity = std::string(entity), .resource = std::string(resource), .limits = {}, .series = {}};
  std::map<std::pair<Time, UsageWindow>, Usage> series;
  for (;;) {
    const auto row = rows.next();
    if (!row) return row.error();
    if (*row == nullptr) break;
    const UsageWindow window = filter.window == UsageWindow::day ? filter.window : (*row)->window;
    const Time start = start_of(window, (*row)->start);
    Usage& sum = series[{start, window}];
    sum.window = window;
    sum.start = start;
    usage::add(sum, **row);
    usage::add(total.limits, (*row)->limits);
    total.events += (*row)->events;
  }
  for (auto& [start, sum] : series) {
    sum.entity = total.entity;
    sum.resource = total.resource;
    total.series.push_back(std::move(sum));
  }
  return total;
}

Result<std::vector<UsageTotal>> UsageQueries::top(const UsageFilter& filter, std::string_view limit,
                                                  std::size_t count, std::size_t ranked) {
  TopList ranking(limit, count);
  auto done = !filter.entity.empty()   ? rank_resources(filter, ranking)
              : !filter.parent.empty() ? rank_children(filter, ranking)
                                       : rank_entities(filter, ranked, ranking);
  if (!done) return done.error();
  // The totals include usage that was counted meanwhile, so they decide the order.
  std::vector<std::pair<TopList::Place, UsageTotal>> totals;
  for (const TopList::Place& place : ranking.places()) {
    auto total = total_of(filter, place.entity, place.resource);
    if (!total) return total.error();
    const std::int64_t amount = ranking.amount_of(*total).value_or(0);
    totals.emplace_back(TopList::Place{place.entity, place.resource, amount}, *std::move(total));
  }
  std::sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<UsageTotal> top;
  for (auto& [place, total] : totals) top.push_back(std::move(total));
  return top;
}

}  // namespace weir::limiter
