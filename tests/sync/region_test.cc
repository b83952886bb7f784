// The state machine of a region, step by step.
#include "sync/region.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::sync {
namespace {

constexpr Time start = 1'700'000'000'000;
constexpr Millitokens token = 1000;

/// Two regions share 600 a minute, so that each may always have 300. "eu" has a share of 100, of version 7.
class SharesOfEu : public testing::Test {
 protected:
  static Region eu() { return Region({.region = "eu", .regions = {"eu", "us"}}); }

  StoreView reading(Time now, int consumed, std::int64_t version = 7) const {
    StoredLimits record{.level = Level::entity("key", "r"), .limits = {{"rpm", *Limit::parse("100/min")}}};
    record.owner = Owner::sync;
    record.expires_at = expires_at;
    record.version = version;
    BucketLimit used{.name = "rpm", .limit = *Limit::parse("100/min")};
    used.consumed = consumed;
    return {.entity = "key",
            .resource = "r",
            .below = {{"rpm", *Limit::parse("600/min")}},
            .bucket = Bucket{.entity = "key", .resource = "r", .refilled_at = now, .limits = {used}},
            .record = record,
            .record_read = true};
  }
  /// "us" has its part of the whole, and used this much in the last window.
  static Snapshot us(Time now, int used) {
    return {.region = "us",
            .sequence = 1,
            .window = 10'000,
            .published_at = now,
            .entries = {{.entity = "key",
                         .resource = "r",
                         .until = now + 20'000,
                         .limits = {{.name = "rpm",
                                     .capacity = 600 * token,
                                     .share = 300 * token,
                                     .windows = {used * token}}}}}};
  }
  /// What "eu" published last, by a bucket that had counted this much.
  static Snapshot counted(Time now, Millitokens consumed) {
    return {.region = "eu",
            .sequence = 1,
            .window = 10'000,
            .published_at = now,
            .entries = {{.entity = "key",
                         .resource = "r",
                         .limits = {{.name = "rpm", .consumed = consumed, .capacity = 600 * token}}}}};
  }
  static Millitokens lent_to_us(const Snapshot& eu_has, Time now) {
    return lent(eu_has.find("key", "r")->find("rpm")->grants, now, "us");
  }

  const Time expires_at = start + 40'000;
};

TEST_F(SharesOfEu, AreLentOnlyAfterAWriteThatADelayedProcessCannotReplace) {
  // Two processes of the region see the same store. One decides to raise the share to all that the region may
  // have, while "us" is quiet, and is delayed before it writes.
  Region delayed = eu();
  Region other = eu();
  for (Region* const process : {&delayed, &other}) {
    (void)process->observe(start, std::vector{reading(start, 0)});
    (void)process->observe(start + 10'000, std::vector{reading(start + 10'000, 50)});
  }
  const auto raise = delayed.decide(start + 10'000, std::vector{us(start + 10'000, 0)});
  ASSERT_EQ(raise.size(), 1U);
  EXPECT_EQ(raise[0].shares[0].second, 300 * token);
  EXPECT_EQ(raise[0].replaces, 7);

  // By now "us" needs more. The other process wants to lend, and has no reason to write: the share is right.
  Time now = start + 11'000;
  EXPECT_TRUE(other.decide(now, std::vector{us(now, 300)}).empty());
  EXPECT_EQ(lent_to_us(other.snapshot(now), now), 0)
      << "the delayed write would be accepted, and both regions would use the same tokens";

  // A write of its own comes before the grant, so that the delayed one finds another version.
  now = start + 20'000;
  (void)other.observe(now, std::vector{reading(now, 100)});
  const auto renewal = other.decide(now, std::vector{us(now, 300)});
  ASSERT_EQ(renewal.size(), 1U);
  EXPECT_EQ(renewal[0].replaces, 7);
  other.wrote(renewal[0], Outcome::written, renewal[0].until, 8);
  const Millitokens lent = lent_to_us(other.snapshot(now), now);
  EXPECT_GT(lent, 0);
  EXPECT_LE(renewal[0].shares[0].second + lent, 300 * token);
}

TEST_F(SharesOfEu, CountDemandFromAnyCounterWithoutOverflow) {
  constexpr Millitokens lowest = std::numeric_limits<Millitokens>::min();
  Region restored = eu();
  restored.restore(counted(start, lowest));
  const Snapshot huge = restored.observe(start + 10'000, std::vector{reading(start + 10'000, 50)});
  EXPECT_EQ(huge.find("key", "r")->find("rpm")->windows, std::vector<Millitokens>{Amount::max_millitokens});
  // A bucket that gave back more than it charged has used nothing, and others can read that.
  Region fresh = eu();
  const Snapshot below = fresh.observe(start, std::vector{reading(start, -50)});
  const auto read = read_snapshot(to_json(below));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->find("key", "r")->find("rpm")->consumed, 0);
}

}  // namespace
}  // namespace weir::sync
