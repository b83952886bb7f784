#include "config/chains.h"

#include <utility>

namespace weir::config {

std::vector<std::uint32_t> depths(std::span<const std::int32_t> parents) {
  constexpr std::uint32_t unknown = UINT32_MAX;
  constexpr std::uint32_t on_the_way = UINT32_MAX - 1;
  std::vector<std::uint32_t> depth(parents.size(), unknown);
  std::vector<std::size_t> path;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    // Walks up to a known depth, then down again. Not recursive: a chain can be as long as the list.
    auto at = static_cast<std::int32_t>(i);
    while (at >= 0 && depth[static_cast<std::size_t>(at)] == unknown) {
      depth[static_cast<std::size_t>(at)] = on_the_way;
      path.push_back(static_cast<std::size_t>(at));
      at = parents[path.back()];
    }
    std::uint32_t above = at == parent_outside ? 1 : 0;
    bool cycle = false;
    if (at >= 0) {
      above = depth[static_cast<std::size_t>(at)];
      cycle = above == on_the_way || above == in_cycle;
    }
    for (; !path.empty(); path.pop_back()) depth[path.back()] = cycle ? in_cycle : ++above;
  }
  return depth;
}

std::vector<std::vector<std::int32_t>> cycles(std::span<const std::int32_t> parents) {
  std::vector<std::vector<std::int32_t>> found;
  std::vector<std::int32_t> walked_from(parents.size(), no_parent);
  for (std::int32_t from = 0; std::cmp_less(from, parents.size()); ++from) {
    std::int32_t at = from;
    while (at >= 0 && walked_from[static_cast<std::size_t>(at)] == no_parent) {
      walked_from[static_cast<std::size_t>(at)] = from;
      at = parents[static_cast<std::size_t>(at)];
    }
    // A walk that meets itself has found a cycle; one that meets an earlier walk has found nothing new.
    if (at < 0 || walked_from[static_cast<std::size_t>(at)] != from) continue;
    std::vector<std::int32_t>& cycle = found.emplace_back();
    std::int32_t member = at;
    do {
      cycle.push_back(member);
      member = parents[static_cast<std::size_t>(member)];
    } while (member != at);
  }
  return found;
}

}  // namespace weir::config
