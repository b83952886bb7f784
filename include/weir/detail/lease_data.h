// The data of a lease. Not part of the public API.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/amount.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir {

class LimitReport;
struct Block;

/// Whether an adjust may leave a balance below 0. A debt is paid by refill before anything is admitted again.
enum class Debt : unsigned char {
  allowed,
  refused,  ///< where a balance does not suffice, nothing is changed: the error is `exhausted`
};

namespace detail {

enum class Ending : unsigned char { open, settled, rolled_back };
enum class LeaseVerb : unsigned char { adjust, settle, rollback, extend };

/// What a charge took of a grant (Limiter::grant), in one bucket of the chain.
struct GrantUse {
  std::uint8_t bucket = 0;
  Time end = 0;
  std::int64_t amount = 0;  ///< millitokens
  friend bool operator==(const GrantUse&, const GrantUse&) = default;
};

/// The amount of one limit that a lease has charged, or is about to charge, in each bucket of `buckets` (bit
/// i: the i-th of the chain).
struct LeaseAmount {
  std::string limit;
  std::int64_t amount = 0;  ///< millitokens
  std::uint8_t buckets = 0;
  std::uint8_t holds = 0;  ///< those of the buckets in which the limit is concurrent, and holds the amount
  /// The part of it that was taken of grants: what is given back returns to them first.
  std::vector<GrantUse> granted = {};
  friend bool operator==(const LeaseAmount&, const LeaseAmount&) = default;
};

/// The amounts of a charge and the buckets that it was made in: enough to change it later.
struct LeaseData {
  struct Bucket {
    std::string entity;
    std::uint64_t generation = 0;
  };
  std::string resource;
  std::vector<Bucket> buckets;
  std::vector<LeaseAmount> amounts;  ///< net of all changes made through this object
  Time deadline = 0;
  std::array<std::uint64_t, 2> nonce{};  ///< zero until an id is needed
  std::string id;                        ///< empty until it is made
  /// The entity whose item the store keeps the marker beside, if it is not that of the first bucket: the
  /// entity of a keyed acquire that had no limits of its own.
  std::string marker_entity = {};
  bool shared = false;           ///< an id was handed out: other processes may change the lease too
  Ending ending = Ending::open;  ///< while it is not shared
  /// Why there is no lease. Here, since a decision has either a lease or a reason, and most have a lease.
  std::shared_ptr<const Block> block = {};
};

/// Carries out the changes of a lease; implemented by a Limiter.
class LeaseKeeper {
 public:
  virtual Result<LimitReport> change(LeaseData& lease, LeaseVerb verb, std::span<const Charge> charges,
                                     Debt debt) = 0;
  virtual Result<void> extend(LeaseData& lease, Time lease_for) = 0;
  virtual Result<std::string> make_id(LeaseData& lease) = 0;

 protected:
  ~LeaseKeeper() = default;
};

}  // namespace detail
}  // namespace weir
