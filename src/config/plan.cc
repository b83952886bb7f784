#include "config/plan.h"

#include "base/text.h"

namespace weir::config {

const char* name_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::add:
      return "add";
    case ChangeKind::change:
      return "change";
    case ChangeKind::remove:
      return "remove";
  }
  return "unknown";
}

Result<Plan> make_plan(const Desired& /*desired*/, const Current& /*current*/) { return Plan{}; }

std::string summary(const Plan& plan) {
  return base::join(std::to_string(plan.added), " to add, ", std::to_string(plan.changed), " to change, ",
                    std::to_string(plan.removed), " to remove, ", std::to_string(plan.unchanged),
                    " unchanged");
}

}  // namespace weir::config
