#include "server/observing.h"

#include <algorithm>

namespace weir::server {

using telemetry::Outcome;

std::string loggable_path(std::string_view path) {
  constexpr std::size_t longest = 512;
  std::string out;
  std::string_view before;
  for (bool more = true; more;) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    more = end < path.size();
    // Any segment after "leases", and elsewhere a segment that looks like a misplaced lease id.
    const bool lease = before == "leases" || (segment.starts_with("w1") && segment.size() > 40);
    constexpr std::size_t shown = 8;
    out.append(lease && segment.size() > shown ? segment.substr(0, shown) : segment);
    if (lease && segment.size() > shown) out += "...";
    if (more) out += '/';
    before = segment;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  if (out.size() > longest) out.replace(longest, std::string::npos, "...");
  return out;
}

Outcome outcome_of(const Decision& decision) {
  if (decision.admitted()) return Outcome::admitted;
  return decision.never_fits() ? Outcome::never_fits : Outcome::refused;
}

}  // namespace weir::server
