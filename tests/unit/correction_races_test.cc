// Every interleaving of corrections, acquires and a settle on one bucket, with the machines that DynamoDB
// runs and the interpreter that defines their writes. The clock stands still, so that nothing refills: what
// was sold is the capacity and the grants, to the token.
#include <gtest/gtest.h>

#include <variant>

#include "store/conditional/acquire.h"
#include "store/conditional/change.h"
#include "store/conditional/correction.h"

namespace weir::conditional {
namespace {

using Machine = std::variant<Acquire, Change, CorrectionMachine>;

constexpr Time now = 1'000'000;
constexpr std::int64_t capacity = 5'000;
constexpr std::int64_t granted_amount = 4'000;

limits::ResolutionRef resolution() {
  static const limits::ResolutionRef made = [] {
    const NamedLimit limits[] = {{"rpm", *Limit::parse("5/d")}, {"tpm", *Limit::parse("5/d")}};
    auto set = limits::make_limit_set(limits);
    auto resolved = limits::resolve({}, *set, now, 7);
    return limits::ResolutionRef(resolved.get());
  }();
  return made;
}

BucketPlan plan_of(std::int64_t amount = 0, std::uint64_t generation = 0) {
  BucketPlan plan;
  plan.resolution = resolution();
  // The writers have seen every version that a race can give to the bucket.
  plan.resolved_after = 1'000'000'000;
  plan.generation = generation;
  if (amount != 0) plan.charges.push_back({"tpm", amount});
  return plan;
}

struct Process {
  Machine machine;
  Action action;
  std::int64_t asked = 0;  ///< of an acquire
  bool has_marker = false;
};

struct World {
  std::optional<Record> item;
  std::optional<Marker> marker;  ///< of the grants, which share a key
  std::vector<Process> processes;
  std::int64_t given = 0;  ///< by corrections that were applied
  std::int64_t first = 0;  ///< charged before the race
  int lost = 0;            ///< answers so far
};

/// What an exploration is asked to break, to see that it notices.
enum class Mutation { none, no_new_version, no_list, no_marker };

class Exploration {
 public:
  Exploration(World start, Mutation mutation) : mutation_(mutation) { explore(std::move(start)); }
  std::size_t states() const { return states_; }
  const std::string& wrong() const { return wrong_; }

 private:
  void explore(World world) {
    ++states_;
    if (!wrong_.empty()) return;
    bool ended = true;
    for (std::size_t i = 0; i < world.processes.size(); ++i) {
      if (world.processes[i].action.kind == Action::Kind::done) continue;
      ended = false;
      // The answer arrives, or it gets lost after or before the write.
      const bool writes = world.processes[i].action.kind == Action::Kind::write;
      constexpr int most_lost = 2;
      const bool may_be_lost = writes && world.processes[i].has_marker && world.lost < most_lost;
      for (int fate = 0; fate < (may_be_lost ? 3 : 1); ++fate) step(world, i, fate);
    }
    if (ended) judge(world);
  }

  void step(World world, std::size_t index, int fate) {
    Process& process = world.processes[index];
    if (fate > 0) ++world.lost;
    Event event;
    if (process.action.kind == Action::Kind::read) {
      event = {Event::Kind::seen, {image(world)}, {true, world.marker}};
    } else if (fate == 2) {
      event.kind = Event::Kind::unknown;
    } else {
      event = write(world, mutated(process.action.transaction), process.has_marker);
      if (fate == 1) event = {Event::Kind::unknown, {}, {}};
    }
    process.action = std::visit([&](auto& machine) { return machine.resume(event, now); }, process.machine);
    explore(std::move(world));
  }

  static Image image(const World& world) { return {true, world.item}; }

  Transaction mutated(Transaction transaction) const {
    for (Write& one : transaction.writes) {
      if (mutation_ == Mutation::no_new_version) one.set_version.reset();
      for (LimitWrite& limit : one.limits) {
        if (mutation_ != Mutation::no_list) continue;
        limit.grants.reset();
        limit.at_most.reset();
        limit.at_least.reset();
      }
    }
    if (mutation_ == Mutation::no_marker) transaction.marker.reset();
    return transaction;
  }

  Event write(World& world, const Transaction& transaction, bool has_marker) {
    const Record* const item = world.item ? &*world.item : nullptr;
    const Marker* const marker = world.marker ? &*world.marker : nullptr;
    for (const Write& one : transaction.writes) {
      if (!holds(item, one)) return {Event::Kind::failed, {image(world)}, {has_marker, world.marker}};
    }
    if (transaction.marker && !holds(marker, *transaction.marker))
      return {Event::Kind::failed, {image(world)}, {true, world.marker}};
    const std::optional<Record> before = world.item;
    for (const Write& one : transaction.writes) apply(world.item, one);
    if (transaction.marker) world.marker = transaction.marker->next;
    check_order(before, *world.item);
    world.given += worth(world.item) + consumed(world.item) - worth(before) - consumed(before);
    return {Event::Kind::applied, {image(world)}, {}};
  }

  /// A charge takes grants first.
  void check_order(const std::optional<Record>& before, const Record& after) {
    const std::int64_t charged = consumed(after) - consumed(before);
    const std::int64_t had = before ? bucket::total(before->find("tpm")->grants) : 0;
    const std::int64_t has = bucket::total(after.find("tpm")->grants);
    if (charged > 0 && had - has != std::min(had, charged)) wrong_ = "a charge did not take the grants first";
  }

