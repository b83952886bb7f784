// One ideal bucket per limit, which never expires and is never forgotten: nobody may be shown more than it
// holds.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "twins/oracle.h"

namespace weir::twins {

/// The ideal bucket of DESIGN: min(V + refill, burst), less charges, plus what is given back. It follows what
/// the real store answered, so that it judges the oracle and the store alike.
class IdealBuckets {
 public:
  enum class Step : unsigned char { looked, charged, lease };
  /// After every answer: no line may show more than the ideal holds. Empty: none does.
  std::string check(const Oracle& oracle, int resource, const Answer& answer, Step step, Time now);
  /// After every change of limits. `wide`: of a resource or the system, which an expiry may not have
  /// followed.
  void change(const Oracle& oracle, bool wide, Time now);
  /// What has no ideal any more: the clock went back, or an entity was deleted.
  void forget() { ideals_.clear(); }
  void forget(int entity);

 private:
  struct Ideal {
    Terms terms;
    std::int64_t tokens = 0;
    Time at = 0;
    std::uint64_t generation = 0;
    bool absent = false;  ///< the limit has left the set
    bool widely = false;  ///< a resource's or the system's limits changed since the bucket was written
  };
  using Key = std::tuple<int, int, int>;  // entity, resource, limit
  static void refill(Ideal& ideal, Time now);
  static void adopt(Ideal& ideal, const Terms& terms, Time now);

  std::map<Key, Ideal> ideals_;
};

}  // namespace weir::twins
