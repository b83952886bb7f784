#include "bucket/grants.h"

#include <algorithm>

#include "base/maxima.h"
#include "base/wide.h"

namespace weir::bucket {
namespace {

/// No stored amount is larger: see can_be_used().
void add(Grant& grant, std::int64_t amount) {
  constexpr std::int64_t most = std::int64_t{1} << 55;
  grant.amount = std::min(base::saturating_add(grant.amount, amount), most);
}

}  // namespace

Grants spend(Grants& grants, std::int64_t amount) {
  Grants pieces;
  for (Grant& grant : grants) {
    const std::int64_t part = std::min(grant.amount, amount);
    if (part <= 0) break;
    pieces.push_back({grant.deadline, part});
    grant.amount -= part;
    amount -= part;
  }
  std::erase_if(grants, [](const Grant& grant) { return grant.amount == 0; });
  return pieces;
}

bool add_grant(Grants& grants, Time end, std::int64_t amount) {
  const auto at =
      std::find_if(grants.begin(), grants.end(), [end](const Grant& grant) { return grant.deadline >= end; });
  if (at != grants.end() && at->deadline == end) {
    add(*at, amount);
    return true;
  }
  if (grants.size() >= maxima::grants) return false;
  grants.insert(at, {end, amount});
  return true;
}

void give_back(Grants& grants, std::span<const Grant> pieces, Time now) {
  for (const Grant& piece : pieces) {
    if (piece.deadline <= now || add_grant(grants, piece.deadline, piece.amount)) continue;
    auto after = std::find_if(grants.begin(), grants.end(),
                              [&](const Grant& grant) { return grant.deadline > piece.deadline; });
    if (after != grants.begin()) --after;
    add(*after, piece.amount);
  }
}

}  // namespace weir::bucket
