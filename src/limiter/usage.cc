#include "limiter/usage.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/text.h"
#include "limiter/core.h"
#include "limiter/usage_cursor.h"
#include "limits/names.h"

namespace weir::limiter {
namespace {

constexpr char children_kind = 'c';
/// The end of the year 9999: stores need not expect a later moment.
constexpr Time latest = 253'402'300'800'000;

Result<void> check_filter_names(const UsageFilter& filter) {
  for (const std::string& entity : {filter.entity, filter.parent}) {
    if (entity.empty()) continue;
    if (auto checked = limits::check_entity(entity); !checked) return checked;
  }
  return filter.resource.empty() ? Result<void>() : limits::check_resource(filter.resource);
}

/// The filter with its range cut to whole windows, or why it is wrong.
Result<UsageFilter> checked_filter(UsageFilter filter) {
  if (filter.entity.empty() && filter.parent.empty() && filter.resource.empty())
    return base::invalid(
        "usage is read of an entity, of the children of a parent, or of a resource: name one");
  if (!filter.entity.empty() && !filter.parent.empty())
    return base::invalid("usage is read of an entity or of the children of a parent, not of both");
  if (auto named = check_filter_names(filter); !named) return named.error();
  if (filter.from >= filter.to) return base::invalid("the range of usage is empty: from must be before to");
  filter.to = std::clamp<Time>(filter.to, 0, latest);
  filter.from = start_of(filter.window, std::clamp<Time>(filter.from, 0, latest));
  // A day that starts within the range is counted whole.
  const Time length = length_of(filter.window);
  filter.to = start_of(filter.window, filter.to + length - 1);
  return filter;
}

}  // namespace

store::UsageQuery UsageQueries::query_of(const UsageFilter& filter, std::string_view entity) const {
  return {.name_space = name_space_,
          .entity = entity,
          .resource = filter.resource,
          .from = filter.from,
          .to = filter.to};
}

Result<Page<Usage>> UsageQueries::read_entity(const UsageFilter& filter, std::string_view entity,
                                              const Paging& paging) {
  const store::UsageQuery query = query_of(filter, entity);
  if (filter.window == UsageWindow::day)
    return entity.empty() ? days_of_resource(reader_, query, paging) : days_of_entity(reader_, query, paging);
  return store::wait_for<Page<Usage>>([&](auto done) { reader_.read(query, paging, done); });
}

/// The cursor has the page of children, the child to continue with, and the cursor within its usage. A page
/// reads a bounded number of children, most of which may not have used anything.
Result<Page<Usage>> UsageQueries::read_children(const UsageFilter& filter, const Paging& paging) {
  const auto cursor = read_usage_cursor(children_kind, 3, paging.cursor);
  if (!cursor) return cursor.error();
  const auto& [from, resumed, inner] = std::tie((*cursor)[0], (*cursor)[1], (*cursor)[2]);
  const auto children = children_(filter.parent, {.cursor = from, .limit = maxima::usage_children});
  if (!children) return children.error();
  Page<Usage> page;
  for (const std::string& child : children->items) {
    if (child < resumed) continue;
    Paging within{.cursor = child == resumed ? inner : std::string()};
    do {
      if (page.items.size() == paging.limit) {
        page.next = make_usage_cursor(children_kind, {from, child, within.cursor});
        return page;
      }
      within.limit = paging.limit - page.items.size();
      auto part = read_entity(filter, child, within);
      if (!part) return part.error();
      std::move(part->items.begin(), part->items.end(), std::back_inserter(page.items));
      within.cursor = std::move(part->next);
    } while (!within.cursor.empty());
  }
  if (!children->next.empty()) page.next = make_usage_cursor(children_kind, {children->next, "", ""});
  return page;
}

Result<Page<Usage>> UsageQueries::read(const UsageFilter& filter, const Paging& paging) {
  return filter.parent.empty() ? read_entity(filter, filter.entity, paging) : read_children(filter, paging);
}

Result<Page<Usage>> Core::usage(const UsageFilter& filter, const Paging& paging) {
  const auto checked = checked_filter(filter);
  if (!checked) return checked.error();
  if (paging.limit < 1 || paging.limit > maxima::page)
    return base::invalid("a page holds 1 to ", std::to_string(maxima::page), " items");
  return UsageQueries(store_.usage(), name_space_,
                      [this](std::string_view parent, const Paging& page) { return children(parent, page); })
      .read(*checked, paging);
}

Result<std::vector<UsageTotal>> Core::top_usage(const UsageFilter& filter, std::string_view limit,
                                                std::size_t count) {
  const auto checked = checked_filter(filter);
  if (!checked) return checked.error();
  if (!limit.empty()) {
    if (auto named = limits::check_limit_name(limit); !named) return named.error();
  }
  if (count < 1 || count > maxima::top_usage)
    return base::invalid("the top is 1 to ", std::to_string(maxima::top_usage), " entries");
  return UsageQueries(store_.usage(), name_space_,
                      [this](std::string_view parent, const Paging& page) { return children(parent, page); })
      .top(*checked, limit, count);
}

}  // namespace weir::limiter
