// What this process knows of the catalog of a store that is elsewhere: limits, parents, and that there are
// none. Kept until it is old, or until one of two things says that it does not hold any more:
//
// - Generations. Each change of a namespace's catalog moves its generation by one and tells every process
//   which fields changed. Everything in here is as of one generation; a process that misses one forgets all.
// - Versions. A bucket that was written under newer limits than are known here has a newer version than the
//   entry was read after.
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
  // NOLINTNEXTLINE(google-explicit-constructor): it says the same
  CacheKey(const std::string& id);

  std::string_view name_space;
  std::string_view entity;
  std::string_view resource;
};

/// Safe to use from any thread.
class CatalogCache {
 public:
  using Clock = std::chrono::steady_clock;
  /// `keep_for`: how long what was read is used without asking again.
  explicit CatalogCache(std::chrono::milliseconds keep_for) : keep_for_(keep_for) {}

  bool keeps_catalog() const { return keep_for_.count() > 0; }
  /// An entry that still holds; nothing, if it has to be asked for.
  std::optional<store::Found> find(const CacheKey& key);
  /// What was the case when the catalog began to be read.
  struct Ticket {
    std::int64_t seen = 0;
    std::uint64_t changes = 0;
  };
  /// Before the catalog is read for a bucket: what to hand to learn() afterwards.
  Ticket reading(const CacheKey& key);
  /// What was read, as of a generation; its records become those of intern(). False: a later generation is
  /// known, read again.
  bool learn(const CacheKey& key, store::Found& found, const Ticket& ticket);
  /// The same object as before, if the record of this level (table::level_key()) says the same as before.
  limits::LimitsRecordRef intern(std::string_view name_space, std::string_view level,
                                 limits::LimitsRecordRef record);
  /// The last record of this level that was read, whether it still holds or not; may be empty.
  limits::LimitsRecordRef last_record(std::string_view name_space, std::string_view level);

  // Generations.
  /// A change that led to this generation, and the entities that it is about; an empty one: every entity.
  void changed(std::string_view name_space, std::uint64_t generation,
               const std::vector<std::string_view>& entities);
  void forget(std::string_view name_space, std::string_view entity);
  void forget_all();
  /// Stamps up to here may have been seen by buckets although the catalog does not know them any more.
  Time known(std::string_view name_space);
  void set_known(std::string_view name_space, Time stamp);

  // Versions.
  /// A bucket of this version was seen, which is newer than what is known here; 0: its chain is another one.
  void distrust(const CacheKey& key, std::int64_t version);
  /// Up to this version of the bucket nothing is newer than these records.
  std::int64_t resolved_after(const CacheKey& key, const limits::Levels& levels);
  /// This process has written the bucket under these records, as this version.
  void wrote_version(const CacheKey& key, const limits::Levels& levels, std::int64_t version);
  /// A change of the catalog by this process: reads again, and does not keep what is being read.
  void distrust_all(std::string_view name_space);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Entry {
    std::string resource;
    store::Found found = {};  ///< of generation 0: not read yet
    Clock::time_point until = {};
    std::int64_t seen = 0;   ///< the newest version of the bucket that was met here
    std::int64_t after = 0;  ///< what it was when `found` was read
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
