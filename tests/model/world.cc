#include "world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace weir::model {
namespace {

using conditional::Acquire;
using conditional::Action;
using conditional::Alter;
using conditional::BucketPlan;
using conditional::Change;
using conditional::Event;
using conditional::Image;
using conditional::Marker;
using conditional::Transaction;

/// Numbers one after the other, as the key of something.
class Bytes {
 public:
  Bytes& operator<<(std::int64_t value) {
    // Small numbers are the rule: one byte, or a sign that eight follow.
    if (value >= -100 && value <= 100) {
      text_.push_back(static_cast<char>(value));
    } else {
      text_.push_back(static_cast<char>(127));
      text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return *this;
  }
  template <class T>
  Bytes& operator<<(const std::optional<T>& value) {
    *this << value.has_value();
    if (value) *this << *value;
    return *this;
  }
  Bytes& operator<<(std::uint64_t value) { return *this << static_cast<std::int64_t>(value); }
  Bytes& operator<<(int value) { return *this << std::int64_t{value}; }
  Bytes& operator<<(bool value) { return *this << std::int64_t{value}; }
  Bytes& operator<<(const std::string& value) {
    *this << static_cast<std::int64_t>(value.size());
    text_ += value;
    return *this;
  }
  Bytes& operator<<(const limits::Parameters& value) {
    return *this << value.capacity << value.burst << value.rate.amount << value.rate.period;
  }
  Bytes& operator<<(const bucket::State& value) {
    *this << value.refilled_at << value.version << value.generation << value.expires_at;
    for (const auto& limit : value.limits)
      *this << limit.name << limit.parameters << limit.tokens << limit.consumed;
    return *this;
  }
  Bytes& operator<<(const decision::LeaseRecord& value) {
    *this << static_cast<int>(value.ending) << static_cast<int>(value.amounts.size());
    for (const auto& amount : value.amounts) *this << amount.limit << amount.amount << int{amount.buckets};
    for (const auto& key : value.keys) *this << key;
    return *this;
  }
  Bytes& operator<<(const Marker& value) {
    *this << value.sequence << value.fence << value.lease;
    for (const std::uint64_t generation : value.generations) *this << generation;
    return *this;
  }
  Bytes& operator<<(const conditional::LimitWrite& value) {
    return *this << value.name << value.absent << value.exists << value.at_least << value.at_most
                 << static_cast<int>(value.effect) << value.tokens << value.consumed << value.parameters;
  }
  Bytes& operator<<(const conditional::Write& value) {
    *this << static_cast<int>(value.path) << static_cast<std::int64_t>(value.bucket) << value.absent_at
          << value.refilled_at << value.refilled_since << value.version << value.generation
          << value.expires_since << value.item << value.set_refilled_at << value.set_version
          << value.set_expires_at;
    for (const auto& limit : value.limits) *this << limit;
    return *this << -1;
  }
  Bytes& operator<<(const Transaction& value) {
    for (const auto& write : value.writes) *this << write;
    *this << -2 << value.marker.has_value();
    if (value.marker) *this << value.marker->sequence << value.marker->unconditional << value.marker->next;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <class Id, class Object>
Id numbered(std::map<std::string, Id>& ids, std::vector<Object>& objects, const std::string& key,
            Object object) {
  const auto [at, added] = ids.try_emplace(key, static_cast<Id>(objects.size()));
  if (added) objects.push_back(std::move(object));
  if (objects.size() > 0xFFFE && sizeof(Id) == 2) {
    std::fprintf(stderr, "model: too many objects in one batch; split it\n");
    std::exit(2);
  }
  return at->second;
}

limits::Parameters parameters_of(const Tiny& tiny) {
  return {tiny.capacity, tiny.burst, tiny.amount, tiny.period, limits::reduced(tiny.amount, tiny.period)};
}

ItemInfo info_of(const bucket::State& item) {
  ItemInfo info{static_cast<std::int32_t>(item.refilled_at),
                static_cast<std::int32_t>(std::min<Time>(item.expires_at, 1000)),
                static_cast<std::int32_t>(item.version),
                static_cast<std::int32_t>(item.generation),
                0,
                false,
                {},
                {}};
  for (const auto& limit : item.limits) {
    const auto at = static_cast<std::size_t>(limit.name[0] - 'a');
    info.limits |= static_cast<std::uint8_t>(1U << at);
    info.partial = info.partial || limit.parameters.rate.period == 0;
    info.tokens[at] = static_cast<std::int32_t>(limit.tokens);
    info.consumed[at] = static_cast<std::int32_t>(limit.consumed);
  }
  info.partial = info.partial || item.refilled_at == 0;
  return info;
}

void describe(Bytes& bytes, const Acquire& machine, bool done) {
  bytes << machine.failures() << machine.in_doubt() << machine.marker().known << machine.marker().item;
  const auto& outcome = machine.outcome();
  bytes << outcome.never_fits << outcome.wait;  // of a refusal that is being fenced
  if (!done) return;
  bytes << static_cast<int>(outcome.kind) << outcome.repeated << outcome.version;
  for (const auto& bucket : outcome.buckets) bytes << bucket.generation;
}

void describe(Bytes& bytes, const Change& machine, bool done) {
  bytes << machine.failures() << machine.in_doubt() << machine.marker().known << machine.marker().item;
  if (!done) return;
  const auto& outcome = machine.outcome();
  bytes << static_cast<int>(outcome.kind) << outcome.repeated << outcome.version << outcome.lease;
}

void describe(Bytes& bytes, const Alter& machine, bool done) {
  bytes << machine.failures();
  if (done) bytes << static_cast<int>(machine.outcome().kind) << machine.outcome().version;
}

}  // namespace

World::World(const Scenario& scenario) : scenario_(scenario), retry_first_(scenario.settings) {
  retry_first_.retry_first = true;
  items_.emplace_back();
  infos_.emplace_back();
  markers_.emplace_back();
  nodes_.push_back({0, 0, 0, Alter({}, scenario_.settings, scenario_.rules), {}, {}});
  for (const TinySet& set : scenario_.sets) {
    std::vector<limits::NamedParameters> named;
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (set[i]) named.push_back({limit_name(static_cast<int>(i)), parameters_of(*set[i])});
    }
    sets_.emplace_back(new limits::LimitSet(std::move(named)));
  }
  histories_.emplace_back();
  // The first change makes history 1; number 0 stands for none.
  const int starts = scenario_.request_limits ? static_cast<int>(sets_.size()) : 1;
  for (int set = 0; set < starts; ++set) histories_[changed(0, set, 1)].depth = 0;
}

ItemId World::item_id(std::optional<bucket::State> item) {
  if (!item) return 0;
  std::sort(item->limits.begin(), item->limits.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const std::string key = (Bytes() << *item).text();
  const ItemId id = numbered(item_ids_, items_, key, std::move(item));
  if (id == infos_.size()) infos_.push_back(info_of(*items_[id]));
  return id;
}

MarkerId World::marker_id(const std::optional<Marker>& marker) {
  return marker ? numbered(marker_ids_, markers_, (Bytes() << *marker).text(), marker) : MarkerId{0};
}

HistoryId World::changed(HistoryId parent, int set, Time stamp) {
  const std::string key = (Bytes() << int{parent} << set << stamp).text();
  if (const auto found = history_ids_.find(key); found != history_ids_.end()) return found->second;
  History next{parent, histories_[parent].depth + 1, set, {}, {}};
  const auto record =
      limits::next_record(histories_[parent].record, sets_[static_cast<std::size_t>(set)], stamp, stamp);
  next.record = limits::LimitsRecordRef(record.get());
  limits::Levels levels;
  if (!scenario_.request_limits) levels[static_cast<std::size_t>(Source::resource)] = next.record;
  const auto resolution = limits::resolve(levels, sets_[static_cast<std::size_t>(set)], stamp, 7);
  resolution->keep_for = scenario_.keep_for;
  resolution->multiplier = 1;
  next.resolution = limits::ResolutionRef(resolution.get());
  return numbered(history_ids_, histories_, key, std::move(next));
}

const limits::Parameters* World::parameters(int set, int limit) const {
  const limits::LimitSet& limits = *sets_[static_cast<std::size_t>(set)];
  const int index = limits.find(limit_name(limit));
  return index < 0 ? nullptr : &limits[static_cast<std::size_t>(index)];
}

HistoryId World::ancestor(HistoryId id, int depth) const {
  while (histories_[id].depth > depth) id = histories_[id].parent;
  return id;
}

std::uint16_t World::task_id(const Task& task) {
  const Operation& operation = task.operation;
  Bytes bytes;
  bytes << static_cast<int>(operation.kind) << operation.cached << operation.retry_first << operation.once
        << operation.set << task.new_generation;
  for (int i = 0; i < max_limits; ++i) {
    bytes << operation.amounts[static_cast<std::size_t>(i)]
          << task.lease.charged[static_cast<std::size_t>(i)];
  }
  for (const auto generation : task.lease.generations) bytes << int{generation};
  return numbered(task_ids_, tasks_, bytes.text(), task);
}

std::vector<BucketPlan> World::plans(const Task& task, HistoryId history, std::int64_t resolved_after) const {
  std::vector<BucketPlan> buckets;
  const bool acquires = task.operation.kind == Operation::Kind::acquire;
  for (int i = 0; i < scenario_.items; ++i) {
    BucketPlan& plan = buckets.emplace_back();
    plan.resolution = histories_[history].resolution;
    plan.resolved_after = resolved_after;
    plan.generation = task.lease.generations[static_cast<std::size_t>(i)];
    for (int limit = 0; limit < max_limits && acquires; ++limit) {
      const int amount = task.operation.amounts[static_cast<std::size_t>(limit)];
      if (amount != unnamed && parameters(histories_[history].set, limit) != nullptr) {
        plan.charges.push_back({limit_name(limit), amount});
      }
    }
  }
  return buckets;
}

decision::LeaseRecord World::lease_record(const Amounts& amounts) const {
  decision::LeaseRecord record;
  for (int i = 0; i < max_limits; ++i) {
    const int amount = amounts[static_cast<std::size_t>(i)];
    if (amount == unnamed) continue;
    record.amounts.push_back({limit_name(i), amount, static_cast<std::uint8_t>((1 << scenario_.items) - 1)});
  }
  return record;
}

Machine World::make(const Task& task, HistoryId history) const {
  const Operation& operation = task.operation;
  const conditional::Settings& settings = operation.retry_first ? retry_first_ : scenario_.settings;
  auto buckets = plans(task, history, 0);
  if (operation.kind == Operation::Kind::alter)
    return Alter(std::move(buckets[0]), settings, scenario_.rules);
  if (operation.kind == Operation::Kind::acquire) {
    conditional::AcquirePlan plan{std::move(buckets), task.new_generation, {}};
    if (operation.once) plan.once = lease_record(operation.amounts);
    return Acquire(std::move(plan), settings, scenario_.rules);
  }
  conditional::ChangePlan plan;
  plan.lease = lease_record(task.lease.charged);
  plan.buckets = std::move(buckets);
  plan.new_generation = task.new_generation;
  plan.once = operation.once;
  plan.verb = operation.kind == Operation::Kind::adjust   ? decision::LeaseVerb::adjust
              : operation.kind == Operation::Kind::settle ? decision::LeaseVerb::settle
                                                          : decision::LeaseVerb::rollback;
  if (operation.kind == Operation::Kind::adjust && operation.once)
    plan.key = "k" + std::to_string(task.new_generation);
  for (int i = 0; i < max_limits; ++i) {
    const int amount = operation.amounts[static_cast<std::size_t>(i)];
    if (amount != unnamed) plan.amounts.push_back({limit_name(i), amount});
  }
  return Change(std::move(plan), settings, scenario_.rules);
}

NodeId World::keep(Node node) {
  const bool done = node.action.kind == Action::Kind::done;
  Bytes bytes;
  bytes << int{node.task} << int{node.history} << node.resolved_after << static_cast<int>(node.action.kind)
        << node.action.transaction;
  std::visit(
      [&](const auto& machine) {
        for (std::size_t i = 0; i < machine.sight().size(); ++i) {
          const Image& image = machine.sight()[i];
          node.images[i] = image.known ? item_id(image.item) : not_shown;
          bytes << int{node.images[i]} << machine.sight().seen_here(i);
        }
        describe(bytes, machine, done);
      },
      node.machine);
  return numbered(node_ids_, nodes_, bytes.text(), std::move(node));
}

NodeId World::start(std::uint16_t task, HistoryId history, const ItemIds& images, Time now) {
  const StepKey key{task, {images[0], images[1]}, 0, -1, static_cast<std::int8_t>(now), history};
  if (const NodeId* known = steps_.find(key)) return *known;
  return steps_.add(key, compute_start(task, history, images, now));
}

NodeId World::compute_start(std::uint16_t task, HistoryId history, const ItemIds& images, Time now) {
  std::vector<Image> known;
  for (const ItemId image : images) {
    known.push_back(image == not_shown ? Image{} : Image{true, items_[image]});
  }
  Node node{task, history, 0, make(tasks_[task], history), {}, {not_shown, not_shown}};
  node.action = std::visit([&](auto& machine) { return machine.start(known, now); }, node.machine);
  return keep(std::move(node));
}

NodeId World::restart(NodeId id, HistoryId history, Time now) {
  const StepKey key{id, {0, 0}, 0, -2, static_cast<std::int8_t>(now), history};
  if (const NodeId* known = steps_.find(key)) return *known;
  Node node = nodes_[id];
  node.history = history;
  if (Acquire* const machine = std::get_if<Acquire>(&node.machine)) {
    node.resolved_after = machine->outcome().version;
    node.action = machine->restart(plans(tasks_[node.task], history, node.resolved_after), now);
  } else if (Change* const change = std::get_if<Change>(&node.machine)) {
    node.resolved_after = change->outcome().version;
    node.action = change->restart(plans(tasks_[node.task], history, node.resolved_after), now);
  }
  return steps_.add(key, keep(std::move(node)));
}

NodeId World::resume(NodeId id, Event::Kind kind, const ItemIds& images, std::uint16_t marker, Time now) {
  const StepKey key{
      id, {images[0], images[1]}, marker, static_cast<std::int8_t>(kind), static_cast<std::int8_t>(now), 0};
  if (const NodeId* known = steps_.find(key)) return *known;
  return steps_.add(key, compute_resume(id, kind, images, marker, now));
}

NodeId World::compute_resume(NodeId id, Event::Kind kind, const ItemIds& images, std::uint16_t marker,
                             Time now) {
  Event event;
  event.kind = kind;
  for (int i = 0; i < scenario_.items; ++i) {
    const ItemId image = images[static_cast<std::size_t>(i)];
    event.images.push_back(image == not_shown ? Image{} : Image{true, items_[image]});
  }
  if (marker != not_shown) event.marker = {true, markers_[marker]};
  Node node = nodes_[id];
  node.action = std::visit([&](auto& machine) { return machine.resume(event, now); }, node.machine);
  return keep(std::move(node));
}

Applied World::apply(NodeId node, const ItemIds& items, MarkerId marker) {
  const StepKey key{node, {items[0], items[1]}, marker, 0, 0, 0};
  if (const Applied* known = applied_.find(key)) return *known;
  const Transaction& transaction = nodes_[node].action.transaction;
  Applied result{true, 0, items, marker};
  for (const auto& write : transaction.writes) {
    const auto& item = items_[items[write.bucket]];
    if (!holds(item ? &*item : nullptr, write))
      result.failed |= static_cast<std::uint8_t>(1U << write.bucket);
  }
  const auto& mark = markers_[marker];
  if (transaction.marker && !holds(mark ? &*mark : nullptr, *transaction.marker)) result.failed |= 0x80U;
  result.applied = result.failed == 0;
  if (result.applied) {
    for (const auto& write : transaction.writes) {
      auto item = items_[items[write.bucket]];
      conditional::apply(item, write);
      result.items[write.bucket] = item_id(std::move(item));
    }
    if (transaction.marker) result.marker = marker_id(transaction.marker->next);
  }
  return applied_.add(key, result);
}

Reading World::read(ItemId item, HistoryId history, Time now) {
  const ReadKey key{item, history, static_cast<std::int32_t>(now)};
  if (const Reading* known = readings_.find(key)) return *known;
  Reading reading;
  const bucket::State& state = *items_[item];
  const bucket::Claims claims = bucket::claims_of(&state, *histories_[history].resolution, now);
  for (const auto& limit : claims.limits) {
    reading.held[static_cast<std::size_t>(limit.name[0] - 'a')] =
        static_cast<std::int8_t>(limit.held(&state));
  }
  return readings_.add(key, reading);
}

}  // namespace weir::model
