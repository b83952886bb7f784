// Changes to sets of names that are not applied yet: the children of entities, the members of plans.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace weir::table {

/// By the owner of the set: an entity, or a plan.
using NameSets = std::map<std::string, std::set<std::string>, std::less<>>;

/// Not safe for concurrent use.
class NameSetChanges {
 public:
  /// An empty owner has no set.
  void insert(const std::string& owner, const std::string& name) {
    if (owner.empty()) return;
    Changes& changes = changes_[owner];
    if (changes.removed.erase(name) == 0) changes.added.insert(name);
  }
  void erase(const std::string& owner, const std::string& name) {
    if (owner.empty()) return;
    Changes& changes = changes_[owner];
    if (changes.added.erase(name) == 0) changes.removed.insert(name);
  }
  /// Calls `visit(name)` for each name of the changed set until it returns true.
  template <class Visit>
  void visit(const NameSets& before, std::string_view owner, Visit&& visit) const {
    const auto changes = changes_.find(owner);
    if (changes != changes_.end()) {
      for (const std::string& name : changes->second.added) {
        if (visit(name)) return;
      }
    }
    const auto known = before.find(owner);
    if (known == before.end()) return;
    for (const std::string& name : known->second) {
      const bool removed = changes != changes_.end() && changes->second.removed.contains(name);
      if (!removed && visit(name)) return;
    }
  }
  void merge_into(NameSets& sets) && {
    for (auto& [owner, changes] : changes_) {
      std::set<std::string>& names = sets[owner];
      for (const std::string& name : changes.removed) names.erase(name);
      names.merge(changes.added);
      if (names.empty()) sets.erase(owner);
    }
  }

 private:
  struct Changes {
    std::set<std::string> added;
    std::set<std::string> removed;
  };
  std::map<std::string, Changes, std::less<>> changes_;
};

}  // namespace weir::table
