// What this process knows of the catalog: limits, parents, and that there are none. Kept until somebody
// changes it, which every process is told, or until it is old.
//
// Everything in here is as of one generation of the namespace's catalog. Each change moves the generation by
// one and tells which fields changed; whoever misses one forgets everything.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lock.h"
#include "store/catalog.h"

namespace weir::redis {

/// Safe to use from any thread.
class CatalogCache {
 public:
  using Clock = std::chrono::steady_clock;
  explicit CatalogCache(std::chrono::milliseconds keep_for) : keep_for_(keep_for) {}

  /// What is known; nothing, if it has to be asked for.
  std::optional<store::Found> find(std::string_view name_space, std::string_view entity,
                                   std::string_view resource);
  /// What was just read, as of a generation of the catalog. Returns the generation that holds now, or nothing
  /// if what was read is older than that: read again.
  std::optional<std::uint64_t> add(std::string_view name_space, std::string_view entity,
                                   std::string_view resource, std::uint64_t generation,
                                   const store::Found& found);
  /// The record that a text stands for; the same object as long as the text is the same.
  limits::LimitsRecordRef record(std::string_view name_space, std::string_view field, std::string_view text);
  /// The last record of this field that was read, whether it still holds or not; may be empty.
  limits::LimitsRecordRef last_record(std::string_view name_space, std::string_view field);

  /// A change that led to this generation.
  void changed(std::string_view name_space, std::uint64_t generation, const std::vector<std::string>& fields);
  void forget(std::string_view name_space, std::string_view entity);
  void forget_all();

  /// Stamps up to here may have been seen by buckets although the catalog does not know them any more.
  Time known(std::string_view name_space);
  void set_known(std::string_view name_space, Time stamp);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Entry {
    std::string resource;
    store::Found found;
    Clock::time_point until;
  };
  struct Shared {
    std::string text;
    limits::LimitsRecordRef record;
  };
  template <class T>
  using Map = std::unordered_map<std::string, T, Hash, std::equal_to<>>;
  struct Tenant {
    std::uint64_t generation = 0;  ///< 0: nothing is known
    Map<std::vector<Entry>> entities;
    Map<Shared> records;
    Time known = 0;
  };
  Tenant& tenant(std::string_view name_space) WEIR_REQUIRES(mutex_);

  const std::chrono::milliseconds keep_for_;
  base::Mutex mutex_;
  Map<Tenant> tenants_ WEIR_GUARDED_BY(mutex_);
  std::atomic<bool> any_known_{false};
};

}  // namespace weir::redis
