// Plans that are assigned in one process while another deletes them.
#include <barrier>
#include <thread>

#include "contract/contract.h"

namespace weir::contract {
namespace {

class PlanRaces : public Contract {
 public:
  const int races = rounds(300);

  static LimitsPlan plan_of(const std::string& name) {
    return {.name = name, .limits = {{{"rpm", *Limit::parse("100/min")}}}};
  }
  /// Runs both at the same time, with a head start for one of them that depends on the round.
  template <class First, class Second>
  static void race(int round, First first, Second second) {
    const auto wait = [&](bool waits) {
      if (waits) std::this_thread::sleep_for(std::chrono::microseconds(round / 2 % 10 * 150));
    };
    std::barrier begins(2);
    std::thread other([&] {
      begins.arrive_and_wait();
      wait(round % 2 == 0);
      second();
    });
    begins.arrive_and_wait();
    wait(round % 2 != 0);
    first();
    other.join();
  }
  /// The limiter that deletes: that of another process, where a store can have several.
  Limiter& deleting(Limiter& another) { return GetParam().name == "memory" ? limiter : another; }
  /// Where nobody changes anything any more: an entity names a plan only if there is one.
  void expect_whole(Limiter& reader, const std::string& entity, const std::string& plan) {
    const auto read = reader.entity(entity);
    const bool named = read && read->plan == plan;
    const auto stored = reader.plan(plan);
    EXPECT_TRUE(!named || stored) << entity << " names a plan that does not exist";
    if (!stored) {
      EXPECT_EQ(stored.error().code, ErrorCode::not_found);
      return;
    }
    const auto members = reader.members(plan);
    ASSERT_TRUE(members) << members.error().message;
    EXPECT_EQ(members->items, named ? std::vector<std::string>{entity} : std::vector<std::string>());
    EXPECT_EQ(reader.delete_plan(plan).ok(), !named);
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, PlanRaces, testing::ValuesIn(stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(PlanRaces, APlanThatIsAssignedWhileItIsDeletedStaysOrIsNotAssigned) {
  Limiter another = *store_->open({});
  Limiter& other = deleting(another);
  int assigned = 0;
  for (int i = 0; i < races; ++i) {
    const std::string entity = "key-" + std::to_string(i);
    const std::string plan = "plan-" + std::to_string(i);
    ASSERT_TRUE(limiter.put_plan(plan_of(plan)));
    std::optional<ErrorCode> not_assigned;
    std::optional<ErrorCode> not_deleted;
    race(
        i,
        [&] {
          const auto put = limiter.put_entity({.id = entity, .plan = plan});
          if (!put) not_assigned = put.error().code;
        },
        [&] {
          const auto deleted = other.delete_plan(plan);
          if (!deleted) not_deleted = deleted.error().code;
        });
    EXPECT_NE(not_assigned.has_value(), not_deleted.has_value()) << "one of them, and not both";
    EXPECT_EQ(not_assigned.value_or(ErrorCode::invalid_argument), ErrorCode::invalid_argument);
    EXPECT_EQ(not_deleted.value_or(ErrorCode::conflict), ErrorCode::conflict);
    assigned += not_assigned ? 0 : 1;
    expect_whole(other, entity, plan);
    expect_whole(limiter, entity, plan);
  }
  std::cout << assigned << " of " << races << " were assigned\n";
}

TEST_P(PlanRaces, AMemberThatMovesToAPlanThatIsDeletedHasOneOfBoth) {
  Limiter another = *store_->open({});
  Limiter& other = deleting(another);
  ASSERT_TRUE(limiter.put_plan(plan_of("home")));
  for (int i = 0; i < races; ++i) {
    const std::string plan = "plan-" + std::to_string(i);
    ASSERT_TRUE(limiter.put_plan(plan_of(plan)));
    ASSERT_TRUE(limiter.put_entity({.id = "key", .plan = i % 2 == 0 ? "home" : plan}));
    const std::string next = i % 2 == 0 ? plan : "home";
    race(
        i, [&] { (void)limiter.put_entity({.id = "key", .plan = next}); },
        [&] { (void)other.delete_plan(plan); });
    const auto entity = limiter.entity("key");
    ASSERT_TRUE(entity) << entity.error().message;
    EXPECT_TRUE(limiter.plan(entity->plan)) << entity->plan;
  }
}

}  // namespace
}  // namespace weir::contract
