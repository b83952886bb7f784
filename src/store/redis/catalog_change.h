// One change of the catalog: reads what it depends on, checks and computes it as every store does, and writes
// it under the condition that the catalog has not changed meanwhile; if it has, once more from the beginning.
//
// The stamp of new limits is the server's time at the first read of the attempt, which lies between the
// request and its answer. Refill is claimed at the old rate up to the stamp and at the new rate after it; a
// bucket that was charged under the old limits later than that goes on from its last refill.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/redis/catalog.h"
#include "store/redis/record.h"
#include "store/table/draft.h"

namespace weir::redis {

/// Blocks. Not safe for concurrent use.
class CatalogChange {
 public:
  CatalogChange(RedisCatalog& catalog, const store::Changes& changes)
      : catalog_(catalog),
        site_(catalog.site_),
        name_space_(changes.name_space),
        changes_(changes),
        word_(std::to_string(site_.entropy.next())) {}
  Result<std::vector<store::Changed>> run();

 private:
  /// What the changes name.
  struct Concern {
    std::set<std::string> levels;   ///< keys
    std::set<std::string> limited;  ///< entities whose limits change
    std::set<std::string> put;
    std::set<std::string> erased;
  };

  Result<std::vector<store::Changed>> attempt(bool& overtaken);
  void find_moving(const table::Draft& draft);
  Result<void> set_fences(std::chrono::milliseconds stay);
  void collect();
  Result<void> read_time();
  Result<void> read_counters();
  Result<void> read_levels(const std::set<std::string>& keys);
  Result<void> read_levels_of_erased();
  Result<void> read_family_trees();
  Result<void> read_entities(const std::set<std::string>& ids);
  Result<std::vector<std::string>> members(const std::string& key);
  Result<void> read_buckets();
  Result<void> read_levels_of_buckets(const std::string& entity);
  Result<bool> has_bucket(const std::string& entity);
  Result<void> check_descendants();
  Result<std::vector<store::Changed>> draft_all(table::Draft& draft);
  Result<void> check_moved(const table::Draft& draft);
  std::vector<store::AuditEvent> sign(const table::Draft& draft) const;
  Result<void> keep(const table::Draft& draft, const std::vector<store::AuditEvent>& events, bool& overtaken);
  Result<void> tell_buckets(const table::Draft& draft);
  Result<void> tell_buckets_of(const table::Draft& draft, const std::string& entity,
                               const std::map<std::string, Time>& stamps);
  Result<void> adopt(const table::Draft& draft, const std::string& entity, std::string_view resource,
                     ReadBucket read, Time told, Time now);
  Result<bool> put(const std::string& entity, std::string_view resource, const std::string& before,
                   const StoredBucket& bucket, Time now);
  void tell(std::size_t done, std::size_t of) const;

  RedisCatalog& catalog_;
  Site& site_;
  const std::string_view name_space_;
  const store::Changes& changes_;
  Time now_ = 0;

  Concern concern_;
  std::int64_t generation_ = 0;
  std::int64_t sequence_ = 0;
  Time stamp_ = 0;
  Time audited_to_ = 0;
  table::Tenant tenant_;
  std::set<std::string> looked_up_;              ///< entities that were read, found or not
  std::map<std::string, std::string> families_;  ///< of entities whose buckets are concerned
  std::set<std::string> fenced_;                 ///< families whose chain changes
  const std::string word_;                       ///< tells the fences of this change from others
  /// Of entities whose limits changed, by resource; an empty one: all of them.
  std::map<std::string, std::map<std::string, Time>> stamps_;
  std::set<std::string> gone_;
};

}  // namespace weir::redis
