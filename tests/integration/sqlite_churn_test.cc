// A file under load that never pauses stays as large as what is alive in it.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "limiter/pending.h"
#include "store/sqlite/sqlite_store.h"
#include "support/folder.h"

namespace weir {
namespace {

class Churn : public testing::Test {
 public:
  void SetUp() override {
    base::SystemEntropy entropy;
    auto opened = sqlite::SqliteStore::open(path_, {.clock = clock_}, entropy);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = *opened;
    core_.emplace(limiter::Foundation{clock_, std::make_shared<base::SystemEntropy>(), store_},
                  Options{.lease_deadline = std::chrono::minutes(1)});
    ASSERT_TRUE(core_->set_limits(Level::system(), *parse_limits({{"rpm", "100/min"}}), {}));
  }
  /// Starts operations at once, so that they share few commits, and waits for all.
  template <class Pending, class Start>
  void at_once(std::size_t count, Start&& start) {
    std::deque<Pending> all;
    left_ = count;
    for (std::size_t i = 0; i < count; ++i) start(all.emplace_back(*core_), i);
    for (std::size_t left = left_; left != 0; left = left_) left_.wait(left);
  }
  store::Completion<void> done() {
    return {[](void* self, Result<void>&& result) {
              EXPECT_TRUE(result) << result.error().message;
              auto& left = static_cast<Churn*>(self)->left_;
              if (--left == 0) left.notify_one();
            },
            this};
  }
  std::int64_t rows(const char* sql) {
    auto database = sqlite::Database::open(path_, sqlite::Access::read);
    return *(*database)->number(sql);
  }

  tests::Folder folder_;
  const std::string path_ = folder_.file("weir.db");
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<sqlite::SqliteStore> store_;
  std::optional<limiter::Core> core_;
  std::atomic<std::size_t> left_ = 0;
};

TEST_F(Churn, EntitiesThatComeOnceByTheThousandDoNotStayInTheFile) {
  constexpr std::size_t each = 2000;
  const Charge consume[] = {{"rpm", 1}};
  for (int wave = 0; wave < 15; ++wave) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < each; ++i)
      names.push_back("once-" + std::to_string(wave) + "-" + std::to_string(i));
    at_once<limiter::PendingAcquire>(
        each, [&](auto& acquire, std::size_t i) { acquire.start(names[i], "r", consume, {}, done()); });
    clock_->advance(std::chrono::minutes(10));
  }
  EXPECT_LT(rows("SELECT count(*) FROM buckets"), 5 * static_cast<std::int64_t>(each));
}

TEST_F(Churn, ABucketThatIsUsedAgainMakesNoMoreWorkForCleaning) {
  const Charge consume[] = {{"rpm", 1}};
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(core_->acquire("busy", "r", consume, {}));
    // A change makes a new record of the same bucket.
    const std::string limit = std::to_string(200 + i) + "/min";
    ASSERT_TRUE(core_->set_limits(Level::system(), *parse_limits({{"rpm", limit}}), {}));
  }
  EXPECT_EQ(store_->counts().new_buckets, 1U);
}

TEST_F(Churn, LeasesThatEndedLongAgoDoNotStayInTheFile) {
  constexpr std::size_t each = 1000;
  const Charge consume[] = {{"rpm", Amount::milli(1)}};
  for (int wave = 0; wave < 10; ++wave) {
    std::vector<std::string> ids(each);
    auto decision = core_->acquire("busy", "r", consume, {});
    ASSERT_TRUE(decision && decision->admitted());
    {
      std::deque<limiter::PendingAcquire> all;
      left_ = each;
      for (std::size_t i = 0; i < each; ++i) all.emplace_back(*core_).start("busy", "r", consume, {}, done());
      for (std::size_t left = left_; left != 0; left = left_) left_.wait(left);
      for (std::size_t i = 0; i < each; ++i) ids[i] = *all[i].decision().lease().id();
    }
    at_once<limiter::PendingChange>(each, [&](auto& change, std::size_t i) {
      change.start(ids[i], {detail::LeaseVerb::rollback, {}, {}}, done());
    });
    clock_->advance(std::chrono::minutes(2));
  }
  EXPECT_LT(rows("SELECT count(*) FROM leases"), 5 * static_cast<std::int64_t>(each));
}

}  // namespace
}  // namespace weir
