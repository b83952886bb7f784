// The entities of a plan: which are put and which removed, their parents afterwards, and the order of the
// steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/limits_file.h"
#include "config/plan.h"
#include "weir/entity.h"
#include "weir/result.h"

namespace weir::config {

/// An entity that is stored or that the file names.
struct Member {
  std::string_view id;
  const Entity* stored = nullptr;
  const DesiredEntity* desired = nullptr;
  std::optional<Entity> put = {};  ///< the entity to store, if it differs from the stored one
  bool removed = false;
  /// It must leave its parent before others move: between the old chains and the new ones, a mixed chain
  /// could be too long, or prevent the removal of a parent.
  bool leaves_first = false;
  std::uint32_t depth = 0;  ///< in the chains after the plan

  /// Whether the file declares the entity, and it is stored as declared.
  bool as_desired() const { return desired != nullptr && desired->declared && !put; }
  /// The plan that the entity has afterwards; empty: none.
  std::string_view plan_afterwards() const {
    if (put) return put->plan;
    return stored == nullptr || removed ? std::string_view() : std::string_view(stored->plan);
  }
  bool changes_parent() const {
    return put && put->parent != (stored == nullptr ? std::string() : stored->parent);
  }
};

class Family {
 public:
  /// Fails with conflict on a cycle or a chain that is too long. The arguments must outlive it.
  static Result<Family> make(const Desired& desired, const Current& current);

  const std::vector<Member>& members() const { return members_; }  ///< by id
  /// The entities that stay although the file does not name them, and why.
  const std::vector<std::string>& kept() const { return kept_; }
  bool is_removed(std::string_view id) const;

 private:
  void join(const Desired& desired, const Current& current);
  Result<void> arrange();
  void decide_removals(const Current& current);
  void keep(std::size_t index, const std::string& reason);
  Result<void> check_depths() const;
  void find_leavers();
  std::int32_t find(std::string_view id) const;
  Member& at(std::int32_t index) { return members_[static_cast<std::size_t>(index)]; }
  const Member& at(std::int32_t index) const { return members_[static_cast<std::size_t>(index)]; }

  std::vector<Member> members_;
  std::unordered_map<std::string_view, std::int32_t> index_;
  std::vector<std::int32_t> parents_;  ///< after the plan
  std::vector<std::string> kept_;
};

}  // namespace weir::config
