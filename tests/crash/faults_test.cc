// A disk that is full, or fails to sync: callers are told, nobody is admitted, nothing acknowledged is lost,
// and when the disk works again, so does the store.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <thread>

#include "crash/disk.h"
#include "crash/inspection.h"
#include "support/folder.h"
#include "weir/weir.h"

namespace weir::crash {
namespace {

enum class Fault { full, sync, sync_once };

std::ostream& operator<<(std::ostream& out, Fault fault) {
  return out << (fault == Fault::full ? "DiskIsFull" : fault == Fault::sync ? "SyncFails" : "SyncFailsOnce");
}

class Faults : public testing::TestWithParam<Fault> {
 public:
  void SetUp() override {
    Disk::install();
    open();
    for (const char* const key : {"a", "b"})
      ASSERT_TRUE(limiter_->put_entity({.id = key, .parent = "project", .cascade = true}));
    ASSERT_TRUE(limiter_->set_limits(Level::system(), {{"rpm", "100000/day"}, {"tpm", "100000/day"}}));
    acquire("a");
    acquire("b");
  }
  void TearDown() override { Disk::heal(); }

  void open() {
    auto opened = Limiter::open("sqlite:" + path_, {.clock = &clock_});
    ASSERT_TRUE(opened) << opened.error().message;
    limiter_.emplace(*std::move(opened));
  }
  static void strike(std::uint64_t at) {
    if (GetParam() == Fault::full) Disk::fail_writes(SQLITE_FULL, at);
    if (GetParam() == Fault::sync) Disk::fail_syncs(SQLITE_IOERR_FSYNC, at);
    if (GetParam() == Fault::sync_once) Disk::fail_syncs(SQLITE_IOERR_FSYNC, at, 1);
  }
  /// Whether it was admitted; counts what was acknowledged and what is unknown.
  bool acquire(const std::string& entity) {
    auto decision = limiter_->acquire(entity, resource, {{"rpm", 1}, {"tpm", 1}});
    if (decision) {
      ++acknowledged_;
      return decision->admitted();
    }
    expect_told(decision.error());
    if (decision.error().code == ErrorCode::outcome_unknown) ++unknown_;
    return false;
  }
  static void expect_told(const Error& error) {
    EXPECT_TRUE(error.code == ErrorCode::outcome_unknown || error.code == ErrorCode::unavailable)
        << error.message;
    const char* const advice = GetParam() == Fault::full ? "make room" : "check the disk";
    EXPECT_NE(error.message.find(advice), std::string::npos) << error.message;
  }
  std::int64_t consumed(const char* entity) {
    auto buckets = limiter_->buckets(entity);
    return buckets->items.at(0).limits.at(0).consumed.millitokens() / 1000;
  }
  /// Everything that was acknowledged, and of what is unknown as much as there is; on all levels alike.
  void expect_exact() {
    const std::int64_t charged = consumed("a") + consumed("b");
    EXPECT_GE(charged, acknowledged_);
    EXPECT_LE(charged, acknowledged_ + unknown_);
    EXPECT_EQ(consumed("project"), charged);
  }
  /// What a new process would find if this one died now.
  void expect_exact_after_a_crash() {
    const std::string copy = folder_.file("copy.db");
    copy_database(path_, copy);
    const Inspection file = inspect(copy);
    EXPECT_EQ(file.integrity, "ok");
    const std::int64_t charged = file.consumed("a")[0] + file.consumed("b")[0];
    EXPECT_GE(charged, acknowledged_);
    EXPECT_LE(charged, acknowledged_ + unknown_);
    EXPECT_EQ(file.consumed("project")[0], charged);
  }
  /// The store goes on by itself.
  void expect_recovery() {
    Disk::heal();
    while (!acquire("a")) std::this_thread::yield();
    EXPECT_TRUE(acquire("b"));
    expect_exact();
    expect_exact_after_a_crash();
  }

