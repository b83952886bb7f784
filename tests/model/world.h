// Runs the real machines and the reference interpreter for the checker, and remembers every result: items,
// markers and positions of machines are known by small numbers, so that a state of the checker is a few
// bytes and most steps are a lookup.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "flat_map.h"
#include "mutations.h"
#include "scenario.h"
#include "store/conditional/acquire.h"
#include "store/conditional/change.h"
#include "store/conditional/upkeep.h"

namespace weir::model {

using ItemId = std::uint16_t;     ///< 0: absent
using MarkerId = std::uint16_t;   ///< 0: absent
using HistoryId = std::uint16_t;  ///< of the limits
using NodeId = std::uint32_t;     ///< a machine at one of its positions; 0: none
inline constexpr std::uint16_t not_shown = 0xFFFF;
using ItemIds = std::array<ItemId, max_items>;

inline constexpr Time start_time = 4;

/// The limits that were stored up to a moment, and what they resolve to.
struct History {
  HistoryId parent = 0;
  int depth = 0;  ///< how many changes before it
  int set = 0;
  limits::LimitsRecordRef record;
  limits::ResolutionRef resolution;
};

/// What a client knows of the lease that a change is about.
struct LeaseKnown {
  Amounts charged = {unnamed, unnamed};
  std::uint8_t holds = 0;         ///< those of the limits that it holds slots of, by bit
  Time deadline = limits::never;  ///< as acquire made it
  std::array<std::uint8_t, max_items> generations = {};
};

/// An operation of a scenario, with what makes it differ from the same operation elsewhere.
struct Task {
  Operation operation;
  std::uint64_t new_generation = 0;
  LeaseKnown lease;
  int buckets = 1;                  ///< the length of the chain, as far as the client knows
  bool under_parent = false;        ///< what it knows of the first entity
  std::int64_t resolved_after = 0;  ///< the version of a bucket that made it resolve its limits again
};

/// A bucket that takes new limits over, in the transaction of whoever stores them, who starts over if it
/// fails.
class Adoption {
 public:
  Adoption(conditional::BucketPlan plan, const conditional::Settings& settings)
      : plan_(std::move(plan)), settings_(&settings) {}
  conditional::Action start(std::span<const conditional::Image> images, Time now) {
    snapshot_.remember(images);
    const auto& item = images[0].item;
    auto write = item ? conditional::adopt(plan_, *item, *settings_, now) : std::nullopt;
    if (!write) return {};
    return {conditional::Action::Kind::write, {.writes = {*std::move(write)}}};
  }
  conditional::Action resume(const conditional::Event& /*event*/, Time /*now*/) { return {}; }
  const conditional::Snapshot& snapshot() const { return snapshot_; }

 private:
  conditional::BucketPlan plan_;
  const conditional::Settings* settings_;
  conditional::Snapshot snapshot_{1};
};

using Machine = std::variant<conditional::Acquire, conditional::Change, Adoption>;

/// A machine that waits for what comes of its action, or is done.
struct Node {
  std::uint16_t task = 0;
  HistoryId history = 0;  ///< what it was resolved from
  Machine machine;
  conditional::Action action;
  ItemIds images = {not_shown, not_shown};  ///< what it knows
};

/// What became of a transaction.
struct Applied {
  bool applied = false;
  std::uint8_t failed = 0;  ///< items whose condition failed, by bit; bit 7: the marker's; bit 6: a link's
  ItemIds items = {};
  MarkerId marker = 0;
};

/// What there is to know about an item, at hand.
struct ItemInfo {
  std::int32_t refilled_at = 0;
  std::int32_t expires_at = 0;
  std::int32_t version = 0;
  std::int32_t generation = 0;
  std::uint8_t limits = 0;   ///< those it has, by bit
  bool partial = false;      ///< something is missing that every reader needs
  std::uint8_t dormant = 0;  ///< limits that are not in force, by bit
  std::int8_t parent = -1;   ///< 0: none, 1: it has one, -1: not known
  std::array<std::int32_t, max_limits> tokens = {};
  std::array<std::int32_t, max_limits> consumed = {};
  std::uint8_t concurrent = 0;  ///< limits of which slots are held, by bit
  bool torn = false;            ///< the balance of such a limit is not what its holds leave
  std::array<bucket::Holds, max_limits> holds = {};
};

/// What a reader with certain limits sees in an item.
struct ReadResult {
  std::array<std::int8_t, max_limits> held = {};
};

class World {
 public:
  explicit World(const Scenario& scenario);

