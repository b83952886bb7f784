#include "decision_log/replay.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "limiter/pending.h"

namespace weir::decision_log {
namespace {

/// The limits that came with requests. Few sets come with many requests, so each is made once.
class SentLimits {
 public:
  /// Null without limits. Valid until the next call.
  const RequestLimits* of(const std::vector<NamedLimit>& limits) {
    if (limits.empty()) return nullptr;
    const auto known =
        std::find_if(made_.begin(), made_.end(), [&](const auto& one) { return one.first == limits; });
    if (known != made_.end()) return &known->second;
    auto made = RequestLimits::make(std::span<const NamedLimit>(limits));
    if (!made) return nullptr;
    constexpr std::size_t most = 64;
    if (made_.size() == most) made_.erase(made_.begin());
    return &made_.emplace_back(limits, *std::move(made)).second;
  }

 private:
  std::vector<std::pair<std::vector<NamedLimit>, RequestLimits>> made_;
};

class Replay {
 public:
  Replay(const ReplayPlan& plan, limiter::Core& core, FakeClock& clock)
      : plan_(plan), core_(core), clock_(clock) {}

  void add(const Entry& entry) {
    clock_.set(std::max(clock_.now(), entry.at));
    charges_.clear();
    for (const auto& [name, amount] : entry.charges) charges_.push_back({name, amount});
    if (entry.kind == EntryKind::acquire) {
      acquire(entry);
    } else {
      change(entry);
    }
  }
  ReplayResult take_result();

 private:
  void acquire(const Entry& entry);
  void change(const Entry& entry);
  void count(const Entry& entry, bool refused);

  const ReplayPlan& plan_;
  limiter::Core& core_;
  FakeClock& clock_;
  SentLimits sent_;
  std::vector<Charge> charges_;
  std::unordered_map<std::uint64_t, Lease> leases_;  ///< that are changed later in the log
  std::unordered_set<std::uint64_t> keyed_;          ///< leases of acquires with a key that were admitted
  struct Counted {
    std::string entity;
    std::string resource;
    ReplayCount count;
  };
  std::unordered_map<std::string, Counted> counted_;  ///< by entity, a zero byte and resource
  std::string key_;                                   ///< reused
  ReplayResult result_;
};

void Replay::acquire(const Entry& entry) {
  // A repetition is answered with the lease of the first, and charges nothing.
  if (entry.keyed && entry.lease != 0 && keyed_.contains(entry.lease)) return;
  // Limits had no part in the refusal of a blocked entity.
  if (entry.more.find(R"("blocked":true)") != std::string::npos) return count(entry, true);
  limiter::PendingAcquire pending(core_);
  // The rules that held then are those of the log: the store of the replay has none.
  if (entry.more.find(R"("exempt":true)") != std::string::npos) pending.treat_as_exempt();
  std::optional<Result<void>> ended;
  const store::Completion<void> done{[](void* into, Result<void>&& result) {
                                       *static_cast<std::optional<Result<void>>*>(into) = std::move(result);
                                     },
                                     &ended};
  const AcquireOptions options{.limits = sent_.of(entry.sent_limits),
                               .shadow = entry.shadow,
                               .lease_for = std::chrono::milliseconds(entry.lease_for),
                               .usage = false};
  if (entry.every) {
    const limiter::CostOfEvery costs{.amount = *entry.every, .named = charges_};
    pending.start_every(entry.entity, entry.resource, costs, options, done);
  } else {
    pending.start(entry.entity, entry.resource, charges_, options, done);
  }
  // A store in memory has answered.
  if (!ended || !*ended) {
    // A gateway forwards requests that no limit applies to.
    if (ended && entry.every && ended->error().code == ErrorCode::no_limits) return count(entry, false);
    if (result_.undecided++ == 0 && ended) result_.undecided_example = ended->error().message;
    return;
  }
  Decision& decision = pending.decision();
  count(entry, decision.refused());
  if (decision.refused() || entry.lease == 0) return;
  if (entry.keyed) keyed_.insert(entry.lease);
  if (plan_.changed_leases.may_have(entry.lease)) leases_.emplace(entry.lease, std::move(decision.lease()));
}

void Replay::count(const Entry& entry, bool refused) {
  const bool was = entry.outcome == EntryOutcome::refused;
  const auto add = [&](ReplayCount& count) {
    ++count.decisions;
    count.refused += was ? 1U : 0U;
    count.would_refuse += refused ? 1U : 0U;
    count.only_in_log += was && !refused ? 1U : 0U;
    count.only_in_replay += refused && !was ? 1U : 0U;
  };
  key_.assign(entry.entity).append(1, '\0').append(entry.resource);
  auto found = counted_.find(key_);
  if (found == counted_.end())
    found = counted_.emplace(key_, Counted{entry.entity, entry.resource, {}}).first;
  add(found->second.count);
  add(result_.total);
}

ReplayResult Replay::take_result() {
  for (auto& [key, one] : counted_)
    result_.counts.emplace(std::pair(std::move(one.entity), std::move(one.resource)), one.count);
  return std::move(result_);
}

void Replay::change(const Entry& entry) {
  const auto found = leases_.find(entry.lease);
  if (found == leases_.end()) return;
  Lease& lease = found->second;
  ++result_.changes;
  // A change that the other limits do not allow, such as one of a limit that is gone, changes nothing.
  switch (entry.kind) {
    case EntryKind::adjust:
      (void)lease.adjust(std::span<const Charge>(charges_), entry.no_debt ? Debt::refused : Debt::allowed);
      return;
    case EntryKind::extend:
      (void)lease.extend(std::chrono::milliseconds(entry.lease_for));
      return;
    case EntryKind::settle:
      (void)lease.settle(std::span<const Charge>(charges_));
      break;
    case EntryKind::rollback:
      (void)lease.rollback();
      break;
    case EntryKind::acquire:
      return;
  }
  leases_.erase(found);
}

/// Notes the parents of an entity whose chain is seen for the first time.
void note_parents(const Entry& entry, ReplayPlan& plan) {
  std::string below;
  for (const LimitStatus& status : entry.report) {
    if (status.entity == below) continue;
    if (!below.empty()) plan.parents.try_emplace(below, status.entity);
    below = status.entity;
  }
}

}  // namespace

Result<ReplayPlan> plan_replay(const DecisionReader& reader, std::string_view name_space) {
  ReplayPlan plan;
  std::unordered_set<std::string> seen;
  std::string entity;
  auto read = reader.for_each([&](const RowHead& head) {
    if (head.name_space != name_space) return true;
    if (plan.from == 0) plan.from = head.at;
    plan.to = std::max(plan.to, head.at);
    if (head.kind != EntryKind::acquire) {
      plan.changed_leases.add(head.lease);
      return true;
    }
    ++(head.outcome == EntryOutcome::refused ? plan.refused : plan.admitted);
    entity = head.entity;
    if (!seen.insert(entity).second) return true;
    if (const auto entry = read_entry(head)) note_parents(*entry, plan);
    return true;
  });
  if (!read) return read.error();
  return plan;
}

Result<ReplayResult> replay(const DecisionReader& reader, std::string_view name_space, const ReplayPlan& plan,
                            limiter::Core& core, FakeClock& clock) {
  Replay replay(plan, core, clock);
  auto read = reader.for_each([&](const RowHead& head) {
    if (head.name_space != name_space) return true;
    if (const auto entry = read_entry(head, false)) replay.add(*entry);
    return true;
  });
  if (!read) return read.error();
  return replay.take_result();
}

}  // namespace weir::decision_log
