// From images of a bucket to what it used.
#include "usage/deltas.h"

#include <gtest/gtest.h>

namespace weir::usage {
namespace {

constexpr Time noon = 2'000'001'600'000 / hour * hour;

Counters counters(std::uint64_t generation, std::vector<Used> amounts, bool counts = true) {
  return {generation, std::move(amounts), counts};
}

/// Records of one bucket, each of which continues the last.
class History {
 public:
  BucketRecord write(Counters next, Time at = noon) {
    BucketRecord record = empty(at);
    record.old = last_;
    record.next = last_ = std::move(next);
    return record;
  }
  BucketRecord remove() {
    BucketRecord record = empty(0);
    record.old = std::exchange(last_, std::nullopt);
    return record;
  }

 private:
  BucketRecord empty(Time at) {
    const std::string sequence = std::to_string(++sequence_);
    return {.bucket = {"default", "key", "gpt-4"},
            .sequence = sequence,
            .position = stream_position("2026-11-17T00:00:00.000", sequence),
            .at = at};
  }
  int sequence_ = 0;
  std::optional<Counters> last_;
};

/// The sums of an advance over all records at once.
std::vector<HourSum> sums_of(const std::vector<BucketRecord>& records) {
  return count_records({}, records).sums;
}

TEST(Deltas, OneWriteYieldsTheDeltasOfAllLimits) {
  History history;
  EXPECT_EQ(extract_deltas(history.write(counters(1, {{"rpm", 1000}, {"tpm", 500'000}}))),
            (std::vector<Used>{{"rpm", 1000}, {"tpm", 500'000}}))
      << "a missing old counter is 0";
  EXPECT_EQ(extract_deltas(history.write(counters(1, {{"rpm", 2000}, {"tpm", 400'000}}))),
            (std::vector<Used>{{"rpm", 1000}, {"tpm", -100'000}}));
  EXPECT_EQ(extract_deltas(history.write(counters(1, {{"rpm", 2000}, {"tpm", 400'001}}))),
            (std::vector<Used>{{"tpm", 1}}))
      << "what did not change is left out";
}

TEST(Deltas, ABucketThatIsMadeAnewStartsAtZeroAgain) {
  History history;
  (void)history.write(counters(1, {{"rpm", 7000}}));
  EXPECT_EQ(extract_deltas(history.write(counters(2, {{"rpm", 1000}}))), (std::vector<Used>{{"rpm", 1000}}));
  EXPECT_TRUE(extract_deltas(history.remove()).empty());
  EXPECT_EQ(extract_deltas(history.write(counters(3, {{"rpm", 2000}}))), (std::vector<Used>{{"rpm", 2000}}));
}

TEST(Deltas, LimitsThatLeaveAndReturnDoNotDistort) {
  History history;
  std::vector<BucketRecord> records;
  records.push_back(history.write(counters(1, {{"rpm", 5000}, {"tpm", 10}})));
  records.push_back(history.write(counters(1, {{"tpm", 11}})));
  records.push_back(history.write(counters(1, {{"rpm", 0}, {"tpm", 11}})));
  records.push_back(history.write(counters(1, {{"rpm", 3000}, {"tpm", 11}})));
  EXPECT_EQ(sums_of(records), (std::vector<HourSum>{{noon, {{"rpm", 8000}, {"tpm", 11}}, 3}}));
  // The same where every record is counted alone, and only what must be is remembered.
  std::optional<StreamCursor> cursor;
  std::int64_t rpm = 0;
  for (const BucketRecord& record : records) {
    const Advance step = count_records(cursor, {&record, 1});
    for (const HourSum& sum : step.sums) {
      for (const Used& used : sum.amounts) rpm += used.limit == "rpm" ? used.amount : 0;
    }
    if (step.must_write) cursor = step.to;
    EXPECT_EQ(step.made_good, 0U);
  }
  EXPECT_EQ(rpm, 8000);
}

TEST(Deltas, WritesThatAreNoUsageAreNotCountedAndCostNothing) {
  History history;
  const BucketRecord first = history.write(counters(1, {{"rpm", 5000}}));
  Advance step = count_records({}, {&first, 1});
  ASSERT_TRUE(step.must_write);
  const StreamCursor cursor = step.to;
  const BucketRecord off = history.write(counters(1, {{"rpm", 105'000}}, false));
  EXPECT_FALSE(count_records(cursor, {&off, 1}).must_write);
  const BucketRecord still_off = history.write(counters(1, {{"rpm", 106'000}}, false));
  EXPECT_FALSE(count_records(cursor, {&still_off, 1}).must_write);
  const BucketRecord on = history.write(counters(1, {{"rpm", 108'000}}));
  step = count_records(cursor, {&on, 1});
  EXPECT_EQ(step.sums, (std::vector<HourSum>{{noon, {{"rpm", 2000}}, 1}}));
  EXPECT_EQ(step.made_good, 0U);
  const BucketRecord all[] = {first, off, still_off, on};
  EXPECT_EQ(count_records({}, all).sums, (std::vector<HourSum>{{noon, {{"rpm", 7000}}, 2}}));
}

TEST(Deltas, AWriteThatChangesNothingAfterUsageWasOffIsRemembered) {
  History history;
  const BucketRecord first = history.write(counters(1, {{"rpm", 5000}}));
  const BucketRecord off = history.write(counters(1, {{"rpm", 105'000}}, false));
  const BucketRecord nothing = history.write(counters(1, {{"rpm", 105'000}}));
  const BucketRecord on = history.write(counters(1, {{"rpm", 108'000}}));
  const StreamCursor cursor = count_records({}, {&first, 1}).to;
  EXPECT_FALSE(count_records(cursor, {&off, 1}).must_write);
  const Advance step = count_records(cursor, {&nothing, 1});
  EXPECT_EQ(step.sums, std::vector<HourSum>());
  ASSERT_TRUE(step.must_write);
  EXPECT_EQ(count_records(step.to, {&on, 1}).sums, (std::vector<HourSum>{{noon, {{"rpm", 3000}}, 1}}));
}

TEST(Deltas, ARecordThatIsSeenAgainCountsOnce) {
  History history;
  std::vector<BucketRecord> records;
  for (int i = 1; i <= 4; ++i) records.push_back(history.write(counters(1, {{"rpm", i * 1000}})));
  const std::vector<BucketRecord> twice = {records[0], records[1], records[0], records[1], records[2]};
  const Advance step = count_records({}, twice);
  EXPECT_EQ(step.sums, (std::vector<HourSum>{{noon, {{"rpm", 3000}}, 3}}));
  EXPECT_EQ(step.taken, 5U);
  EXPECT_FALSE(count_records(step.to, twice).must_write);
  EXPECT_EQ(count_records(step.to, records).sums, (std::vector<HourSum>{{noon, {{"rpm", 1000}}, 1}}));
}

TEST(Deltas, WhatALostRecordHidIsMadeGoodByTheNextInItsHour) {
  History history;
  const BucketRecord first = history.write(counters(1, {{"rpm", 1000}}));
  (void)history.write(counters(1, {{"rpm", 5000}, {"tpm", 7}}));
  const BucketRecord third = history.write(counters(1, {{"rpm", 6000}, {"tpm", 9}}), noon + hour);
  const StreamCursor cursor = count_records({}, {&first, 1}).to;
  const Advance step = count_records(cursor, {&third, 1});
  EXPECT_EQ(step.sums, (std::vector<HourSum>{{noon + hour, {{"rpm", 5000}, {"tpm", 9}}, 1}}));
  EXPECT_EQ(step.made_good, 1U);
}

TEST(Deltas, CountingOfAnOldBucketStartsFromItsFirstOldImage) {
  History history;
  (void)history.write(counters(1, {{"rpm", 900'000}}));
  const BucketRecord first_seen = history.write(counters(1, {{"rpm", 901'000}}));
  EXPECT_EQ(sums_of({first_seen}), (std::vector<HourSum>{{noon, {{"rpm", 1000}}, 1}}));
}

TEST(Deltas, EachEventCountsInTheHourOfItsDecisionEvenWhereAClockGoesBack) {
  History history;
  const std::vector<BucketRecord> records = {history.write(counters(1, {{"rpm", 1000}}), noon + hour),
                                             history.write(counters(1, {{"rpm", 3000}}), noon + hour - 1),
                                             history.write(counters(1, {{"rpm", 2000}}), noon + hour + 5)};
  const Advance step = count_records({}, records);
  EXPECT_EQ(step.sums, (std::vector<HourSum>{{noon, {{"rpm", 2000}}, 1}, {noon + hour, {}, 2}}))
      << "what is given back counts in the hour in which it happened; 0 is not shown";
  EXPECT_EQ(step.to.hour, noon + hour);
}

TEST(Deltas, OfManyHoursAFewAreWrittenAtOnce) {
  History history;
  std::vector<BucketRecord> records;
  for (int i = 1; i <= 50; ++i) records.push_back(history.write(counters(1, {{"rpm", i}}), noon + i * hour));
  std::optional<StreamCursor> cursor;
  std::size_t events = 0;
  for (std::span<const BucketRecord> left = records; !left.empty();) {
    const Advance step = count_records(cursor, left);
    ASSERT_LE(step.sums.size(), most_hours);
    ASSERT_GT(step.taken, 0U);
    events += step.sums.size();
    cursor = step.to;
    left = left.subspan(step.taken);
  }
  EXPECT_EQ(events, 50U);
}

TEST(Deltas, HoursThatAreNotKeptAnyMoreAreCountedInTheirDay) {
  History history;
  const Kept kept;
  const Time created = noon + 100 * day;
  std::vector<BucketRecord> records;
  records.push_back(history.write(counters(1, {{"rpm", 1000}}), noon));
  records.push_back(history.write(counters(1, {{"rpm", 3000}}), noon + hour));
  records.push_back(history.write(counters(1, {{"rpm", 7000}}), created));
  for (BucketRecord& record : records) record.created = created;
  const Advance step = count_records({}, records, kept);
  const Time of_day = start_of(UsageWindow::day, noon);
  EXPECT_EQ(step.days, (std::vector<HourSum>{{of_day, {{"rpm", 3000}}, 2}}));
  EXPECT_EQ(step.sums, (std::vector<HourSum>{{created, {{"rpm", 4000}}, 1}}));
  EXPECT_EQ(step.to.hour, created) << "the cursor is in an hour that is kept";
  EXPECT_EQ(step.events(), 3U);
  const std::vector<HourWrite> writes = writes_of(step);
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_TRUE(writes[0].cursor && writes[0].condition == HourWrite::Condition::no_cursor);
  EXPECT_TRUE(writes[1].window == UsageWindow::day && writes[1].hour == of_day && !writes[1].cursor);
  EXPECT_EQ(writes[1].amounts, (std::vector<Used>{{"rpm", 3000}}));
  EXPECT_FALSE(count_records(step.to, records, kept).must_write) << "read again";
}

TEST(Deltas, ABucketWithoutAGenerationIsForgottenWhenItIsDeleted) {
  History history;
  const BucketRecord first = history.write(counters(0, {{"rpm", 5000}}));
  const BucketRecord removed = history.remove();
  const BucketRecord second = history.write(counters(0, {{"rpm", 2000}}));
  std::optional<StreamCursor> cursor = count_records({}, {&first, 1}).to;
  const Advance step = count_records(cursor, {&removed, 1});
  ASSERT_TRUE(step.must_write);
  EXPECT_TRUE(step.sums.empty());
  EXPECT_EQ(count_records(step.to, {&second, 1}).sums, (std::vector<HourSum>{{noon, {{"rpm", 2000}}, 1}}));
}

TEST(Deltas, PositionsAreOrderedAsTexts) {
  const std::string label = "2026-11-17T00:00:00.000";
  EXPECT_LT(stream_position(label, "99"), stream_position(label, "100"));
  EXPECT_LT(stream_position(label, "999999999999999999999"),
            stream_position(label, "1000000000000000000000000000000000000000"));
  EXPECT_LT(stream_position(label, "5"), stream_position("2026-11-18T00:00:00.000", "4"))
      << "a stream that was switched on later";
}

}  // namespace
}  // namespace weir::usage
