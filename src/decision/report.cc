#include "decision/report.h"

#include <cstring>

#include "base/text.h"
#include "limits/names.h"

namespace weir::decision {

namespace {

/// Requests and tokens are the usual pair. Where the compiler knows the number, it writes the lines one after
/// the other; otherwise it makes a loop for each of their fields.
LimitReport::Line* add_lines(LimitReport& report, const Link& link, std::string_view key,
                             std::uint64_t generation, bool charged) {
  const std::size_t count = link.limit_count();
  if (count == 2) return report_lines(report, link, key, generation, charged, 2);
  return report_lines(report, link, key, generation, charged, count);
}

}  // namespace

LimitReport::Line* report(LimitReport& report, const Link& link, std::string_view resource,
                          std::uint64_t generation, bool charged) {
  if (!link.key.empty()) return add_lines(report, link, link.key, generation, charged);
  if (link.entity.size() > limits::longest_entity || resource.size() > limits::longest_resource) [[unlikely]]
    return add_lines(report, link, base::join(link.entity, resource), generation, charged);
  // Both names together, without a visit to the heap.
  char key[limits::longest_entity + limits::longest_resource];
  std::memcpy(key, link.entity.data(), link.entity.size());
  std::memcpy(key + link.entity.size(), resource.data(), resource.size());
  return add_lines(report, link, {key, link.entity.size() + resource.size()}, generation, charged);
}

void report_refused(LimitReport& lines_of, const Link& link, std::string_view resource, Time now) {
  LimitReport::Line* const lines = report(lines_of, link, resource, link.generation, false);
  for (std::size_t i = 0; i < link.limit_count(); ++i) lines[i].wait = wait_of(link, i, now);
}

}  // namespace weir::decision
