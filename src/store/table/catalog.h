// Limits and entities in memory.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "store/catalog.h"
#include "store/lock.h"
#include "store/table/table.h"

namespace weir::table {

/// Safe to use from any thread. Every operation completes inline. Reading is rare: buckets carry what was
/// resolved until the generation moves.
class Catalog final : public store::Limits, public store::Entities {
 public:
  /// The clock must outlive the catalog. `generation` is moved by every change.
  Catalog(const Clock& clock, std::atomic<std::uint64_t>& generation)
      : clock_(clock), generation_(generation) {}
  /// The table whose buckets hold entities still; to be called once, before use.
  void attach(Table& table) { table_ = &table; }

  void write(const store::LimitsWrite& write, store::Completion<limits::LimitsRecordRef> done) override;
  void read(std::string_view name_space, const Level& level,
            store::Completion<limits::LimitsRecordRef> done) override;
  void find(std::string_view name_space, std::string_view entity, std::string_view resource,
            store::Completion<store::Found> done) override;

  void put(std::string_view name_space, const Entity& entity, store::Completion<Entity> done) override;
  void get(std::string_view name_space, std::string_view id, store::Completion<Entity> done) override;
  void erase(std::string_view name_space, std::string_view id, store::Completion<bool> done) override;
  void children(std::string_view name_space, std::string_view id,
                store::Completion<std::vector<std::string>> done) override;

 private:
  struct Tenant {
    std::map<std::string, limits::LimitsRecordRef, std::less<>> limits;  // by level_key()
    std::map<std::string, Entity, std::less<>> entities;
    std::map<std::string, std::set<std::string>, std::less<>> children;
  };

  Tenant& tenant(std::string_view name_space) WEIR_REQUIRES(mutex_);
  Result<limits::LimitsRecordRef> write_limits(const store::LimitsWrite& write) WEIR_EXCLUDES(mutex_);
  Result<Entity> put_entity(std::string_view name_space, const Entity& entity) WEIR_EXCLUDES(mutex_);
  Result<bool> erase_entity(std::string_view name_space, std::string_view id) WEIR_EXCLUDES(mutex_);
  Result<void> check_chain(const Tenant& in, const Entity& entity) const WEIR_REQUIRES(mutex_);
  Time next_stamp(Time now) WEIR_REQUIRES(mutex_);

  const Clock& clock_;
  std::atomic<std::uint64_t>& generation_;
  Table* table_ = nullptr;
  store::Mutex mutex_;
  std::map<std::string, Tenant, std::less<>> tenants_ WEIR_GUARDED_BY(mutex_);
  Time last_stamp_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::table
