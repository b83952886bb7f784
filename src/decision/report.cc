#include "decision/report.h"

#include <cstring>

#include "base/text.h"
#include "limits/names.h"

namespace weir::decision {

namespace {

/// Adds the lines of a link that has limits that were left out.
[[gnu::noinline]] LimitReport::Line* report_left_out(LimitReport& report_of, Link link,
                                                     std::string_view resource, std::uint64_t generation,
                                                     bool charged) {
  const std::uint32_t left_out = link.left_out;
  link.left_out = 0;
  LimitReport::Line* const lines = report(report_of, link, resource, generation, charged);
  for (std::size_t i = 0; left_out >> i != 0; ++i) {
    if ((left_out >> i & 1U) != 0) report_of.mark_would_refuse(i, link.asked[i]);
  }
  return lines;
}

}  // namespace

LimitReport::Line* report(LimitReport& report, const Link& link, std::string_view resource,
                          std::uint64_t generation, bool charged) {
  if (link.left_out != 0) [[unlikely]]
    return report_left_out(report, link, resource, generation, charged);
  if (!link.key.empty()) return report_lines(report, link, link.key, generation, charged, link.limit_count());
  if (link.entity.size() > limits::longest_entity || resource.size() > limits::longest_resource) [[unlikely]]
    return report_lines(report, link, base::join(link.entity, resource), generation, charged,
                        link.limit_count());
  // Both names together, without a heap allocation.
  char key[limits::longest_entity + limits::longest_resource];
  std::memcpy(key, link.entity.data(), link.entity.size());
  std::memcpy(key + link.entity.size(), resource.data(), resource.size());
  return report_lines(report, link, {key, link.entity.size() + resource.size()}, generation, charged,
                      link.limit_count());
}

void report_refused(LimitReport& lines_of, const Link& link, std::string_view resource, Time now) {
  LimitReport::Line* const lines = report(lines_of, link, resource, link.generation, false);
  for (std::size_t i = 0; i < link.limit_count(); ++i) lines[i].wait = wait_of(link, i, now);
}

}  // namespace weir::decision
