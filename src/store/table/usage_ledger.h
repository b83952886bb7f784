// The closed segments of usage of a table without a backing, summed by hours and, later, by days.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "store/usage.h"
#include "usage/position.h"
#include "usage/segment.h"

namespace weir::table {

/// A segment that a bucket has closed.
struct ClosedSegment {
  std::string name_space;
  std::string entity;
  std::string resource;
  usage::Segment segment;
};

/// The segment as a row of usage.
Usage row_of(std::string_view entity, std::string_view resource, const usage::Segment& segment);

/// Not safe for concurrent use: the lock of its shard guards it.
class UsageLedger {
 public:
  void keep(const store::UsageKept& kept) { kept_ = kept; }
  /// Also folds old hours into days, once for every hour that begins; this one at once, if it is old.
  void add(const ClosedSegment& closed, Time now);
  /// Calls `visit` for every row that the query asks for.
  void for_each(const store::UsageQuery& query, const std::function<void(const Usage& row)>& visit) const;
  void erase_namespace(std::string_view name_space);

 private:
  using ByEntity = std::tuple<std::string, std::string, std::string, Time>;    // namespace, entity, resource
  using ByResource = std::tuple<std::string, std::string, Time, std::string>;  // namespace, resource; entity

  void add_row(const std::string& name_space, const Usage& row);
  void erase(const ByEntity& key);
  void fold(Time now);

  store::UsageKept kept_;
  Time folded_at_ = 0;
  std::map<ByEntity, Usage> rows_;
  std::set<ByResource> by_resource_;
};

}  // namespace weir::table
