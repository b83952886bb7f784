#include "decision/report.h"

#include <cstring>

#include "base/text.h"
#include "limits/names.h"

namespace weir::decision {

LimitReport::Line* report(LimitReport& report, const Link& link, std::string_view resource,
                          std::uint64_t generation, bool charged) {
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
