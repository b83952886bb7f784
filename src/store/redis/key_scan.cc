#include "store/redis/key_scan.h"

#include <map>
#include <utility>
#include <vector>

#include "store/redis/call.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

constexpr std::string_view keys_in_a_page = "1000";

/// A slot of each primary node; -1 for a single server.
Result<std::vector<int>> slots_of_nodes(Context& context) {
  if (!context.cluster) return std::vector<int>{-1};
  auto reply = BlockingCalls(context).ask_node(-1, resp::command({"CLUSTER", "SLOTS"}));
  if (!reply) return reply.error();
  std::map<std::pair<std::string, std::int64_t>, int> slots;
  const Reply ranges = reply->get();
  for (auto range = ranges.children(); !range.at_end(); ++range) {
    auto part = range->children();
    const auto first = part.next().integer();
    part.next();
    const Reply primary = part.next();
    if (!first || !primary.is_list()) continue;
    auto where = primary.children();
    const std::string host(where.next().text());
    slots.try_emplace({host, where.next().integer().value_or(0)}, static_cast<int>(*first));
  }
  std::vector<int> found;
  for (const auto& [node, slot] : slots) found.push_back(slot);
  return found;
}

}  // namespace

std::string literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]^\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

Result<void> scan_keys(Context& context, const std::string& pattern,
                       const std::function<void(std::string_view key)>& visit) {
  const auto slots = slots_of_nodes(context);
  if (!slots) return slots.error();
  for (const int slot : *slots) {
    std::string cursor = "0";
    do {
      auto reply = BlockingCalls(context).ask_node(
          slot, resp::command({"SCAN", cursor, "MATCH", pattern, "COUNT", keys_in_a_page}));
      if (!reply) return reply.error();
      const Reply list = reply->get();
      auto at = list.children();
      cursor = at.next().text();
      for (const std::string_view key : at.next().texts()) visit(key);
    } while (!cursor.empty() && cursor != "0");
  }
  return {};
}

}  // namespace weir::redis
