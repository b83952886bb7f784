// A cache of the catalog of a remote store: limits and parents, also negative results. Entries are valid
// until they are too old, or until one of two mechanisms invalidates them:
//
// - Generations. Each change of a namespace's catalog increments its generation and notifies every process of
//   the changed fields. All entries are as of one generation; a process that misses one clears its cache.
// - Versions. A bucket that was written under newer limits has a newer version than the one that was seen
//   before the entry was read.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lock.h"
#include "store/catalog.h"

namespace weir::remote {

/// The bucket that an entry is about.
struct CacheKey {
  CacheKey(std::string_view in, std::string_view of, std::string_view on)
      : name_space(in), entity(of), resource(on) {}
  /// From one text, with a zero byte between the parts.
  // NOLINTNEXTLINE(google-explicit-constructor): the two forms are equivalent
  CacheKey(const std::string& id);

  std::string_view name_space;
  std::string_view entity;
  std::string_view resource;
};

/// Safe to use from any thread.
class CatalogCache {
 public:
  using Clock = std::chrono::steady_clock;
  /// `keep_for`: how long an entry is used before it is read again.
  explicit CatalogCache(std::chrono::milliseconds keep_for) : keep_for_(keep_for) {}

  bool keeps_catalog() const { return keep_for_.count() > 0; }
  /// A valid entry; nothing if it has to be read from the store.
  std::optional<store::Found> find(const CacheKey& key);
  /// The state of the cache when a read of the catalog began.
  struct Ticket {
    std::int64_t seen = 0;
    std::uint64_t changes = 0;
    std::string plan =
        {};  ///< that the entity had when it was read before; it is read together with the rest
  };
  /// Called before the catalog is read for a bucket; learn() takes the ticket.
  Ticket reading(const CacheKey& key);
  /// Stores what was read, as of a generation, and replaces its records by intern(). False: a later
  /// generation is known, read again.
  bool learn(const CacheKey& key, store::Found& found, const Ticket& ticket);
  /// The previous object, if the record of this level (table::level_key()) has not changed.
  limits::LimitsRecordRef intern(std::string_view name_space, std::string_view level,
                                 limits::LimitsRecordRef record);
  /// The last record of this level that was read, valid or not; may be empty.
  limits::LimitsRecordRef last_record(std::string_view name_space, std::string_view level);

  // Generations.
  /// A change led to this generation and concerns these entities; an empty one: every entity.
  void changed(std::string_view name_space, std::uint64_t generation,
               const std::vector<std::string_view>& entities);
  void forget(std::string_view name_space, std::string_view entity);
  void forget_all();
  /// Buckets may have seen stamps up to here that the catalog has lost.
  Time known(std::string_view name_space);
  void set_known(std::string_view name_space, Time stamp);

  // Versions.
  /// A bucket was seen whose version is newer than the cached entry; 0: its chain has changed.
  void distrust(const CacheKey& key, std::int64_t version);
  /// The version of the bucket up to which these records are the newest.
  std::int64_t resolved_after(const CacheKey& key, const limits::Levels& levels);
  /// This process has written the bucket under these records, as this version.
  void wrote_version(const CacheKey& key, const limits::Levels& levels, std::int64_t version);
  /// This process has changed the catalog: entries are read again, and reads under way are not kept.
  void distrust_all(std::string_view name_space);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Entry {
    std::string resource;
    store::Found found = {};  ///< generation 0: not read yet
    Clock::time_point until = {};
    std::int64_t seen = 0;   ///< the newest version of the bucket that this process has seen
    std::int64_t after = 0;  ///< `seen` when `found` was read
    bool rests_on(const limits::Levels& levels) const {
      return found.generation != 0 && found.levels == levels;
    }
  };
  template <class T>
  using Map = std::unordered_map<std::string, T, Hash, std::equal_to<>>;
  struct Tenant {
    std::uint64_t generation = 0;  ///< 0: nothing is known
    std::uint64_t changes = 0;     ///< by this process
    Map<std::vector<Entry>> entities;
    Map<limits::LimitsRecordRef> records;
    Time known = 0;
  };
  Tenant& tenant(std::string_view name_space) WEIR_REQUIRES(mutex_);
  /// Null, if there is none.
  static Entry* entry(Tenant& in, const CacheKey& key);
  static Entry& make_entry(Tenant& in, const CacheKey& key);
  static limits::LimitsRecordRef intern(Tenant& in, std::string_view level, limits::LimitsRecordRef record);

  const std::chrono::milliseconds keep_for_;
  base::Mutex mutex_;
  Map<Tenant> tenants_ WEIR_GUARDED_BY(mutex_);
  std::atomic<bool> any_known_{false};
};

}  // namespace weir::remote
