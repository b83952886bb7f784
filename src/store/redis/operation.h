// One operation on the buckets of a chain, from command to answer. Owns itself and ends with its completion.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decision/chain.h"
#include "store/home.h"
#include "store/redis/buckets.h"
#include "store/redis/call.h"
#include "store/redis/workbench.h"

namespace weir::redis {

/// How much longer than its lease a marker stays: for a clock that is set back.
inline constexpr Time marker_margin = 60'000;

/// What all of them have in common: where their buckets lie, and the detour.
class Operation : public ScriptCall {
 public:
  Operation(RedisBuckets& buckets, std::string_view name_space, std::string_view resource,
            store::Completion<store::Progress> done);

 protected:
  /// One bucket that the operation concerns.
  struct Place {
    std::string_view entity;
    const limits::Resolution* resolution;
    std::string family;
  };
  enum class Step : std::uint8_t { plain, loading, writing };

  void add_place(std::string_view entity, const limits::Resolution* resolution, std::string_view family);
  std::string key_of(const Place& place) const;
  std::string index_of(const Place& place) const;
  /// The marker of a lease on these buckets.
  std::string lease_key(std::string_view end_of_chain, const table::Nonce& nonce) const;
  /// The last entity of a chain, whether it has limits or not.
  static std::string_view end_of_chain(std::string_view entity, const limits::Resolution& resolution);
  /// The newest stamp that a bucket may have seen without the plan being out of date.
  Time known(const Place& place) const;

  /// Reads all buckets, and the marker `marker` unless it is empty.
  void load(const std::string& marker);
  /// With what was read: decides again here and writes. `children` stands at the first hash.
  void decide_here(Time now, Reply::Children children);
  /// Decides; what it leaves on the bench is written.
  virtual Result<store::Progress> decide(Workbench& bench) = 0;
  /// Starts over: something changed between reading and writing.
  virtual void restart() = 0;
  virtual std::string marker_key() const { return {}; }

  /// The limits of the plan are not the newest any more. `seen`: the stamp that a bucket has seen; 0: they
  /// have expired.
  void resolve_again(Time seen, std::size_t place);
  void finish(Result<store::Progress> result);
  /// What was seen of the buckets may not be so any more.
  void forget_spent();
  void failed(Error error) override;
  /// Takes answers of load() and of the write; false: it is for the operation itself.
  bool take(const Reply& reply);

  std::uint64_t generation() const { return places_[0].resolution->catalog_generation; }
  SetsInPlan& sets() const { return buckets_.sets_; }
  bool again_allowed();

  RedisBuckets& buckets_;
  const std::string_view name_space_;
  const std::string_view resource_;
  std::vector<Place> places_;
  Step step_ = Step::plain;

 private:
  void compare_stamp(const Result<store::Found>& found);
  void write(Time now, Workbench& bench, Result<store::Progress> result);

  store::Completion<store::Progress> done_;
  store::Home* const home_ = store::Home::here();
  std::vector<std::string> raw_;  ///< the states that the decision rests on
  std::string raw_marker_;
  int attempts_ = 0;
  Time seen_ = 0;
};

}  // namespace weir::redis
