// The parameters of all limits of a bucket, in the form that the arithmetic needs. Immutable and shared: a
// million buckets under the same limits point to one set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/ref.h"
#include "weir/clock.h"
#include "weir/level.h"
#include "weir/limit.h"
#include "weir/report.h"

namespace weir::limits {

/// A refill rate in lowest terms: `amount` millitokens every `period` milliseconds.
struct Rate {
  std::int64_t amount;
  std::int64_t period;
  friend bool operator==(const Rate&, const Rate&) = default;
};

Rate reduced(std::int64_t amount, std::int64_t period);
/// Whether a refills more slowly than b.
bool slower(Rate a, Rate b);

/// One limit in millitokens and milliseconds, as it was set, and its rate in lowest terms. A concurrent limit
/// refills 0 every millisecond, and its burst is its capacity.
struct Parameters {
  std::int64_t capacity;
  std::int64_t burst;
  std::int64_t refill_amount;
  std::int64_t refill_period;
  Rate rate;
  Kind kind() const { return rate.amount == 0 ? Kind::concurrent : Kind::rate; }
  friend bool operator==(const Parameters&, const Parameters&) = default;
};

Parameters parameters_of(const Limit& limit);
/// Of a concurrent limit.
inline Parameters concurrent_parameters(std::int64_t capacity) { return {capacity, capacity, 0, 1, {0, 1}}; }
/// Requires parameters of a Limit.
Limit limit_of(const Parameters& parameters, Mode mode = Mode::enforce);

/// How long an empty bucket takes to hold its capacity, rounded up; 0 for a concurrent limit.
Time time_to_fill(const Parameters& parameters);
/// How long a bucket with this limit is kept after its last write, unless it is in debt: `multiplier` times
/// the time to fill it. Where burst exceeds capacity, at least the time to reach the burst plus the time to
/// fill once.
Time keep_for(const Parameters& parameters, int multiplier);

struct NamedParameters {
  std::string name;
  Parameters parameters;
  std::optional<Source> from = {};  ///< the level of a limit, in a set that was made of several levels'
  Mode mode = Mode::enforce;
  friend bool operator==(const NamedParameters&, const NamedParameters&) = default;
};

/// A set of limits, ordered by name. Safe to share between threads.
class LimitSet : public base::RefCounted<LimitSet> {
 public:
  /// Requires distinct names.
  explicit LimitSet(std::vector<NamedParameters> limits);

  std::size_t size() const { return size_; }
  const Parameters& operator[](std::size_t index) const { return limits_[index].parameters; }

  struct Entry {
    std::uint64_t name_head;  ///< see base::head_of: most names are compared by it alone
    LimitReport::Name name;   ///< its position in names()
    std::uint32_t window;     ///< seconds in which an empty bucket refills its capacity, rounded up; 0: none
    Parameters parameters;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  /// All limits in order. Loops read this pointer once, since the compiler cannot know that it does not
  /// change.
  const Entry* entries() const { return limits_.get(); }
  /// Whether a limit has this name.
  bool is(const Entry& entry, std::string_view name) const {
    if (entry.name.size != name.size() || entry.name_head != base::head_of(name)) return false;
    return name.size() <= 8 || base::same({names_.data() + entry.name.at, entry.name.size}, name);
  }
  std::string_view name(std::size_t index) const {
    return {names_.data() + limits_[index].name.at, limits_[index].name.size};
  }
  /// All names in order, concatenated.
  std::string_view names() const { return names_; }
  /// The index of a name, or -1.
  int find(std::string_view name) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (is(limits_[i], name)) return static_cast<int>(i);
    }
    return -1;
  }
  /// The longest keep_for() of any limit.
  Time keep_for(int multiplier) const;

  std::vector<NamedLimit> limits() const;
  /// The level of a limit; nothing where the set is of one level.
  std::optional<Source> source(std::size_t index) const { return limits_[index].name.source(); }
  Mode mode(std::size_t index) const { return limits_[index].name.mode(); }
  /// The limits in shadow mode, and those that are off: bit i is the i-th.
  std::uint32_t shadows() const { return shadows_; }
  std::uint32_t off() const { return off_; }
  /// The concurrent limits, in the same way.
  std::uint32_t concurrent() const { return concurrent_; }
  friend bool operator==(const LimitSet& a, const LimitSet& b) {
    return a.names_ == b.names_ && a.shadows_ == b.shadows_ && a.off_ == b.off_ &&
           std::equal(a.limits_.get(), a.limits_.get() + a.size_, b.limits_.get(), b.limits_.get() + b.size_);
  }

 private:
  std::size_t size_ = 0;
  std::uint32_t shadows_ = 0;
  std::uint32_t off_ = 0;
  std::uint32_t concurrent_ = 0;
  std::unique_ptr<Entry[]> limits_;
  std::string names_;
};

using LimitSetRef = base::Ref<const LimitSet>;

/// An equal set that is another object.
LimitSetRef copy_of(const LimitSet& set);

/// Gives a mode to all limits that enforce: that of their level.
void set_mode(std::vector<NamedLimit>& limits, Mode mode);

/// Checks names, duplicates, the number of limits and that of concurrent ones.
Result<LimitSetRef> make_limit_set(std::span<const NamedLimit> limits);

/// Fails where the set has more concurrent limits than a bucket holds.
Result<void> check_concurrent(const LimitSet& set);

/// The parameters that a store returned; nothing where no Limit has them. Stored parameters are written by
/// other programs too.
std::optional<Parameters> stored_parameters(std::int64_t capacity, std::int64_t burst, std::int64_t amount,
                                            std::int64_t period);
/// Whether stored parameters are within the range of the arithmetic: of limits, and of merged versions, whose
/// rate is not the quotient of the others.
bool can_be_merged(const Parameters& parameters);
/// A set that a store returned; null where it has no name, a bad one, one of them twice, or more than `most`.
LimitSetRef stored_set(std::vector<NamedParameters> limits, std::size_t most);

/// The limits of `own`, and those of `next` that it does not name; at most as many as a bucket holds. Each
/// limit of the result has its level: `own_level` where it had none. `left_out` counts those that did not
/// fit.
LimitSetRef inherited(const LimitSetRef& own, Source own_level, const LimitSetRef& next, Source next_level,
                      std::size_t& left_out);

/// For each name in either set, the slower rate and the smaller capacity and burst. A limit that is of
/// another kind in the other set becomes concurrent, which is the slowest rate. Either may be empty (null).
LimitSetRef lowest(const LimitSetRef& a, const LimitSetRef& b);

}  // namespace weir::limits
