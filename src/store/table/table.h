// The table of buckets in memory, in which in-process stores decide.
//
// Buckets lie in shards, each with a lock; all buckets of one entity lie in one shard. An operation on a
// chain locks the shards of all its buckets, in order, decides, and writes all or nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/lock.h"
#include "decision/acquire.h"
#include "store/buckets.h"
#include "store/table/backing.h"
#include "store/table/bucket_map.h"
#include "store/table/clock_watch.h"
#include "store/table/slots.h"
#include "store/table/usage_ledger.h"
#include "store/usage.h"
#include "weir/clock.h"

namespace weir::table {

struct alignas(64) Shard {
  base::SpinLock lock;
  BucketMap map WEIR_GUARDED_BY(lock);
  std::vector<std::uint64_t> dirty WEIR_GUARDED_BY(lock);   ///< hashes of dirty records; may name one twice
  std::vector<ClosedSegment> closed WEIR_GUARDED_BY(lock);  ///< since the last capture for the backing
  UsageLedger ledger WEIR_GUARDED_BY(lock);                 ///< closed segments, if there is no backing
};

/// The markers of leases: they make a repeated change or keyed acquire harmless.
class Markers {
 public:
  struct NonceHash {
    /// A limiter counts its nonces in the second half and keeps the first. Callers cannot choose either: ids
    /// of leases have a MAC, and the nonces of keyed requests are one.
    std::size_t operator()(const Nonce& nonce) const { return nonce[0] + nonce[1]; }
  };

  base::Mutex mutex;
  const Marker* find(const Nonce& nonce) const WEIR_REQUIRES(mutex);
  /// Whether markers with this deadline may have been purged already.
  bool purged(Time deadline) const WEIR_REQUIRES(mutex) { return deadline <= purged_to_; }
  /// Markers that were purged before this table existed.
  void start_purged(Time to) WEIR_REQUIRES(mutex) { purged_to_ = to; }
  const Marker& put(const Nonce& nonce, Marker marker, Time now) WEIR_REQUIRES(mutex);
  void clear() WEIR_REQUIRES(mutex);

 private:
  Time purged_to_ WEIR_GUARDED_BY(mutex) = 0;
  std::unordered_map<Nonce, Marker, NonceHash> markers_ WEIR_GUARDED_BY(mutex);
  using Expiry = std::pair<Time, Nonce>;
  // Ordered by deadline, since deadlines from a clock that was ahead must not delay the others.
  std::priority_queue<Expiry, std::vector<Expiry>, std::greater<>> expiries_ WEIR_GUARDED_BY(mutex);

 public:
  std::vector<Nonce> dirty WEIR_GUARDED_BY(mutex);  ///< changed since the last capture for the backing
};

/// A bucket in the public form.
Bucket bucket_of(const Record& record);

/// Safe to use from any thread. Every operation completes inline.
class Table final : public store::Buckets {
 public:
  /// The clock, the catalog's generation and the backing (may be null) must outlive the table.
  Table(const Clock& clock, base::HashSeed seed, std::uint64_t first_bucket_generation,
        const std::atomic<std::uint64_t>& catalog_generation, Backing* backing);

  /// The hash of the namespace.
  std::uint64_t token_of(std::string_view name_space) const override;
  bool acquire_carried(const store::Request& request, Decision& decision) override;
  bool carries_every() const override { return true; }
  void acquire(const store::Plan& plan, Decision& decision, store::Completion<store::Progress> done) override;
  void peek(const store::Plan& plan, Decision& decision, store::Completion<store::Progress> done) override;
  void change(const store::LeasePlan& plan, store::LeaseOutcome& outcome,
              store::Completion<store::Progress> done) override;
  void correct(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
               store::Completion<store::Progress> done) override;
  void list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
            store::Completion<store::Page<Bucket>> done) override;
  /// Only what is in memory: a store with a backing reads that instead.
  void list_on(std::string_view name_space, std::string_view resource, const store::Paging& paging,
               store::Completion<store::Page<Bucket>> done) override;

  /// Loads the buckets of the entity from the backing, which the next three functions do not read.
  Result<void> bring_in(std::string_view name_space, std::string_view entity);
  /// Whether the entity has a bucket, on whatever resource, that has not expired.
  bool has_bucket(std::string_view name_space, std::string_view entity);
  /// Erases every bucket of the entity.
  void forget(std::string_view name_space, std::string_view entity);
  /// Erases every bucket of the namespace that is in memory, and its usage.
  void forget_namespace(std::string_view name_space);
  /// Makes the entity's bucket on the resource `on`, or on every resource if it is empty, adopt the limits of
  /// `resolve(resource)`.
  void adopt(std::string_view name_space, std::string_view entity, std::string_view on,
             const std::function<base::Ref<limits::Resolution>(std::string_view resource)>& resolve);
  std::size_t size();
  /// Adds the namespaces of the buckets in memory.
  void add_namespaces(std::set<std::string>& names);

  /// The usage that is in memory: all of it, if there is no backing.
  store::Page<Usage> usage(const store::UsageQuery& query, const usage::Position& after, std::size_t limit);
  void keep_usage(const store::UsageKept& kept);

