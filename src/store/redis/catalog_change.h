// One change of the catalog in Redis.
//
// The stamp of new limits is the server's time at the first read of the attempt, which lies between the
// request and its answer. Refill is claimed at the old rate up to the stamp and at the new rate after it; a
// bucket that was charged under the old limits later than that continues from its last refill.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/redis/bucket_write.h"
#include "store/redis/catalog.h"
#include "store/redis/record.h"
#include "store/remote/catalog_change.h"

namespace weir::redis {

class CatalogChange final : public remote::CatalogChange {
 public:
  CatalogChange(RedisCatalog& catalog, const store::Changes& changes)
      : remote::CatalogChange(catalog, changes),
        catalog_(catalog),
        context_(catalog.context_),
        word_(std::to_string(context_.entropy.next())) {}

 private:
  Result<bool> begin() override;
  Result<void> fence(const table::Draft& draft) override;
  void unfence(bool starts_over) override;
  Result<bool> has_bucket(const std::string& entity) override;
  Result<void> check_moved(const table::Draft& draft) override;
  Result<void> read_buckets(const table::Draft& draft) override;
  Result<bool> commit(const table::Draft& draft, const std::vector<store::AuditEvent>& events) override;

  Result<void> read_clock();
  Result<void> set_fences(std::chrono::milliseconds stay);
  /// Finds the family of an entity's buckets.
  Result<void> find_family(const std::string& entity);
  Result<std::vector<std::string>> resources_of(const std::string& entity);
  Result<bool> keep(const table::Draft& draft, const std::vector<store::AuditEvent>& events);
  Result<void> tell_buckets(const table::Draft& draft);
  Result<void> forget_buckets(const std::string& entity);
  /// The new stamps of entities, by resource; of all resources under "".
  using StampsOfEntities = std::vector<std::pair<std::string, std::map<std::string, Time>>>;
  Result<void> tell_buckets(const table::Draft& draft, const StampsOfEntities& some);
  /// A bucket that may have to adopt new limits.
  struct Adoption {
    std::string entity;
    std::string resource;
    ReadBucket read;
    Time stamp;
    Time now;
  };
  Result<std::vector<Adoption>> touch_buckets(const StampsOfEntities& some);
  std::optional<BucketWrite> adopting_write(const table::Draft& draft, const Adoption& one);
  Result<void> adopt(const table::Draft& draft, Adoption one);

  RedisCatalog& catalog_;
  Context& context_;
  std::map<std::string, std::string> families_;  ///< of entities whose buckets are affected
  std::set<std::string> fenced_;                 ///< families whose chain changes
  const std::string word_;                       ///< identifies the fences of this change
};

}  // namespace weir::redis
