// One operation that both twins are asked for, concrete enough to be run again by itself.
#pragma once

#include <string>
#include <vector>

#include "twins/oracle.h"

namespace weir::twins {

enum class Kind : unsigned char {
  acquire,
  look,
  advance,
  change,  ///< of a lease
  lower,   ///< of one bucket
  reset,   ///< the same
  grant,   ///< to one bucket
  set_limits,
  delete_limits,
  put_entity,
  delete_entity,
  put_plan,
  delete_plan,
  set_access,
  remove_access,
  reopen,
  compare,  ///< of the buckets of an entity
};

/// The record of an admitted acquire.
enum class Hold : unsigned char { nothing, handle, id };

struct Op {
  Kind kind = Kind::compare;
  int id = 0;       ///< different for every operation of a world
  int limiter = 0;  ///< 1: another process, where the store can have one
  Request request = {};
  Hold hold = Hold::nothing;
  Time by = 0;        ///< of the clock, or the length of an extended lease, or of a grant
  int lease_of = -1;  ///< the id of the acquire
  Verb verb = Verb::rollback;
  bool enforce = false;  ///< of an adjust
  std::string key = {};
  std::vector<Asked> amounts = {};
  LevelId level = {};
  Set limits = {};
  Oracle::SetOptions options = {};
  int entity = -1;
  int parent = -1;
  bool cascade = false;
  int plan = -1;
  PlanSets sets = {};
  Rule rule = {};
};

inline constexpr int most_entities = 10;
inline constexpr int most_limits = 20;
inline constexpr int resource_count = 2;
inline constexpr int plan_count = 3;
const std::string& entity_name(int entity);
const std::string& resource_name(int resource);
const std::string& limit_name(int limit);
const std::string& plan_name(int plan);

std::string text(const Terms& terms);
std::string text(const Set& set);
std::string text(const Op& op);

}  // namespace weir::twins
