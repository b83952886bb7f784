// Limits, entities and the audit in Redis. The catalog of a namespace is one hash, with sorted sets beside it
// for listings; all lie in one slot, so that changes of several things happen together.
//
//   generation, stamp, sequence, audited   counters
//   s | r RESOURCE | e ENTITY RESOURCE | e ENTITY<space>   limits of a level
//   n ENTITY                               an entity
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "net/redis_client.h"
#include "store/catalog.h"
#include "store/home.h"
#include "store/redis/cache.h"
#include "store/redis/call.h"

namespace weir::redis {

/// A process uses a cached chain for at most this long before it reads it again.
inline constexpr std::chrono::hours longest_cache{1};

/// Safe to use from any thread. What takes one command completes on the client's thread: what resolutions
/// need, limits, an entity, children, the audit. What takes several (changes, listings) blocks its caller and
/// completes there; asked inside a completion on the client's thread, it fails.
class RedisCatalog final : public store::Catalog, public net::RedisListener {
 public:
  /// The site must outlive the catalog.
  RedisCatalog(Site& site, std::chrono::milliseconds cache_for)
      : site_(site), cache_(std::min<std::chrono::milliseconds>(cache_for, longest_cache)) {}

  void change(const store::Changes& changes, store::Completion<std::vector<store::Changed>> done) override;
  void find(std::string_view name_space, std::string_view entity, std::string_view resource,
            store::Completion<store::Found> done) override;
  void limits(std::string_view name_space, const Level& level,
              store::Completion<limits::LimitsRecordRef> done) override;
  void list_limits(std::string_view name_space, const store::LimitsFilter& filter,
                   const store::Paging& paging,
                   store::Completion<store::Page<store::StoredLimitsItem>> done) override;
  void entity(std::string_view name_space, std::string_view id, store::Completion<Entity> done) override;
  void children(std::string_view name_space, std::string_view id, const store::Paging& paging,
                store::Completion<store::Page<std::string>> done) override;
  void entities(std::string_view name_space, const store::Paging& paging,
                store::Completion<store::Page<Entity>> done) override;
  void audit(std::string_view name_space, std::string_view subject, const store::Paging& paging,
             store::Completion<store::Page<store::AuditEvent>> done) override;

  /// For the buckets: forget what is cached about an entity, which has turned out to be old.
  void distrust(std::string_view name_space, std::string_view entity) { cache_.forget(name_space, entity); }
  void distrust() { cache_.forget_all(); }
  /// Stamps up to here are not to be found in the catalog any more, although buckets have seen them.
  void accept(std::string_view name_space, Time stamp) { cache_.set_known(name_space, stamp); }
  /// Up to which stamp the catalog is known to have lost something; 0: nothing.
  Time known(std::string_view name_space) { return cache_.known(name_space); }
  /// The last entity of the chain of an entity: the family that its buckets lie in.
  Result<std::string> family_of(std::string_view name_space, std::string_view entity);

  // net::RedisListener
  void on_connected() override;
  void on_subscribed() override { cache_.forget_all(); }
  void on_message(std::string_view message) override;
  void on_unsubscribed() override { cache_.forget_all(); }
  void before_answers() override { gathering_.begin(); }
  void after_answers() override { gathering_.end(); }

 private:
  friend class Lookup;
  using Fields = std::map<std::string, std::string>;

  Result<limits::LimitsRecordRef> limits_of(const std::string& name_space, const Level& level,
                                            const Result<Reply>& reply);
  Result<store::Page<store::StoredLimitsItem>> list_limits_now(std::string_view name_space,
                                                               const store::LimitsFilter& filter,
                                                               const store::Paging& paging);
  static std::string page_command(const std::string& key, const store::Paging& paging);
  static store::Page<std::string> page_of(const Reply& reply, std::size_t limit);
  Result<store::Page<std::string>> page_now(const std::string& key, const store::Paging& paging);
  Time keep_audit_for() const;
  Result<store::Page<Entity>> entities_now(std::string_view name_space, const store::Paging& paging);
  /// The values of fields of the catalog; those that do not exist are left out.
  Result<Fields> read_fields(std::string_view name_space, const std::vector<std::string>& fields);

  Site& site_;
  CatalogCache cache_;
  store::Gathering gathering_;  ///< the thread's on which calls are answered
  std::mutex changing_;         ///< changes of this process do not get in each other's way

  friend class CatalogChange;
};

}  // namespace weir::redis
