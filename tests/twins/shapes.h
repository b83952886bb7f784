// The shapes of worlds that the twins live in: a covering array in which every pair of values occurs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::twins {

/// What distinguishes one world from another. The values of each stand in shapes.cc.
enum class Factor : unsigned char {
  depth,       ///< entities in the chain
  limits,      ///< limits in each bucket
  burst,       ///< equal to capacity, or above it
  multiplier,  ///< of the expiry
  age,         ///< of the buckets that are charged
  named,       ///< which limits a request names
  keys,        ///< how acquires with an idempotency key are repeated
  leases,      ///< how leases are changed
  changes,     ///< how limits change
  request,     ///< whether limits come with the request
  inherit,     ///< whether levels inherit
  modes,       ///< whether limits have modes
  plans,       ///< whether entities have plans
  concurrent,  ///< limits in each bucket that are concurrent
  access,      ///< which entities are blocked or exempt
  rules,       ///< how far the rules for that go
  clock,       ///< how time passes
};
inline constexpr std::size_t factor_count = 17;

enum Age : int { age_new, age_existing, age_expired };
enum Named : int { named_all, named_subset, named_zeros };
enum Keys : int { keys_none, keys_at_once, keys_late, keys_after_expiry };
enum Leases : int { leases_none, leases_own, leases_other, leases_reborn };
enum Changes : int {
  changes_none,
  changes_raise,
  changes_lower,
  changes_add,
  changes_remove,
  changes_asleep,
};
enum Concurrent : int {
  concurrent_none,
  concurrent_one,
  concurrent_two,
  concurrent_full,  ///< one or two, with leases of so many lengths that not every deadline has its own entry
};
enum Accesses : int {
  access_none,
  access_blocked,
  access_parent_blocked,
  access_top_blocked,
  access_exempt,
  access_both,  ///< blocked or below a blocked one, and exempt
};
enum Rules : int {
  rules_for_good,
  rules_one_resource,
  rules_ended,  ///< by the clock
  rules_removed,
};
enum ClockSteps : int { clock_small, clock_refill, clock_expiry, clock_back, clock_ahead };

/// One row of the array: the index of a value for each factor.
struct Shape {
  std::array<int, factor_count> value{};

  int operator[](Factor factor) const { return value[static_cast<std::size_t>(factor)]; }
  int depth() const;
  int limits() const;
  int multiplier() const;
  bool burst_above() const { return (*this)[Factor::burst] == 1; }
  bool inherits() const { return (*this)[Factor::inherit] == 1; }
  bool has_modes() const { return (*this)[Factor::modes] == 1; }
  bool has_plans() const { return (*this)[Factor::plans] == 1; }
  int concurrent() const { return (*this)[Factor::concurrent]; }
  bool request_limits() const { return (*this)[Factor::request] == 1; }
  std::string text() const;
};

std::size_t values_of(Factor factor);
const char* name_of(Factor factor);
const char* name_of(Factor factor, int value);

/// Every pair of values of two factors occurs in at least one row. The same rows every time.
std::vector<Shape> covering_array();

/// How often each pair of values was met: in how many steps of one world the rarer of the two was seen.
class PairCounts {
 public:
  using Seen = std::array<std::uint64_t, factor_count>;
  void add(const Shape& shape, const Seen& seen);
  /// Whether a pair of this shape was never met, neither before nor in a world that has `seen`.
  /// `clock_goes_back`: as below.
  bool lacks(const Shape& shape, bool clock_goes_back, const Seen& seen) const;
  /// The pairs that were never met, as text; empty: none. `clock_goes_back`: whether those are wanted too.
  std::vector<std::string> missing(bool clock_goes_back) const;
  /// A line for each pair of factors: pairs, least and most.
  std::string table() const;

 private:
  static constexpr std::size_t most_values = 6;
  static std::size_t index(std::size_t f, int a, std::size_t g, int b);
  std::array<std::uint64_t, factor_count * factor_count * most_values * most_values> counts_{};
};

}  // namespace weir::twins
