// Limits, entities and the audit in Redis. The catalog of a namespace is one hash, with sorted sets beside it
// for listings; all lie in one slot, so that one script can change several of them atomically.
//
//   generation, stamp, sequence, audited   counters
//   s | r RESOURCE | e ENTITY RESOURCE | e ENTITY<space>   limits of a level
//   n ENTITY                               an entity
//   p PLAN                                 a plan
#pragma once

#include <map>
#include <string>
#include <vector>

#include "net/redis_client.h"
#include "store/executor.h"
#include "store/redis/call.h"
#include "store/remote/catalog.h"

namespace weir::redis {

/// A process uses a cached chain for at most this long before it reads it again.
inline constexpr std::chrono::hours longest_cache{1};

// Each reads a value of the catalog, and reports one that cannot be used.
/// The value of a level, by table::level_key().
limits::LimitsRecordRef read_limits(std::string_view name_space, std::string_view key, std::string_view text,
                                    store::BadRecords& bad);
Result<Entity> read_entity(std::string_view name_space, std::string_view id, std::string_view text,
                           store::BadRecords& bad);
limits::PlanRecordRef read_plan(std::string_view name_space, std::string_view name, std::string_view text,
                                store::BadRecords& bad);
Error damaged_event(std::string_view name_space, std::string_view text);

/// Safe to use from any thread. find() and limits() complete on the client's thread; everything else blocks
/// its caller.
class RedisCatalog final : public remote::Catalog, public net::RedisListener {
 public:
  /// The context must outlive the catalog.
  RedisCatalog(Context& context, std::chrono::milliseconds cache_for)
      : remote::Catalog(cache_),
        context_(context),
        cache_(std::min<std::chrono::milliseconds>(cache_for, longest_cache)) {}

  void find(std::string_view name_space, std::string_view entity, std::string_view resource,
            store::Completion<store::Found> done) override;
  void limits(std::string_view name_space, const Level& level,
              store::Completion<limits::LimitsRecordRef> done) override;
  Result<store::Page<std::string>> list(std::string_view name_space, const remote::Listing& listing,
                                        const store::Paging& paging) override;
  Result<std::map<std::string, limits::LimitsRecordRef>> limits_by_key(
      std::string_view name_space, const std::set<std::string>& keys) override;
  Result<EntitiesById> entities_by_id(std::string_view name_space, const std::set<std::string>& ids) override;
  /// Erases the ids of entities that are not children of this parent.
  Result<void> keep_children(std::string_view name_space, const std::string& parent,
                             std::vector<std::string>& ids);
  Result<PlansByName> plans_by_name(std::string_view name_space, const std::set<std::string>& names) override;
  Result<void> for_each_event(std::string_view name_space, std::string_view subject,
                              const store::Paging& paging,
                              const std::function<bool(store::AuditEvent event)>& visit) override;

  Result<void> require_client(int version) override;

  /// For the buckets: drops the cache entries of an entity that have turned out to be out of date.
  void distrust(std::string_view name_space, std::string_view entity) { cache_.forget(name_space, entity); }
  void distrust() { cache_.forget_all(); }
  /// The catalog has lost stamps up to here that buckets have seen.
  void accept(std::string_view name_space, Time stamp) { cache_.set_known(name_space, stamp); }
  /// The stamp up to which the catalog is known to have lost changes; 0: none.
  Time known(std::string_view name_space) { return cache_.known(name_space); }
  /// The last entity of an entity's chain: the family that its buckets lie in.
  Result<std::string> family_of(std::string_view name_space, std::string_view entity);

  // net::RedisListener
  void on_connected() override;
  void on_subscribed() override { cache_.forget_all(); }
  void on_message(std::string_view message) override;
  void on_unsubscribed() override { cache_.forget_all(); }
  void before_answers() override { batch_.begin(); }
  void after_answers() override { batch_.end(); }

 private:
  friend class Lookup;
  using Fields = std::map<std::string, std::string>;

  Time now() const override { return context_.time.now(); }
  Result<void> check_may_change() const override { return check_may_wait(context_); }
  Result<std::vector<store::Changed>> make_changes(const store::Changes& changes) override;
  Time keep_audit_for() const override;
  /// The values of fields of the catalog; those that do not exist are left out.
  Result<Fields> read_fields(std::string_view name_space, const std::vector<std::string>& fields);

  Context& context_;
  remote::CatalogCache cache_;
  store::CompletionBatch batch_;  ///< of the thread that handles replies

  friend class CatalogChange;
};

}  // namespace weir::redis
