#include "config/family.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "config/chains.h"
#include "config/wording.h"
#include "limits/names.h"

namespace weir::config {
namespace {

using base::join;
using base::quoted;

/// Whether the file determines the stored entity. Limits alone do not declare an entity; but one that an
/// earlier apply has put must lose a parent or a plan that the file does not give it.
bool has_a_say(const DesiredEntity& desired, const Entity* stored) {
  return desired.declared || (stored != nullptr && stored->from_file);
}

bool as_desired(const DesiredEntity& desired, const Entity& stored) {
  return desired.parent == stored.parent && desired.cascade == stored.cascade &&
         desired.plan == stored.plan && (!desired.name || *desired.name == stored.name) &&
         (!desired.metadata || *desired.metadata == stored.metadata);
}

/// The entity to store: fields that the file does not mention keep their values.
Entity entity_of(const DesiredEntity& desired, const Entity* stored) {
  Entity entity{.id = desired.id};
  if (stored != nullptr) entity = *stored;
  entity.parent = desired.parent;
  entity.cascade = desired.cascade;
  entity.plan = desired.plan;
  if (desired.name) entity.name = *desired.name;
  if (desired.metadata) entity.metadata = *desired.metadata;
  entity.from_file = true;
  return entity;
}

template <class T>
std::vector<const T*> by_id(const std::vector<T>& items) {
  std::vector<const T*> sorted;
  sorted.reserve(items.size());
  for (const T& item : items) sorted.push_back(&item);
  std::sort(sorted.begin(), sorted.end(), [](const T* a, const T* b) { return a->id < b->id; });
  return sorted;
}

}  // namespace

Result<Family> Family::make(const Desired& desired, const Current& current) {
  Family family;
  family.join(desired, current);
  if (auto arranged = family.arrange(); !arranged) return arranged.error();
  family.decide_removals(current);
  if (auto checked = family.check_depths(); !checked) return checked.error();
  family.find_leavers();
  return family;
}

void Family::join(const Desired& desired, const Current& current) {
  const auto wants = by_id(desired.entities);
  const auto stored = by_id(current.entities);
  members_.reserve(std::max(wants.size(), stored.size()));
  for (std::size_t i = 0, j = 0; i < wants.size() || j < stored.size();) {
    const bool take_want = i < wants.size() && (j == stored.size() || wants[i]->id <= stored[j]->id);
    const bool take_stored = j < stored.size() && (i == wants.size() || stored[j]->id <= wants[i]->id);
    Member member{.id = take_want ? wants[i]->id : stored[j]->id};
    if (take_want) member.desired = wants[i++];
    if (take_stored) member.stored = stored[j++];
    if (member.desired != nullptr && has_a_say(*member.desired, member.stored) &&
        (member.stored == nullptr || !as_desired(*member.desired, *member.stored))) {
      member.put = entity_of(*member.desired, member.stored);
    }
    members_.push_back(std::move(member));
  }
}

std::int32_t Family::find(std::string_view id) const {
  if (id.empty()) return no_parent;
  const auto found = index_.find(id);
  return found == index_.end() ? parent_outside : found->second;
}

bool Family::is_removed(std::string_view id) const {
  const std::int32_t index = find(id);
  return index >= 0 && at(index).removed;
}

Result<void> Family::arrange() {
  index_.reserve(members_.size());
  for (const Member& member : members_) index_.emplace(member.id, static_cast<std::int32_t>(index_.size()));
  parents_.reserve(members_.size());
  for (const Member& member : members_) {
    const Entity* const entity = member.put ? &*member.put : member.stored;
    parents_.push_back(entity == nullptr ? no_parent : find(entity->parent));
  }
  const auto name = [&](std::int32_t index) { return at(index).id; };
  for (const auto& cycle : cycles(parents_)) {
    return base::error(ErrorCode::conflict, "with what is stored, entity ", quoted(name(cycle.front())),
                       " would be its own ancestor (", cycle_text(cycle, name),
                       "); change one of these parents in the file, or what is stored");
  }
  const auto depth = depths(parents_);
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i].depth = depth[i];
  return {};
}

/// Removes entities that the file has put and does not name, from the bottom up. An entity with children, or
/// with limits that are not the file's, stays.
void Family::decide_removals(const Current& current) {
  std::vector<std::size_t> candidates;
  std::vector<std::size_t> children(members_.size());
  std::vector<std::size_t> child(members_.size());  // a child that stays
  std::unordered_map<std::string_view, const StoredLimits*> foreign;
  const auto is_candidate = [&](const Member& member) {
    return member.stored != nullptr && member.desired == nullptr && member.stored->from_file;
  };
  const auto stays = [&](std::size_t i) {
    if (parents_[i] < 0) return;
    ++children[static_cast<std::size_t>(parents_[i])];
    child[static_cast<std::size_t>(parents_[i])] = i;
  };
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (is_candidate(members_[i])) {
      candidates.push_back(i);
    } else {
      stays(i);
    }
  }
  if (candidates.empty()) return;
  for (const StoredLimits& limits : current.limits) {
    const bool of_file = limits.from_file && limits.owner == Owner::operator_;
    if (!of_file && !limits.level.entity().empty()) foreign.emplace(limits.level.entity(), &limits);
  }
  std::sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(members_[b].depth, a) <
           std::pair(members_[a].depth, b);  // the deepest first, then by id
  });
  for (const std::size_t i : candidates) {
    if (children[i] > 0) {
      keep(i, base::join("it still has children, such as ", members_[child[i]].id));
    } else if (const auto found = foreign.find(members_[i].id); found != foreign.end()) {
      keep(i, base::join("its limits (", in_words(found->second->level), ") were set by ",
                         found->second->owner == Owner::sync ? "sync" : "hand", " and would go with it"));
    } else {
      members_[i].removed = true;
    }
    if (!members_[i].removed) stays(i);
  }
}

void Family::keep(std::size_t index, const std::string& reason) {
  kept_.push_back(
      base::join("entity ", members_[index].id, " stays, although the file no longer names it: ", reason));
}

Result<void> Family::check_depths() const {
  for (const Member& member : members_) {
    const bool exists = member.stored != nullptr || member.put;
    if (!exists || member.removed || member.depth <= limits::max_chain) continue;
    const Entity& entity = member.put ? *member.put : *member.stored;
    return base::error(ErrorCode::conflict, "with what is stored, entity ", quoted(member.id), " under ",
                       quoted(entity.parent), " would be number ", std::to_string(member.depth),
                       " of its chain of parents; the most is ", std::to_string(limits::max_chain),
                       ", so choose a parent nearer to the top");
  }
  return {};
}

void Family::find_leavers() {
  for (Member& member : members_) {
    if (!member.changes_parent() || member.stored == nullptr) continue;
    std::int32_t above = find(member.stored->parent);
    // Stored entities have no cycles; the count guards against a corrupt list.
    for (std::size_t steps = 0; above >= 0 && steps < limits::max_chain; ++steps) {
      const Member& ancestor = at(above);
      if (ancestor.removed || ancestor.changes_parent()) {
        member.leaves_first = true;
        break;
      }
      above = ancestor.stored == nullptr ? no_parent : find(ancestor.stored->parent);
    }
  }
}

}  // namespace weir::config