  tests::Folder folder_;
  const std::string path_ = folder_.file("weir.db");
  FakeClock clock_{standing_time};
  std::optional<Limiter> limiter_;
  std::int64_t acknowledged_ = 0;
  std::int64_t unknown_ = 0;
};

TEST_P(Faults, CallersAreToldAndTheStoreGoesOnWhenTheDiskDoes) {
  for (std::uint64_t at = 1; at <= 12; ++at) {
    SCOPED_TRACE(at);
    strike(at);
    while (!Disk::has_failed()) acquire(at % 2 == 0 ? "a" : "b");
    // A fault that passes may be over before anybody asks.
    if (GetParam() != Fault::sync_once) {
      while (acquire("a")) continue;
      for (int i = 0; i < 20; ++i) EXPECT_FALSE(acquire("b")) << "admitted though nothing can be written";
    }
    expect_exact_after_a_crash();
    expect_recovery();
  }
  limiter_.reset();
  open();
  expect_exact();
}

TEST_P(Faults, ASettleThatFailedCanBeRepeatedAndCountsOnce) {
  for (std::uint64_t at = 1; at <= 6; ++at) {
    SCOPED_TRACE(at);
    auto decision = limiter_->acquire("a", resource, {{"rpm", 2}, {"tpm", 2}});
    ASSERT_TRUE(decision && decision->admitted());
    const std::string id = *decision->lease().id();
    const std::int64_t before = consumed("a");
    strike(at);
    bool settled = false;
    while (!Disk::has_failed()) {
      if (!settled) {
        auto answer = limiter_->settle(id, {{"rpm", 1}});
        settled = answer.ok();
        if (!answer) expect_told(answer.error());
      } else {
        acquire("b");
      }
    }
    Disk::heal();
    while (!limiter_->settle(id, {{"rpm", 1}})) std::this_thread::yield();
    EXPECT_EQ(consumed("a"), before - 1);
    limiter_.reset();
    open();
    EXPECT_TRUE(limiter_->settle(id, {{"rpm", 1}}));
    EXPECT_FALSE(limiter_->settle(id, {{"rpm", 2}}));
    EXPECT_EQ(consumed("a"), before - 1);
  }
}

TEST_P(Faults, LimitsAreWhatTheyWereUnlessTheChangeWasAcknowledged) {
  for (std::uint64_t at = 1; at <= 8; ++at) {
    SCOPED_TRACE(at);
    const Level level = Level::resource("other");
    ASSERT_TRUE(limiter_->set_limits(level, {{"rpm", "1"}}));
    strike(at);
    std::int64_t last = 1;
    for (std::int64_t next = 2; !Disk::has_failed(); ++next) {
      const std::string text = std::to_string(next);
      auto answer = limiter_->set_limits(level, {{"rpm", text}});
      if (answer) {
        last = next;
      } else {
        expect_told(answer.error());
      }
    }
    EXPECT_EQ(limiter_->limits(level)->limits.at(0).limit.capacity(), Amount(last));
    expect_recovery();
    limiter_.reset();
    open();
    EXPECT_EQ(limiter_->limits(level)->limits.at(0).limit.capacity(), Amount(last));
  }
}

TEST_P(Faults, AChangeOfLimitsThatMayComeBackAfterACrashIsSaidToBeUnknown) {
  const Level level = Level::resource("other");
  ASSERT_TRUE(limiter_->set_limits(level, {{"rpm", "1"}}));
  for (std::uint64_t at = 1; at <= 6; ++at) {
    SCOPED_TRACE(at);
    strike(at);
    const auto answer = limiter_->set_limits(level, {{"rpm", "2"}});
    const std::string copy = folder_.file("copy.db");
    copy_database(path_, copy);
    auto later = Limiter::open("sqlite:" + copy, {.clock = &clock_});
    Disk::heal();
    if (later && later->limits(level)->limits.at(0).limit.capacity() == Amount(2)) {
      EXPECT_TRUE(answer || answer.error().code == ErrorCode::outcome_unknown) << answer.error().message;
    }
    expect_recovery();
    ASSERT_TRUE(limiter_->set_limits(level, {{"rpm", "1"}}));
  }
}

INSTANTIATE_TEST_SUITE_P(Disk, Faults, testing::Values(Fault::full, Fault::sync, Fault::sync_once),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::crash
