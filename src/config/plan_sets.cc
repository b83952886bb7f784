#include "config/plan_sets.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace weir::config {
namespace {

bool same(const PlanLimits* a, const PlanLimits* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->inherit == b->inherit &&
         std::is_permutation(a->limits.begin(), a->limits.end(), b->limits.begin(), b->limits.end());
}

/// Null: the plan has no such set. An empty resource: the set for all.
const PlanLimits* set_of(const LimitsPlan* plan, const std::string& resource) {
  if (plan == nullptr) return nullptr;
  if (resource.empty()) return plan->limits.limits.empty() ? nullptr : &plan->limits;
  const auto found = plan->resources.find(resource);
  return found == plan->resources.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<SetDifference> differences(const LimitsPlan* wanted, const LimitsPlan* stored) {
  std::set<std::string> resources{""};
  for (const LimitsPlan* const plan : {wanted, stored}) {
    if (plan == nullptr) continue;
    for (const auto& [resource, set] : plan->resources) resources.insert(resource);
  }
  const std::string& name = wanted != nullptr ? wanted->name : stored->name;
  std::vector<SetDifference> found;
  for (const std::string& resource : resources) {
    const PlanLimits* const want = set_of(wanted, resource);
    const PlanLimits* const have = set_of(stored, resource);
    if (same(want, have)) continue;
    found.push_back({base::join("plan ", name, resource.empty() ? "" : " on ", resource), have, want});
  }
  return found;
}

}  // namespace weir::config
