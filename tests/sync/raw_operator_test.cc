// An operator who writes limits with another program than weir: sync leaves the record alone until it is
// gone.
#include <gtest/gtest.h>

#include "sync/raw_stores.h"
#include "sync/simulation.h"

namespace weir::sync {
namespace {

class RawOperator : public testing::TestWithParam<RawKind> {
 public:
  RawOperator() { EXPECT_TRUE(store_->limiter().set_limits(Level::system(), {{"rpm", "600/min"}})); }

  /// A window with some use, and a cycle at its end.
  CycleReport window() {
    store_->clock().advance(std::chrono::seconds(10));
    const auto used = store_->limiter().acquire("key", "gpt-4", {{"rpm", 1}});
    EXPECT_TRUE(used) << used.error().message;
    auto report = runner_.cycle();
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : CycleReport{};
  }
  Owner owner() const {
    const auto stored = store_->limiter().limits(Level::entity("key", "gpt-4"));
    EXPECT_TRUE(stored) << stored.error().message;
    return stored ? stored->owner : Owner::operator_;
  }

  std::unique_ptr<RawStore> store_ = GetParam().make();
  MemoryExchange exchange_;
  Runner runner_{store_->limiter(),
                 exchange_,
                 {.region = "a", .regions = {"a", "b"}},
                 {{.resource = "gpt-4", .entities = {"key"}}},
                 store_->clock(),
                 {.threads = 1}};
};
INSTANTIATE_TEST_SUITE_P(Stores, RawOperator, testing::ValuesIn(raw_stores()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(RawOperator, ARecordOfAnotherProgramSurvivesAThousandCyclesAndReturnsWithinOneWhenItIsDeleted) {
  for (int i = 0; i < 3; ++i) window();
  EXPECT_EQ(owner(), Owner::sync);
  store_->write();
  const std::string written = store_->record();
  EXPECT_NE(written.find("77"), std::string::npos) << written;
  for (int i = 0; i < 1000; ++i) {
    const CycleReport report = window();
    ASSERT_EQ(report.written, 0U) << i;
    ASSERT_EQ(report.failed, 0U) << i;
    ASSERT_TRUE(report.unreadable.empty()) << report.unreadable[0].message;
  }
  EXPECT_EQ(store_->record(), written);
  EXPECT_EQ(owner(), Owner::operator_);
  EXPECT_TRUE(runner_.region().status()[0].operator_owned);
  store_->erase();
  EXPECT_EQ(window().written, 1U);
  EXPECT_EQ(owner(), Owner::sync);
}

}  // namespace
}  // namespace weir::sync