  /// Passes everything that changed since the last call to the sink, as a consistent snapshot: no operation
  /// is half in it.
  void capture(Sink& sink);
  /// Drops everything that the backing has too. Everything captured must have been written.
  void let_go();
  /// Markers with a deadline up to here were purged by an earlier table on the same backing.
  void start_purged(Time to);
  ClockWatch& clock_watch() { return clock_watch_; }
  const ClockWatch& clock_watch() const { return clock_watch_; }

 private:
  static constexpr std::size_t shard_count = 64;
  class Locks;

  std::uint64_t owner_hash(std::uint64_t name_space_token, std::string_view entity) const;
  Shard& shard_of(std::uint64_t owner_hash) const;
  /// The slot of a bucket, without its record.
  Slot slot_of(const store::Request& request, std::string_view entity) const;
  /// The record of a bucket, unless it has expired. Requires the shard's lock.
  static Record* find(const store::Request& request, std::string_view entity, const Slot& slot, Time now);
  void add(const store::Request& request, std::string_view entity, const limits::Resolution* resolution,
           Slots& slots) const;
  void add_chain(const store::Request& request, Slots& slots, const limits::Resolution& resolution) const;
  bool current(const limits::Resolution& resolution, Time now) const;
  bool all_current(const decision::Chain& chain, Time now) const;
  void bring_in(const decision::Link& link, const Slot& slot, RecordPtr record, Time now);
  /// Locks the shards of the chain and finds its records. False if the plan is out of date.
  Result<bool> lock(const store::Request& request, Slots& slots, Locks& locks, Time now);
  Result<bool> lock_loaded(const store::Request& request, Slots& slots, Locks& locks, Time now);
  Result<const Marker*> find_marker(const Nonce& nonce, Time now) WEIR_REQUIRES(markers_.mutex);
  /// Requires the shard's lock.
  void touch(Shard& shard, std::uint64_t hash, Record& record) WEIR_NOT_ANALYSED {
    if (backing_ == nullptr || record.dirty) return;
    record.dirty = true;
    shard.dirty.push_back(hash);
  }
  void touch(const Slot& slot) { touch(*slot.shard, slot.hash, *slot.record); }
  bool usable(const Record* record, const store::Request& request, Time now) const;

  template <class Count>
  static bool decide_in_place(const store::Request& request, Record& record, Decision& decision, Time now,
                              Count count);
  [[gnu::noinline]] static void refuse(const store::Request& request, Record& record, Decision& decision,
                                       Time now);
  [[gnu::noinline]] static bool decide_any_in_place(const store::Request& request, Record& record,
                                                    Decision& decision, Time now);
  [[gnu::noinline]] bool decide_and_touch(const store::Request& request, const Slot& slot, Record& record,
                                          Decision& decision, Time now);
  [[gnu::noinline]] bool acquire_chain(const store::Plan& plan, Decision& decision, Time now);
  class Writer;
  /// `repeated`: the marker of an acquire that was admitted before; null: there is none.
  Result<store::Progress> decide(const store::Plan& plan, Decision& decision, decision::Verb verb, Time now,
                                 const Marker* repeated = nullptr);
  Result<store::Progress> decide_once(const store::Plan& plan, Decision& decision, decision::Verb verb);
  Result<void> evaluate(const store::Request& request, Slots& slots, Time now) const;
  void put(const store::Request& request, const decision::Link& link, Slot& slot, const bucket::State& state,
           Time now);
  /// Puts a record in the place of its predecessor, expired or not, and counts the usage that it adds.
  /// Requires the shard's lock.
  void replace(Shard& shard, std::uint64_t hash, Record* next, bool counts, Time now);
  void count_usage(Shard& shard, const Record* old, Record& next, bool counts, Time now);
  bool is_closed_by_backing(const Record& record) const;
  /// Hands over the open segment of a record that is about to be dropped. Requires the shard's lock.
  void close(Shard& shard, const Record& record, Time now);
  void close(Shard& shard, const Record& record, usage::Segment segment, Time now);
  std::uint64_t next_generation() { return next_generation_.fetch_add(1, std::memory_order_relaxed); }
  Result<store::Progress> change_shared(const store::LeasePlan& plan, store::LeaseOutcome& outcome);
  Result<store::Progress> correct_once(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome);
  Result<store::Progress> correct_now(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
                                      Time now, const Marker* marker, std::optional<Marker>& next);
  void keep_marker(const Nonce& nonce, Marker marker, Time now) WEIR_REQUIRES(markers_.mutex);
  Result<store::Progress> change_lease(const store::LeasePlan& plan, store::LeaseOutcome& outcome, Time now);

  const Clock& clock_;
  const base::HashSeed seed_;
  std::atomic<std::uint64_t> next_generation_;
  const std::atomic<std::uint64_t>& catalog_generation_;
  Backing* const backing_;
  std::unique_ptr<Shard[]> shards_;
  Markers markers_;
  ClockWatch clock_watch_;
};

}  // namespace weir::table