  ItemId item_id(std::optional<conditional::Record> item);
  const ItemInfo& info(ItemId id) const { return infos_[id]; }
  const std::optional<conditional::Marker>& marker(MarkerId id) const { return markers_[id]; }
  MarkerId marker_id(const std::optional<conditional::Marker>& marker);

  HistoryId changed(HistoryId parent, int set, Time stamp);
  const History& history(HistoryId id) const { return histories_[id]; }
  /// The limits that a client sends with its requests.
  HistoryId request_history(std::size_t client) const { return static_cast<HistoryId>(1 + client); }
  /// The limit's parameters in a set; null where it does not name the limit.
  const limits::Parameters* parameters(int set, int limit) const;
  /// The concurrent limits of a history, by bit.
  std::uint8_t concurrent_limits(HistoryId history) const;
  /// The history with the first `depth` changes.
  HistoryId ancestor(HistoryId id, int depth) const;

  std::uint16_t task_id(const Task& task);
  const Task& task(std::uint16_t id) const { return tasks_[id]; }
  const Node& node(NodeId id) const { return nodes_[id]; }

  NodeId start(std::uint16_t task, HistoryId history, const ItemIds& images, Time now);
  NodeId resume(NodeId id, conditional::Event::Kind kind, const ItemIds& images, std::uint16_t marker,
                Time now, bool link_failed = false);
  /// `link`: of the first entity.
  Applied apply(NodeId node, const ItemIds& items, MarkerId marker, const conditional::Link& link);
  ReadResult read(ItemId item, HistoryId history, Time now);

  static std::string limit_name(int limit) { return std::string(1, static_cast<char>('a' + limit)); }

 private:
  struct StepKey {
    NodeId node;
    std::uint16_t images[2];
    std::uint16_t marker;
    std::int8_t kind;
    std::int8_t now;
    std::uint32_t history;
  };
  struct ReadKey {
    ItemId item;
    HistoryId history;
    std::int32_t now;
  };

  std::vector<conditional::BucketPlan> plans(const Task& task, HistoryId history) const;
  /// `holds`: the limits that are concurrent, by bit.
  static decision::LeaseRecord lease_record(const Amounts& amounts, std::uint8_t holds, int buckets);
  conditional::ChangePlan change_plan(const Task& task, std::vector<conditional::BucketPlan> buckets) const;
  Machine make(const Task& task, HistoryId history) const;
  NodeId keep(Node node);
  NodeId compute_start(std::uint16_t task, HistoryId history, const ItemIds& images, Time now);
  NodeId compute_resume(NodeId id, conditional::Event::Kind kind, const ItemIds& images, std::uint16_t marker,
                        Time now, bool link_failed);
  /// What a mutation makes of an action.
  void mutate(Node& node, Time now) const;

  Scenario scenario_;
  std::vector<limits::LimitSetRef> sets_;
  std::vector<History> histories_;
  std::vector<std::optional<conditional::Record>> items_;
  std::vector<ItemInfo> infos_;
  std::vector<std::optional<conditional::Marker>> markers_;
  std::vector<Task> tasks_;
  std::vector<Node> nodes_;
  std::map<std::string, ItemId> item_ids_;
  std::map<std::string, MarkerId> marker_ids_;
  std::map<std::string, std::uint16_t> task_ids_;
  std::map<std::string, HistoryId> history_ids_;
  std::map<std::string, NodeId> node_ids_;
  FlatMap<StepKey, NodeId> steps_;
  FlatMap<StepKey, Applied> applied_;
  FlatMap<ReadKey, ReadResult> readings_;
};

}  // namespace weir::model
