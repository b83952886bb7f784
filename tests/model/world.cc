#include "world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace weir::model {
namespace {

using conditional::Acquire;
using conditional::Action;
using conditional::BucketPlan;
using conditional::Change;
using conditional::Event;
using conditional::Image;
using conditional::Marker;
using conditional::Record;
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
  Bytes& operator<<(const bucket::Holds& value) {
    *this << static_cast<int>(value.size());
    for (const bucket::Hold& hold : value) *this << hold.deadline << hold.amount;
    return *this;
  }
  Bytes& operator<<(const Record& value) {
    *this << value.refilled_at << value.version << value.generation << value.expires_at << value.parent;
    for (const auto& limit : value.limits)
      *this << limit.name << limit.parameters << limit.tokens << limit.consumed << limit.dormant
            << limit.holds;
    return *this;
  }
  Bytes& operator<<(const decision::LeaseRecord& value) {
    *this << static_cast<int>(value.ending) << static_cast<int>(value.amounts.size());
    for (const auto& amount : value.amounts)
      *this << amount.limit << amount.amount << int{amount.buckets} << int{amount.holds};
    for (const auto& key : value.keys) *this << key;
    return *this;
  }
  Bytes& operator<<(const Marker& value) {
    *this << value.sequence << value.fence << value.lease << value.deadline << value.first_deadline;
    for (const std::uint64_t generation : value.generations) *this << generation;
    for (const std::string& entity : value.entities) *this << entity;
    return *this;
  }
  Bytes& operator<<(const conditional::LimitWrite& value) {
    return *this << value.name << value.absent << value.exists << value.is_rate << value.at_least
                 << value.at_most << value.dormant << value.holds << static_cast<int>(value.effect)
                 << value.tokens << value.consumed << value.parameters << value.set_holds;
  }
  Bytes& operator<<(const conditional::Write& value) {
    *this << static_cast<int>(value.path) << static_cast<std::int64_t>(value.bucket) << value.absent_at
          << value.refilled_at << value.refilled_since << value.version << value.version_since
          << value.generation << value.expires_since << value.item << value.set_refilled_at
          << value.set_version << value.set_expires_at << value.set_parent;
    for (const auto& limit : value.limits) *this << limit;
    return *this << -1;
  }
  Bytes& operator<<(const Transaction& value) {
    for (const auto& write : value.writes) *this << write;
    *this << -2 << value.marker.has_value();
    if (value.marker) *this << value.marker->sequence << value.marker->deadline << value.marker->next;
    for (const auto& link : value.links) *this << static_cast<std::int64_t>(link.entity) << link.parent;
    return *this << -3;
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

ItemInfo info_of(const Record& item) {
  ItemInfo info;
  info.refilled_at = static_cast<std::int32_t>(item.refilled_at);
  info.expires_at = static_cast<std::int32_t>(std::min<Time>(item.expires_at, 1000));
  info.version = static_cast<std::int32_t>(item.version);
  info.generation = static_cast<std::int32_t>(item.generation);
  if (item.parent) info.parent = item.parent->empty() ? std::int8_t{0} : std::int8_t{1};
  for (const auto& limit : item.limits) {
    const auto at = static_cast<std::size_t>(limit.name[0] - 'a');
    info.limits |= static_cast<std::uint8_t>(1U << at);
    if (limit.dormant) info.dormant |= static_cast<std::uint8_t>(1U << at);
    info.partial = info.partial || limit.parameters.rate.period == 0;
    info.tokens[at] = static_cast<std::int32_t>(limit.tokens);
    info.consumed[at] = static_cast<std::int32_t>(limit.consumed);
    info.holds[at] = limit.holds;
    if (limit.parameters.kind() != Kind::concurrent) {
      info.torn = info.torn || !limit.holds.empty();
      continue;
    }
    info.concurrent |= static_cast<std::uint8_t>(1U << at);
    const bool whole = limit.tokens == limit.parameters.capacity - bucket::total(limit.holds);
    info.torn = info.torn || !whole || !bucket::can_be_used(limit.holds);
  }
  info.partial = info.partial || item.refilled_at == 0;
  return info;
}

void describe(Bytes& bytes, const Acquire& machine, bool done) {
  bytes << machine.failures() << machine.in_doubt() << machine.charges() << machine.marker().known
        << machine.marker().item;
  const auto& outcome = machine.outcome();
  // Of a refusal that is being written, and of a charge.
  bytes << outcome.wait.never_fits << outcome.wait.time << outcome.deadline;
  if (!done) return;
  bytes << static_cast<int>(outcome.kind) << outcome.repeated << outcome.version << outcome.chain;
  for (const std::uint64_t generation : outcome.generations) bytes << generation;
}

void describe(Bytes& bytes, const Change& machine, bool done) {
  const auto& outcome = machine.outcome();
  bytes << machine.failures() << machine.in_doubt() << machine.marker().known << machine.marker().item
        << outcome.deadline;
  if (!done) return;
  bytes << static_cast<int>(outcome.kind) << outcome.repeated << outcome.version << outcome.chain
        << outcome.lease;
}

void describe(Bytes& /*bytes*/, const Adoption& /*machine*/, bool /*done*/) {}

}  // namespace

World::World(const Scenario& scenario) : scenario_(scenario) {
  items_.emplace_back();
  infos_.emplace_back();
  markers_.emplace_back();
  nodes_.push_back({0, 0, Adoption({}, scenario_.settings), {}, {}});
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

ItemId World::item_id(std::optional<Record> item) {
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
  if (!scenario_.request_limits) levels.at(Source::resource) = next.record;
  const auto resolution = limits::resolve(levels, sets_[static_cast<std::size_t>(set)], stamp, 1);
  if (scenario_.keep_for == limits::never) resolution->keep_for = limits::never;
  next.resolution = limits::ResolutionRef(resolution.get());
  return numbered(history_ids_, histories_, key, std::move(next));
}

const limits::Parameters* World::parameters(int set, int limit) const {
  const limits::LimitSet& limits = *sets_[static_cast<std::size_t>(set)];
  const int index = limits.find(limit_name(limit));
  return index < 0 ? nullptr : &limits[static_cast<std::size_t>(index)];
}

std::uint8_t World::concurrent_limits(HistoryId history) const {
  std::uint8_t found = 0;
  for (int limit = 0; limit < max_limits; ++limit) {
    const limits::Parameters* const named = parameters(histories_[history].set, limit);
    if (named != nullptr && named->kind() == Kind::concurrent)
      found |= static_cast<std::uint8_t>(1U << limit);
  }
  return found;
}

HistoryId World::ancestor(HistoryId id, int depth) const {
  while (histories_[id].depth > depth) id = histories_[id].parent;
  return id;
}

std::uint16_t World::task_id(const Task& task) {
  const Operation& operation = task.operation;
  Bytes bytes;
  bytes << static_cast<int>(operation.kind) << operation.cached << operation.once << operation.set
        << (operation.lease == Operation::shared) << task.new_generation << task.buckets << task.under_parent
        << task.resolved_after << operation.lease_for << int{task.lease.holds} << task.lease.deadline;
  for (int i = 0; i < max_limits; ++i) {
    bytes << operation.amounts[static_cast<std::size_t>(i)]
          << task.lease.charged[static_cast<std::size_t>(i)];
  }
  for (const auto generation : task.lease.generations) bytes << int{generation};
  return numbered(task_ids_, tasks_, bytes.text(), task);
}

std::vector<BucketPlan> World::plans(const Task& task, HistoryId history) const {
  std::vector<BucketPlan> buckets;
  const bool acquires = task.operation.kind == Operation::Kind::acquire;
  for (int i = 0; i < task.buckets; ++i) {
    BucketPlan& plan = buckets.emplace_back();
    plan.resolution = histories_[history].resolution;
    plan.resolved_after = task.resolved_after;
    plan.entity = static_cast<std::size_t>(i);
    if (i == 0 && task.under_parent) plan.parent = "p";
    plan.generation = task.lease.generations[static_cast<std::size_t>(i)];
    for (int limit = 0; limit < max_limits && acquires; ++limit) {
      const int amount = task.operation.amounts[static_cast<std::size_t>(limit)];
      const limits::Parameters* const named = parameters(histories_[history].set, limit);
      if (amount == unnamed || named == nullptr) continue;
      plan.charges.push_back({limit_name(limit), amount, named->kind() == Kind::concurrent});
    }
  }
  return buckets;
}

decision::LeaseRecord World::lease_record(const Amounts& amounts, std::uint8_t holds, int buckets) {
  decision::LeaseRecord record;
  const auto all = static_cast<std::uint8_t>((1 << buckets) - 1);
  for (int i = 0; i < max_limits; ++i) {
    const int amount = amounts[static_cast<std::size_t>(i)];
    if (amount == unnamed) continue;
    record.amounts.push_back({limit_name(i), amount, all, (holds >> i & 1) != 0 ? all : std::uint8_t{0}});
  }
  return record;
}

Machine World::make(const Task& task, HistoryId history) const {
  const Operation& operation = task.operation;
  const conditional::Settings& settings = scenario_.settings;
  const Mutation* const mutation = scenario_.mutation;
  auto buckets = plans(task, history);
  if (operation.kind == Operation::Kind::alter) {
    // A process that stores limits has read the bucket first.
    buckets[0].resolved_after = limits::never;
    return Adoption(std::move(buckets[0]), settings);
  }
  if (mutation != nullptr && mutation->planned != nullptr) mutation->planned(buckets);
  if (operation.kind == Operation::Kind::acquire) {
    conditional::AcquirePlan plan{std::move(buckets), task.new_generation};
    if (operation.once)
      plan.once = {lease_record(operation.amounts, concurrent_limits(history), task.buckets), {}};
    plan.lease_for = operation.lease_for;
    return Acquire(std::move(plan), settings);
  }
  return Change(change_plan(task, std::move(buckets)), settings);
}

conditional::ChangePlan World::change_plan(const Task& task, std::vector<BucketPlan> buckets) const {
  const Operation& operation = task.operation;
  conditional::ChangePlan plan;
  plan.lease = lease_record(task.lease.charged, task.lease.holds, task.buckets);
  plan.deadline = task.lease.deadline;
  plan.lease_for = operation.lease_for;
  plan.buckets = std::move(buckets);
  plan.new_generation = task.new_generation;
  plan.once = operation.once;
  plan.verb = operation.kind == Operation::Kind::adjust   ? decision::LeaseVerb::adjust
              : operation.kind == Operation::Kind::extend ? decision::LeaseVerb::extend
              : operation.kind == Operation::Kind::settle ? decision::LeaseVerb::settle
                                                          : decision::LeaseVerb::rollback;
  if (operation.kind == Operation::Kind::adjust && operation.once)
    plan.key = "k" + std::to_string(task.new_generation);
  for (int i = 0; i < max_limits; ++i) {
    const int amount = operation.amounts[static_cast<std::size_t>(i)];
    if (amount != unnamed) plan.amounts.push_back({limit_name(i), amount});
  }
  return plan;
}

NodeId World::keep(Node node) {
  const bool done = node.action.kind == Action::Kind::done;
  Bytes bytes;
  bytes << int{node.task} << int{node.history} << static_cast<int>(node.action.kind)
        << node.action.transaction;
  std::visit(
      [&](const auto& machine) {
        for (std::size_t i = 0; i < machine.snapshot().size(); ++i) {
          const Image& image = machine.snapshot()[i];
          node.images[i] = image.known ? item_id(image.item) : not_shown;
          bytes << int{node.images[i]} << machine.snapshot().seen_here(i);
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
  Node node{task, history, make(tasks_[task], history), {}, {not_shown, not_shown}};
  const Mutation* const mutation = scenario_.mutation;
  if (mutation != nullptr && mutation->clock != nullptr) now = mutation->clock(now);
  node.action = std::visit([&](auto& machine) { return machine.start(known, now); }, node.machine);
  if (mutation != nullptr && mutation->trusts_images && known[0].known &&
      node.action.kind == Action::Kind::read) {
    // As if they had been read just now.
    Event event{.images = known, .marker = {}};
    node.action = std::visit([&](auto& machine) { return machine.resume(event, now); }, node.machine);
  }
  mutate(node, now);
  return keep(std::move(node));
}

void World::mutate(Node& node, Time now) const {
  const Mutation* const mutation = scenario_.mutation;
  if (mutation == nullptr || mutation->sent == nullptr || node.action.kind != Action::Kind::write) return;
  std::visit(
      [&](const auto& machine) {
        mutation->sent(node.action.transaction,
                       {machine.snapshot(), *histories_[node.history].resolution, scenario_.settings, now});
      },
      node.machine);
}

NodeId World::resume(NodeId id, Event::Kind kind, const ItemIds& images, std::uint16_t marker, Time now,
                     bool link_failed) {
  const StepKey key{id,
                    {images[0], images[1]},
                    marker,
                    static_cast<std::int8_t>(kind),
                    static_cast<std::int8_t>(now),
                    link_failed};
  if (const NodeId* known = steps_.find(key)) return *known;
  return steps_.add(key, compute_resume(id, kind, images, marker, now, link_failed));
}

NodeId World::compute_resume(NodeId id, Event::Kind kind, const ItemIds& images, std::uint16_t marker,
                             Time now, bool link_failed) {
  Event event;
  event.kind = kind;
  event.link_failed = link_failed;
  for (int i = 0; i < tasks_[nodes_[id].task].buckets; ++i) {
    const ItemId image = images[static_cast<std::size_t>(i)];
    event.images.push_back(image == not_shown ? Image{} : Image{true, items_[image]});
  }
  if (marker != not_shown) event.marker = {true, markers_[marker]};
  const Mutation* const mutation = scenario_.mutation;
  if (mutation != nullptr && mutation->heard != nullptr) mutation->heard(event);
  if (mutation != nullptr && mutation->clock != nullptr) now = mutation->clock(now);
  Node node = nodes_[id];
  node.action = std::visit([&](auto& machine) { return machine.resume(event, now); }, node.machine);
  mutate(node, now);
  return keep(std::move(node));
}

Applied World::apply(NodeId node, const ItemIds& items, MarkerId marker, const conditional::Link& link) {
  const auto of_link = static_cast<std::uint32_t>((link.moving ? 2 : 0) + (link.parent.empty() ? 0 : 1));
  const StepKey key{node, {items[0], items[1]}, marker, 0, 0, of_link};
  if (const Applied* known = applied_.find(key)) return *known;
  Transaction transaction = nodes_[node].action.transaction;
  const auto& mark = markers_[marker];
  const Mutation* const mutation = scenario_.mutation;
  if (mutation != nullptr && mutation->delivered != nullptr) mutation->delivered(transaction, mark);
  Applied result{true, 0, items, marker};
  for (const auto& write : transaction.writes) {
    const auto& item = items_[items[write.bucket]];
    if (!holds(item ? &*item : nullptr, write))
      result.failed |= static_cast<std::uint8_t>(1U << write.bucket);
  }
  if (transaction.marker && !holds(mark ? &*mark : nullptr, *transaction.marker)) result.failed |= 0x80U;
  for (const auto& check : transaction.links) {
    // The parent of the second entity never changes: it has none.
    if (!holds(check.entity == 0 ? link : conditional::Link{}, check)) result.failed |= 0x40U;
  }
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

ReadResult World::read(ItemId item, HistoryId history, Time now) {
  const ReadKey key{item, history, static_cast<std::int32_t>(now)};
  if (const ReadResult* known = readings_.find(key)) return *known;
  ReadResult reading;
  const Record& state = *items_[item];
  const bucket::Claims claims = bucket::claims_of(&state, *histories_[history].resolution, now);
  for (const auto& limit : claims.limits) {
    reading.held[static_cast<std::size_t>(limit.name[0] - 'a')] =
        static_cast<std::int8_t>(limit.held(&state));
  }
  return readings_.add(key, reading);
}

}  // namespace weir::model
