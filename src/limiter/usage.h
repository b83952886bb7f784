// Reads usage from a store: hours as they are stored, sums of days, the children of a parent, and who used
// the most. Written once for every store.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/maxima.h"
#include "store/usage.h"
#include "weir/catalog.h"
#include "weir/result.h"
#include "weir/usage.h"

namespace weir::limiter {

/// The rows of one query, one after the other.
class UsageRows {
 public:
  /// `cursor`: of the page to begin with.
  UsageRows(store::UsageReader& reader, const store::UsageQuery& query, std::string cursor = {})
      : reader_(reader), query_(query), next_page_(std::move(cursor)) {}

  /// Valid until the next call; null at the end.
  Result<const Usage*> next();
  /// The cursor of the page that the last row is in.
  const std::string& page() const { return page_; }

 private:
  store::UsageReader& reader_;
  const store::UsageQuery query_;
  std::string page_;
  std::string next_page_;
  std::vector<Usage> rows_;
  std::size_t at_ = 0;
  bool begun_ = false;
};

/// The sums of days that begin after the cursor. The hours of a day are contiguous.
Result<Page<Usage>> days_of_entity(store::UsageReader& reader, const store::UsageQuery& query,
                                   const Paging& paging);
/// The same without an entity: the hours of an entity lie apart, so every page reads its first day whole.
/// Memory is bounded by the page.
Result<Page<Usage>> days_of_resource(store::UsageReader& reader, store::UsageQuery query,
                                     const Paging& paging);

/// Not safe to use from several threads.
class UsageQueries {
 public:
  using Children = std::function<Result<Page<std::string>>(std::string_view parent, const Paging& paging)>;

  UsageQueries(store::UsageReader& reader, std::string_view name_space, Children children)
      : reader_(reader), name_space_(name_space), children_(std::move(children)) {}

  Result<Page<Usage>> read(const UsageFilter& filter, const Paging& paging);
  /// Orders by events if `limit` is empty. `ranked`: the most entities to compare at a time.
  Result<std::vector<UsageTotal>> top(const UsageFilter& filter, std::string_view limit, std::size_t count,
                                      std::size_t ranked = maxima::usage_ranked);

 private:
  Result<Page<Usage>> read_children(const UsageFilter& filter, const Paging& paging);
  Result<Page<Usage>> read_entity(const UsageFilter& filter, std::string_view entity, const Paging& paging);
  store::UsageQuery query_of(const UsageFilter& filter, std::string_view entity) const;

  class TopList;
  Result<void> rank_resources(const UsageFilter& filter, TopList& ranking);
  Result<void> rank_children(const UsageFilter& filter, TopList& ranking);
  Result<void> rank_entities(const UsageFilter& filter, std::size_t ranked, TopList& ranking);
  Result<UsageTotal> total_of(const UsageFilter& filter, std::string_view entity, std::string_view resource);

  store::UsageReader& reader_;
  std::string_view name_space_;
  Children children_;
};

}  // namespace weir::limiter
