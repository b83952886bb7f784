// One operation on the buckets of a chain, from command to answer. Destroys itself with its completion.
//
// The plain case is one call of acquire.lua. Everything else is load - decide - put: the records are read at
// one moment of the server's clock, src/decision computes their next states, and these are written under the
// condition that the records have not changed meanwhile. If they have, the operation starts over.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "decision/acquire.h"
#include "store/catalog.h"
#include "store/executor.h"
#include "store/redis/bucket_write.h"
#include "store/redis/buckets.h"
#include "store/redis/call.h"

namespace weir::redis {

/// In place of a marker's text: only the holder knows the lease.
inline constexpr std::string_view without_marker = "-";
/// How much longer than its lease a marker is kept, in case the clock is set back.
inline constexpr Time marker_margin = 60'000;

class Operation : public ScriptCall {
 public:
  Operation(RedisBuckets& buckets, std::string_view name_space, std::string_view resource,
            store::Completion<store::Progress> done);

 protected:
  /// One bucket of the operation.
  struct ChainBucket {
    std::string_view entity;
    const limits::Resolution* resolution;
    std::string family;
  };
  /// The stored state of each bucket; nothing where it is absent or has expired.
  using States = std::array<std::optional<bucket::State>, limits::max_chain>;
  enum class Step : std::uint8_t { plain, loading, writing };

  void add_bucket(std::string_view entity, const limits::Resolution* resolution, std::string_view family);
  std::string key_of(const ChainBucket& place) const;
  std::string index_of(const ChainBucket& place) const;
  /// The marker of a lease on these buckets.
  std::string lease_key(std::string_view end_of_chain, const decision::Nonce& nonce) const;
  /// Lowers catalog_generation_ to the earliest of this resolution and its ancestors'.
  void rest_on(const limits::Resolution& resolution);
  /// The last entity of a chain, whether it has limits or not.
  static std::string_view end_of_chain(std::string_view entity, const limits::Resolution& resolution);
  /// The newest stamp that a bucket may have seen while the plan is current.
  Time known(const ChainBucket& place) const;
  void add_links(decision::Chain& chain) const;
  /// Numbers new buckets.
  decision::NewGeneration new_generation() const;

  /// Appends the plan for acquire.lua: the amounts of the limits that each link names. `counts`: whether the
  /// buckets count usage; nothing: they may or may not.
  void append_plan(std::string& plan, const decision::Chain& chain, std::optional<bool> counts) const;
  /// Whether a bucket counts usage from now on, where it is written.
  virtual bool counts(const ReadBucket& before) const = 0;

  /// Reads all buckets, and the marker if there is a key for it.
  void load();
  /// Decides on the records that were read and writes the outcome. `children` is at the first record.
  void decide_here(Time now, Reply::Children children);
  virtual Result<decision::Next> decide(Time now, States& states, decision::Marker* marker) = 0;
  /// Whether the decision is a refusal.
  virtual bool refused() const { return false; }
  /// Called when the decision writes nothing.
  virtual void unchanged(Time /*now*/, std::span<const ReadBucket> /*read*/) {}
  /// Starts over: something changed between reading and writing.
  virtual void restart() = 0;

  /// The limits of the plan are out of date. `seen`: the newer stamp that a bucket has seen; 0: they have
  /// expired.
  void resolve_again(Time seen, std::size_t place);
  void finish(Result<store::Progress> outcome);
  /// Drops the buckets from the cache of exhausted ones, since they may have changed.
  void forget_exhausted();
  void failed(Error error) override;
  /// A bucket of format 1.
  bool found_wrong_type() override;
  /// Handles the replies to load() and to the write; false: the reply is for the subclass.
  bool take(const Reply& reply);

  SetsInPlan& sets() const { return buckets_.sets_; }
  bool again_allowed();
  /// Whether others have changed the buckets so often that this operation must keep them from being charged
  /// by acquire.lua until it has written.
  bool contended() const { return attempts_ >= 3; }

  RedisBuckets& buckets_;
  const std::string_view name_space_;
  const std::string_view resource_;
  std::vector<ChainBucket> buckets_in_chain_;
  std::string marker_;      ///< the key of the marker; empty: there is none
  bool idempotent_ = true;  ///< the marker shows whether the operation has happened
  /// The catalog's generation of the chain: the earliest of its resolutions.
  std::uint64_t catalog_generation_ = ~std::uint64_t{0};
  Step step_ = Step::plain;

 private:
  /// The result, unless it denies what an earlier copy may have written.
  Result<store::Progress> confirmed(Result<store::Progress> result) const;
  Result<std::optional<decision::Marker>> read_marker(Reply::Children& children);
  void compare_stamp(const Result<store::Found>& found);
  void write(Time now, const decision::Next& next);
  void send_write(IndexedBy indexed);
  /// Handles the answer of put.lua.
  void written(std::optional<std::int64_t> code);
  /// In a cluster: enters the buckets in the index of usage, one command after the other, and writes again.
  void index(std::size_t done);
  BucketName name_of(const ChainBucket& place) const {
    return {name_space_, place.family, place.entity, resource_};
  }

  store::Completion<store::Progress> done_;
  store::Executor* const executor_ = store::Executor::here();
  std::vector<ReadBucket> read_;  ///< the records of the decision
  std::string raw_marker_;
  std::vector<BucketWrite> writes_of_buckets_;
  std::string next_marker_;  ///< empty: unchanged
  Time marker_stays_ = 0;
  Time decided_at_ = 0;
  std::size_t indexed_ = 0;
  bool in_index_ = false;  ///< the buckets are in the index of usage
  int attempts_ = 0;
  Time seen_ = 0;
};

}  // namespace weir::redis
