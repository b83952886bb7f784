// The lines of a report: the balance of each limit of a link.
#pragma once

#include "decision/chain.h"
#include "decision/wait.h"
#include "weir/report.h"

namespace weir::decision {

/// Adds a line for each limit of the link. `key`: the entity directly followed by the resource. `remaining`
/// is the balance of the link, less its amounts where it was `charged`. Waits are left at 0.
inline LimitReport::Line* report_lines(LimitReport& report, const Link& link, std::string_view key,
                                       std::uint64_t generation, bool charged, std::size_t count) {
  const limits::Resolution& resolution = *link.resolution;
  const limits::LimitSet& set = *resolution.limits;
  const auto* const entries = set.entries();
  LimitReport::Line* const lines =
      report.add_bucket(key,
                        {.generation = generation,
                         .version = resolution.stamp,
                         .named = link.named,
                         .entity_size = static_cast<std::uint16_t>(link.entity.size()),
                         .source = resolution.source,
                         .owner = resolution.owner},
                        set.names(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const bucket::Parameters& limit = entries[i].parameters;
    lines[i] = {.capacity = limit.capacity,
                .burst = limit.burst,
                .requested = link.amount[i],
                .remaining = charged ? link.held[i] - link.amount[i] : link.held[i],
                .wait = 0,
                .name = entries[i].name,
                .window = entries[i].window};
  }
  return lines;
}

/// Adds the lines of a link after a charge, or without one. `generation`: of the bucket after the decision.
LimitReport::Line* report(LimitReport& report, const Link& link, std::string_view resource,
                          std::uint64_t generation, bool charged);
/// The same with the wait of each limit that refused.
void report_refused(LimitReport& lines_of, const Link& link, std::string_view resource, Time now);

}  // namespace weir::decision
