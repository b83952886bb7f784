// The same things in the words of the oracle and of weir, and whether they agree.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "twins/op.h"
#include "twins/oracle.h"
#include "weir/weir.h"

namespace weir::twins {

Level level_of(const LevelId& level);
std::vector<NamedLimit> named(const Set& set);
/// An entity as the twins put it, with texts that are hard to store.
Entity entity_of(int entity, int parent, bool cascade, int plan);
LimitsPlan plan_of(int plan, const PlanSets& sets);
AccessRule rule_of(const Rule& rule);
/// Those that have not ended.
std::vector<AccessRule> rules_at(const std::vector<AccessRule>& rules, Time now);

/// A number, or "none".
std::string number(std::optional<Time> value);
std::string describe(const LimitStatus& status);
std::string describe(const Line& line);
std::string describe(const Bucket& bucket);
std::string describe(const BucketState& state);
std::string lines_of(const Answer& answer);

bool same(const LimitStatus& real, const Line& line);
/// Empty where both name the same block, or none.
std::string compare(const Block* real, const std::optional<Blocked>& ideal);
/// `in_force`: the stored limits of the bucket; null: none, and weir does not say which of its limits are
/// dormant.
bool same(const Bucket& real, const BucketState& state, const Set* in_force);
/// The same where writes may leave the refill time as it was: what both hold at a moment, and what they have
/// counted. Dormant limits may be forgotten by one and not by the other.
bool same_at(const Bucket& real, const BucketState& state, Time now);

}  // namespace weir::twins
