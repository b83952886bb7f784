// Traces that people can read.
#include <cstdio>

#include "checker.h"

namespace weir::model {
namespace {

using conditional::Acquire;
using conditional::Action;
using conditional::Write;

const char* name_of(Write::Path path) {
  switch (path) {
    case Write::Path::create:
      return "Create";
    case Write::Path::normal:
      return "Normal";
    case Write::Path::retry:
      return "Retry";
    case Write::Path::credit:
      return "Credit";
    case Write::Path::repair:
      return "Repair";
    default:
      break;
  }
  return "?";
}

}  // namespace

const char* text(Verdict verdict) {
  switch (verdict) {
    case Verdict::none:
      return "must resolve its limits again";
    case Verdict::done:
      return "done";
    case Verdict::refused:
      return "refused";
    case Verdict::contention:
      return "contention";
    case Verdict::unknown:
      return "outcome unknown";
    case Verdict::skipped:
      return "skipped";
  }
  return "?";
}

std::string Checker::text(NodeId id) const {
  if (id == 0) return "starts over";
  const Node& node = world_.node(id);
  if (node.action.kind == Action::Kind::read) return "will read";
  if (node.action.kind == Action::Kind::done) {
    std::string text = model::text(verdict_of(node.machine));
    if (const auto* acquire = std::get_if<Acquire>(&node.machine);
        acquire && acquire->outcome().wait.time.value_or(0) > 0) {
      text += ", wait " + std::to_string(*acquire->outcome().wait.time);
    }
    return text;
  }
  std::string text;
  for (const auto& write : node.action.transaction.writes)
    text += (text.empty() ? "" : "+") + std::string(name_of(write.path));
  if (!node.action.transaction.links.empty()) text += "+link";
  if (node.action.transaction.marker) {
    text += node.action.transaction.marker->next.fence ? "fence" : text.empty() ? "marker" : "+marker";
  }
  return text;
}

std::string Checker::text(const State& state) const {
  std::string text = "t=" + std::to_string(state.now);
  if (scenario_.moves) text += state.under_parent != 0 ? " under p" : " alone";
  if (state.mover != 0) text += ", moving";
  for (std::size_t i = 0; i < static_cast<std::size_t>(scenario_.items); ++i) {
    const ItemInfo& item = world_.info(state.items[i]);
    text += state.items[i] == 0 ? " [absent"
                                : " [refilled_at=" + std::to_string(item.refilled_at) + " g" +
                                      std::to_string(item.generation);
    if (state.items[i] != 0 && item.expires_at < 1000) text += " expires=" + std::to_string(item.expires_at);
    for (std::size_t limit = 0; limit < max_limits; ++limit) {
      if ((item.limits >> limit & 1) != 0) {
        text += " " + World::limit_name(static_cast<int>(limit)) + "=" + std::to_string(item.tokens[limit]) +
                " consumed " + std::to_string(item.consumed[limit]);
        for (const bucket::Hold& hold : item.holds[limit])
          text += " " + std::to_string(hold.amount) + " until " + std::to_string(hold.deadline);
      }
      const auto newest =
          static_cast<std::size_t>(scenario_.exact() ? world_.history(state.history).depth : 0);
      text += " (ideal " + std::to_string(state.ideal[i][limit].balance[newest]) + ")";
    }
    text += "]";
  }
  return text;
}

std::string Checker::trace(std::size_t last, const std::string& label, const State& state) {
  std::vector<std::size_t> path;
  for (std::size_t at = last; at != 0; at = parents_[at]) path.push_back(at);
  std::string result = "      " + text(states_[0]) + "\n";
  const auto line = [&](const std::string& what, const State& then) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "  %-58s", what.c_str());
    result += (what.size() > 58 ? "  " + what + "\n" + std::string(60, ' ') : std::string(buffer)) +
              text(then) + "\n";
  };
  labels_ = true;
  for (std::size_t at = path.size(); at-- > 0;) {
    expand(states_[parents_[path[at]]]);
    for (const Successor& successor : successors_) {
      if (std::memcmp(&successor.state, &states_[path[at]], sizeof(State)) != 0) continue;
      line(successor.label, successor.state);
      break;
    }
  }
  line(label, state);
  labels_ = false;
  return result;
}

}  // namespace weir::model
