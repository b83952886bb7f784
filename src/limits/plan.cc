#include "limits/plan.h"

#include "base/maxima.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::limits {

using base::invalid;
using base::quoted;

Result<void> check_plan_record(const LimitsPlan& plan) {
  if (auto name = check_plan(plan.name); !name) return name;
  // A plan with limits for some resources only needs none for all.
  if (plan.resources.empty() || !plan.limits.limits.empty()) {
    if (auto set = make_limit_set(plan.limits.limits); !set)
      return invalid("plan ", quoted(plan.name), ": ", set.error().message);
  } else if (plan.limits.inherit) {
    return invalid("plan ", quoted(plan.name),
                   " inherits, but has no limits for all resources; say inherit beside those of a resource");
  }
  if (plan.resources.size() > maxima::plan_resources) {
    return invalid("plan ", quoted(plan.name), " has limits for ", std::to_string(plan.resources.size()),
                   " resources, and ", std::to_string(maxima::plan_resources), " are allowed");
  }
  for (const auto& [resource, limits] : plan.resources) {
    if (auto name = check_resource(resource); !name) return name;
    if (auto set = make_limit_set(limits.limits); !set)
      return invalid("plan ", quoted(plan.name), " on resource ", quoted(resource), ": ",
                     set.error().message);
  }
  return {};
}

}  // namespace weir::limits
