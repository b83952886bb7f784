#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(Namespaces);

using Names = std::vector<std::string>;

Names names(const Result<Names>& found) { return found ? *found : Names{found.error().message}; }

TEST_P(Namespaces, ThatHoldDataAreListed) {
  EXPECT_EQ(names(limiter.namespaces()), Names{});
  set_system({{"rpm", "10/min"}});
  EXPECT_EQ(names(limiter.namespaces()), Names{"default"});
  // On memory every limiter has a store of its own.
  if (GetParam().name == "memory") return;
  auto team = store_->open({.name_space = "team-2"});
  auto looks = store_->open({.name_space = "looks"});
  auto buckets = store_->open({.name_space = "buckets"});
  ASSERT_TRUE(team && looks && buckets);
  ASSERT_TRUE(team->put_entity({.id = "key/1"}));
  EXPECT_FALSE(looks->entity("nobody"));
  const auto limits = *RequestLimits::make({{"rpm", "5/min"}});
  AcquireOptions options;
  options.limits = &limits;
  ASSERT_TRUE(buckets->acquire("key", "gpt-4", {{"rpm", 1}}, options));
  EXPECT_EQ(names(limiter.namespaces()), (Names{"buckets", "default", "team-2"}));
  EXPECT_EQ(names(looks->namespaces()), (Names{"buckets", "default", "team-2"}));
}

}  // namespace
}  // namespace weir::contract