  static std::int64_t consumed(const std::optional<Record>& item) {
    return item ? item->find("tpm")->consumed : 0;
  }
  static std::int64_t worth(const std::optional<Record>& item) {
    return item ? item->find("tpm")->tokens + bucket::total(item->find("tpm")->grants) : capacity;
  }

  void judge(const World& world) {
    std::int64_t admitted = 0;
    for (const Process& process : world.processes) {
      const auto* const acquire = std::get_if<Acquire>(&process.machine);
      if (acquire != nullptr && acquire->outcome().kind == AcquireOutcome::Kind::admitted)
        admitted += process.asked;
    }
    if (world.given != granted_amount) wrong_ = "granted " + std::to_string(world.given);
    if (worth(world.item) + consumed(world.item) != capacity + granted_amount)
      wrong_ = "the bucket is worth " + std::to_string(worth(world.item) + consumed(world.item));
    if (consumed(world.item) > world.first + admitted) wrong_ = "charged without an answer";
    if (worth(world.item) < 0) wrong_ = "an acquire made a debt";
  }

  const Mutation mutation_;
  std::size_t states_ = 0;
  std::string wrong_;
};

class CorrectionRaces : public testing::Test {
 protected:
  Settings settings{.attempts = 20};
  const Charge more[1] = {{"tpm", Amount::milli(granted_amount)}};
  World world;

  /// The bucket exists, and everybody has seen it before anything was granted.
  void charge_first(std::int64_t amount) {
    Acquire machine({.buckets = {plan_of(amount)}, .new_generation = 7, .lease_for = 60'000}, settings);
    const std::vector<Image> none{Image::absent()};
    const Action action = machine.start(none, now);
    apply(world.item, action.transaction.writes[0]);
    world.first = amount;
  }
  void add_acquire(std::int64_t amount) {
    Acquire machine({.buckets = {plan_of(amount)}, .new_generation = 8, .lease_for = 60'000}, settings);
    const std::vector<Image> remembered{Image{true, world.item}};
    const Action action = machine.start(remembered, now);
    world.processes.push_back({std::move(machine), action, amount, false});
  }
  void add_grant() {
    const decision::Correction correction{.verb = decision::Correction::Verb::grant, .amounts = more};
    CorrectionMachine machine(plan_of(), correction, settings, 9, "key");
    const Action action = machine.start();
    world.processes.push_back({std::move(machine), action, 0, true});
  }
  /// Of the charge before the race.
  void add_settle(std::int64_t actual) {
    ChangePlan plan;
    plan.lease.amounts.push_back({"tpm", world.first, 1});
    plan.amounts.push_back({"tpm", actual});
    plan.buckets.push_back(plan_of(0, world.item->generation));
    plan.entities = {"key"};
    plan.once = false;
    plan.deadline = now + 60'000;
    Change machine(std::move(plan), settings);
    const std::vector<Image> remembered{Image{true, world.item}};
    const Action action = machine.start(remembered, now);
    world.processes.push_back({std::move(machine), action, 0, false});
  }
  std::string wrong(Mutation mutation = Mutation::none) {
    const Exploration exploration(world, mutation);
    std::printf("%zu states\n", exploration.states());
    return exploration.wrong();
  }
};

TEST_F(CorrectionRaces, AGrantIsGivenOnceAndTakenFirstInEveryInterleaving) {
  charge_first(1'000);
  // Another limit of the bucket has a grant already.
  for (bucket::LimitState& limit : world.item->limits) {
    if (limit.name == "rpm") limit.grants = {{bucket::no_end, 1'000}};
  }
  world.item->expires_at = bucket::never;
  add_grant();
  add_grant();
  add_acquire(3'000);
  EXPECT_EQ(wrong(), "");
  EXPECT_NE(wrong(Mutation::no_new_version), "") << "an image without grants must not be charged";
  EXPECT_NE(wrong(Mutation::no_marker), "") << "the second copy must not grant again";
}

TEST_F(CorrectionRaces, AGrantIsTakenOnceInEveryInterleaving) {
  charge_first(1'000);
  for (bucket::LimitState& limit : world.item->limits) {
    if (limit.name == "tpm") limit.grants = {{bucket::no_end, granted_amount}};
  }
  world.item->expires_at = bucket::never;
  world.given = granted_amount;
  add_acquire(3'000);
  add_acquire(2'000);
  EXPECT_EQ(wrong(), "");
  EXPECT_NE(wrong(Mutation::no_list), "") << "an image with other grants must not be charged";
}

TEST_F(CorrectionRaces, AGrantMeetsChargesAndASettleInEveryInterleaving) {
  charge_first(4'000);
  add_grant();
  add_acquire(2'000);
  add_acquire(3'000);
  add_settle(1'000);
  EXPECT_EQ(wrong(), "");
}

TEST_F(CorrectionRaces, ANewBucketIsGrantedAndChargedInEveryInterleaving) {
  add_grant();
  add_acquire(2'000);
  add_acquire(7'000);
  EXPECT_EQ(wrong(), "");
}

}  // namespace
}  // namespace weir::conditional
