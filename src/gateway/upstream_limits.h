// Lowers the bucket of the upstream's key to what the vendor says is left, so that every gateway stops before
// the vendor does.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "limiter/pending.h"
#include "llm/vendor_left.h"
#include "weir/report.h"

namespace weir::gateway {

class Gateway;

/// A limit of the upstream's bucket as the decision left it.
struct UpstreamLimit {
  std::string name;
  Amount remaining;
  std::chrono::seconds window{0};
};

/// The limits of this entity in a report that the vendor's fields speak of: of several with one meaning, such
/// as a minute's and a day's, that of the shortest time.
std::vector<UpstreamLimit> upstream_limits(const LimitReport& report, std::string_view entity);
/// The limits of which the vendor has less than the bucket, with what the vendor has.
std::vector<Charge> lower_ones(const std::vector<UpstreamLimit>& limits, const llm::VendorLeft& left);

/// A function that starts to lower the bucket; to be called once. The result is not awaited, and an error
/// is not repeated: the next answer of the vendor says it again.
std::function<void()> make_lowering(Gateway& gateway, limiter::Core& core, std::string_view entity,
                                    std::string_view resource, std::span<const Charge> at_most);

}  // namespace weir::gateway
