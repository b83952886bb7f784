// Limits files. Reading ends for all bytes. A file that is read can be planned, and after the plan was
// applied nothing is left to plan. An error begins with the name of the file.
#include <cstdlib>
#include <string_view>

#include "config/plan.h"

namespace {

weir::config::Current applied(const weir::config::Desired& desired) {
  weir::config::Current current;
  for (const auto& [level, limits, inherit, usage] : desired.limits) {
    current.limits.push_back({.level = level, .limits = limits, .from_file = true, .inherit = inherit});
    current.limits.back().usage = usage;
    if (level.kind() != weir::Source::system) continue;
    current.limits.back().on_unavailable = desired.on_unavailable;
    current.limits.back().bucket_ttl_refill_multiplier = desired.bucket_ttl_refill_multiplier;
  }
  current.plans = desired.plans;
  for (auto& plan : current.plans) plan.from_file = true;
  for (const auto& entity : desired.entities) {
    if (!entity.declared) continue;
    current.entities.push_back({.id = entity.id, .parent = entity.parent, .cascade = entity.cascade});
    current.entities.back().plan = entity.plan;
    if (entity.name) current.entities.back().name = *entity.name;
    if (entity.metadata) current.entities.back().metadata = *entity.metadata;
  }
  return current;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto desired =
      weir::config::read_limits_file({reinterpret_cast<const char*>(data), size}, {.file = "f"});
  if (!desired) {
    if (!desired.error().message.starts_with("f:")) std::abort();
    return 0;
  }
  const auto plan = weir::config::make_plan(*desired, {});
  if (!plan) {
    // The store has no plans.
    if (plan.error().message.find(" names plan ") == std::string::npos) std::abort();
    return 0;
  }
  // A plan is one step, and a change for each of its sets.
  if (plan->steps.size() > plan->changes.size()) std::abort();
  const auto again = weir::config::make_plan(*desired, applied(*desired));
  if (!again || !again->empty()) std::abort();
  return 0;
}
