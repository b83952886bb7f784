// One operation on the buckets of a chain, from command to answer. Owns itself and ends with its completion.
//
// The plain case is one call of acquire.lua. Everything else is load - decide - put: the records are read as
// of one moment of the server's clock, src/decision says what becomes of them, and that is written under the
// condition that nobody has changed them meanwhile. If somebody has, it starts over.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "decision/acquire.h"
#include "store/catalog.h"
#include "store/executor.h"
#include "store/redis/buckets.h"
#include "store/redis/call.h"

namespace weir::redis {

/// How much longer than its lease a marker stays: for a clock that is set back.
inline constexpr Time marker_margin = 60'000;

class Operation : public ScriptCall {
 public:
  Operation(RedisBuckets& buckets, std::string_view name_space, std::string_view resource,
            store::Completion<store::Progress> done);

 protected:
  /// One bucket that the operation concerns.
  struct ChainBucket {
    std::string_view entity;
    const limits::Resolution* resolution;
    std::string family;
  };
  /// What is stored of each place; nothing where a bucket is absent or has expired.
  using States = std::array<std::optional<bucket::State>, limits::max_chain>;
  enum class Step : std::uint8_t { plain, loading, writing };

  void add_bucket(std::string_view entity, const limits::Resolution* resolution, std::string_view family);
  std::string key_of(const ChainBucket& place) const;
  std::string index_of(const ChainBucket& place) const;
  /// The marker of a lease on these buckets.
  std::string lease_key(std::string_view end_of_chain, const decision::Nonce& nonce) const;
  /// Takes into account that the chain rests on this resolution and those behind it.
  void rest_on(const limits::Resolution& resolution);
  /// The last entity of a chain, whether it has limits or not.
  static std::string_view end_of_chain(std::string_view entity, const limits::Resolution& resolution);
  /// The newest stamp that a bucket may have seen without the plan being out of date.
  Time known(const ChainBucket& place) const;
  void add_links(decision::Chain& chain) const;
  /// Numbers new buckets.
  decision::NewGeneration new_generation() const;

  /// What acquire.lua is to charge: the amounts of the limits that each link names.
  void append_plan(std::string& plan, const decision::Chain& chain) const;

  /// Reads all buckets, and the marker if there is a key for it.
  void load();
  /// With what was read: decides and writes. `children` stands at the first record.
  void decide_here(Time now, Reply::Children children);
  virtual Result<decision::Next> decide(Time now, States& states, decision::Marker* marker) = 0;
  /// It was decided that nothing is to be written.
  virtual void unchanged(Time /*now*/, std::span<const ReadBucket> /*read*/) {}
  /// Starts over: something changed between reading and writing.
  virtual void restart() = 0;

  /// The limits of the plan are not the newest any more. `seen`: the stamp that a bucket has seen; 0: they
  /// have expired.
  void resolve_again(Time seen, std::size_t place);
  void finish(Result<store::Progress> result);
  /// What was seen of the buckets may not be so any more.
  void forget_spent();
  void failed(Error error) override;
  /// A bucket of format 1.
  bool found_wrong_type() override;
  /// Takes answers of load() and of the write; false: it is for the operation itself.
  bool take(const Reply& reply);

  SetsInPlan& sets() const { return buckets_.sets_; }
  bool again_allowed();

  RedisBuckets& buckets_;
  const std::string_view name_space_;
  const std::string_view resource_;
  std::vector<ChainBucket> buckets_in_chain_;
  std::string marker_;  ///< the key of the marker; empty: there is none
  /// Of the catalog that the chain comes from: the earliest of its resolutions.
  std::uint64_t catalog_generation_ = ~std::uint64_t{0};
  Step step_ = Step::plain;

 private:
  Result<std::optional<decision::Marker>> read_marker(Reply::Children& children);
  void compare_stamp(const Result<store::Found>& found);
  void write(Time now, const decision::Next& next);

  store::Completion<store::Progress> done_;
  store::Executor* const executor_ = store::Executor::here();
  std::vector<ReadBucket> read_;  ///< what the decision rests on
  std::string raw_marker_;
  int attempts_ = 0;
  Time seen_ = 0;
};

}  // namespace weir::redis
