#include "store/conditional/write.h"

#include <algorithm>

namespace weir::conditional {
namespace {

using bucket::LimitState;
using bucket::State;

bool holds(const LimitState* limit, const LimitWrite& write) {
  if (write.absent && limit != nullptr) return false;
  if (write.exists && limit == nullptr) return false;
  if (write.is_rate && (limit == nullptr || limit->parameters.kind() != Kind::rate)) return false;
  if (write.at_least && (limit == nullptr || limit->tokens < *write.at_least)) return false;
  if (write.at_most && (limit == nullptr || limit->tokens > *write.at_most)) return false;
  if (write.dormant && (limit == nullptr || limit->dormant != *write.dormant)) return false;
  if (write.holds && (limit == nullptr ? bucket::Holds() : limit->holds) != *write.holds) return false;
  if (write.grants && (limit == nullptr ? bucket::Grants() : limit->grants) != *write.grants) return false;
  return true;
}

LimitState& found_or_made(State& item, const std::string& name) {
  for (LimitState& limit : item.limits) {
    if (limit.name == name) return limit;
  }
  return item.limits.emplace_back(LimitState{name, {}, 0, 0, false});
}

void apply(State& item, const LimitWrite& write) {
  if (write.effect == LimitWrite::Effect::none) return;
  if (write.effect == LimitWrite::Effect::remove) {
    std::erase_if(item.limits, [&](const LimitState& limit) { return limit.name == write.name; });
    return;
  }
  LimitState& limit = found_or_made(item, write.name);
  limit.tokens = (write.effect == LimitWrite::Effect::add ? limit.tokens : 0) + write.tokens;
  limit.consumed = (write.effect == LimitWrite::Effect::insert ? 0 : limit.consumed) + write.consumed;
  if (write.parameters) limit.parameters = *write.parameters;
  if (write.set_holds) limit.holds = *write.set_holds;
  if (write.set_grants) limit.grants = *write.set_grants;
}

}  // namespace

bool holds(const Record* item, const Write& write) {
  if (write.absent_at && item != nullptr && item->expires_at > *write.absent_at) return false;
  const bool looks_inside = write.refilled_at || write.refilled_since || write.version ||
                            write.version_since || write.generation || write.expires_since;
  if (item == nullptr && looks_inside) return false;
  if (write.refilled_at && item->refilled_at != *write.refilled_at) return false;
  if (write.refilled_since && item->refilled_at < *write.refilled_since) return false;
  if (write.version_since && item->version < *write.version_since) return false;
  if (write.version && item->version != *write.version) return false;
  if (write.generation && item->generation != *write.generation) return false;
  if (write.expires_since && item->expires_at < *write.expires_since) return false;
  return std::all_of(write.limits.begin(), write.limits.end(), [&](const LimitWrite& limit) {
    return holds(item == nullptr ? nullptr : item->find(limit.name), limit);
  });
}

bool holds(const Marker* marker, const MarkerWrite& write) {
  if (!write.sequence) return marker == nullptr;
  return marker != nullptr && marker->sequence == *write.sequence && marker->deadline == write.deadline;
}

bool holds(const Link& link, const LinkCheck& check) { return !link.moving && link.parent == check.parent; }

bool Write::tells_all() const {
  if (item || path == Path::forget) return true;
  return std::all_of(limits.begin(), limits.end(), [](const LimitWrite& limit) {
    return limit.effect == LimitWrite::Effect::set || limit.effect == LimitWrite::Effect::insert ||
           limit.effect == LimitWrite::Effect::remove;
  });
}

void apply(std::optional<Record>& item, const Write& write) {
  if (write.path == Write::Path::forget) return item.reset();
  if (write.item) {
    item = write.item;
    return;
  }
  if (!item) item.emplace();
  if (write.set_refilled_at) item->refilled_at = *write.set_refilled_at;
  if (write.set_version) item->version = *write.set_version;
  if (write.set_expires_at) item->expires_at = *write.set_expires_at;
  if (write.set_parent) item->parent = write.set_parent;
  if (write.set_counts_usage) item->counts_usage = *write.set_counts_usage;
  for (const LimitWrite& limit : write.limits) apply(*item, limit);
  if (!write.dormant) return;
  for (LimitState& limit : item->limits)
    limit.dormant =
        std::find(write.dormant->begin(), write.dormant->end(), limit.name) != write.dormant->end();
}

}  // namespace weir::conditional
