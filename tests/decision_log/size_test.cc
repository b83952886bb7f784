// The bound of a log's size, with its real thread and file: 10 million rows in 64 MiB, and a small version of
// the same. WEIR_DECISION_ROWS sets how many rows the large one has.
#include "decision_log/size.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "decision_log/entry_json.h"
#include "decision_log/file_blocks.h"

namespace weir::decision_log {
namespace {

/// The newest row can be found, and says what was decided.
void expect_newest_is_explained(SizeRun& run) {
  const std::uint64_t newest = run.newest();
  if (newest == 0) return;
  const auto entry = run.log().find(run.log().id_of(newest), "default");
  ASSERT_TRUE(entry) << entry.error().message;
  const DecisionPool::One& one = run.pool()[newest];
  EXPECT_EQ(entry->entity, one.entity);
  EXPECT_EQ(entry->resource, one.resource);
  EXPECT_EQ(entry->request_id, SizeRun::request_id_of(newest));
  EXPECT_EQ(entry->outcome == EntryOutcome::admitted, one.decision.admitted());
  ASSERT_EQ(entry->report.size(), one.decision.limits().size());
  for (std::size_t i = 0; i < entry->report.size(); ++i) {
    EXPECT_EQ(entry->report[i].name, one.decision.limits()[i].name);
    EXPECT_EQ(entry->report[i].remaining, one.decision.limits()[i].remaining);
  }
  EXPECT_NE(to_json(*entry).find(entry->id), std::string::npos);
}

/// The rows in the file are the newest of those that were not dropped, each once. Returns how many.
std::uint64_t expect_rows_without_gaps(const SizeRun& run) {
  const auto blocks = FileBlocks::open_to_read(run.path());
  EXPECT_TRUE(blocks) << blocks.error().message;
  if (!blocks) return 0;
  std::uint64_t rows = 0;
  std::uint64_t last = 0;
  bool whole = true;
  const auto read = DecisionReader(**blocks, (*blocks)->id(), run.path()).for_each([&](const RowHead& head) {
    std::uint64_t expected = rows++ == 0 ? head.number : last + 1;
    while (expected <= run.added() && run.was_dropped(expected)) ++expected;
    whole = whole && head.number == expected;
    last = head.number;
    return whole;
  });
  EXPECT_TRUE(read) << read.error().message;
  EXPECT_TRUE(whole) << "row " << last << " does not follow the one before";
  EXPECT_EQ(last, run.newest());
  return rows;
}

unsigned long long kib(std::uintmax_t bytes) { return static_cast<unsigned long long>(bytes / maxima::kib); }

void print(SizeRun& run, std::uint64_t kept) {
  const auto& files = run.largest().files;
  std::printf(
      "%llu rows written, %llu dropped, %llu kept; at most %llu KiB (file %llu, WAL %llu, shm %llu, lock "
      "%llu)\nresident KiB, the most in each tenth:",
      static_cast<unsigned long long>(run.log().written()),
      static_cast<unsigned long long>(run.log().dropped()), static_cast<unsigned long long>(kept),
      kib(run.largest().total()), kib(files[0]), kib(files[1]), kib(files[2]), kib(files[3]));
  for (const std::uint64_t bytes : run.memory()) std::printf(" %llu", kib(bytes));
  std::printf("\n");
}

/// The second half of a run needs no more memory than the first, whose bursts have filled the queue already.
void expect_flat_memory(const SizeRun& run) {
#ifndef WEIR_SANITIZED
  const auto middle = run.memory().begin() + 5;
  const std::uint64_t before = *std::max_element(run.memory().begin(), middle);
  EXPECT_LE(*std::max_element(middle, run.memory().end()), before + 16 * maxima::mib);
#else
  (void)run;
#endif
}

void stays_below_its_size(const SizePlan& plan) {
  SizeRun run(plan);
  run.add_rows([&] { expect_newest_is_explained(run); });
  DecisionLog& log = run.log();
  expect_newest_is_explained(run);
  std::uint64_t seen_dropped = 0;
  for (std::uint64_t number = 1; number <= run.added(); ++number) seen_dropped += run.was_dropped(number);
  EXPECT_EQ(log.trouble(), "");
  EXPECT_EQ(log.dropped(), seen_dropped);
  EXPECT_EQ(log.written() + log.dropped(), run.added()) << "each row is written, or dropped and counted";
  const std::uint64_t kept = expect_rows_without_gaps(run);
  print(run, kept);
  EXPECT_LE(run.largest().total(), plan.most_bytes);
  EXPECT_GE(log.bytes(), plan.most_bytes / 2) << "the space is used";
  EXPECT_LT(kept, log.written());
  const auto oldest = log.find(log.id_of(1), "default");
  ASSERT_FALSE(oldest);
  EXPECT_NE(oldest.error().message.find("the log begins at"), std::string::npos) << oldest.error().message;
  expect_flat_memory(run);
}

TEST(DecisionLogSize, OfASmallLogStaysBelowItsBound) {
  stays_below_its_size({.rows = 200'000,
                        .most_bytes = 2 * least_bytes,
                        .most_waiting = 256 * maxima::kib,
                        .write_at = 64 * maxima::kib});
}

TEST(DecisionLogSoak, TenMillionRowsStayBelowTheBound) {
  const char* const given = std::getenv("WEIR_DECISION_ROWS");
  const std::uint64_t rows = given != nullptr ? std::strtoull(given, nullptr, 10) : 10'000'000;
  stays_below_its_size({.rows = rows, .most_bytes = 64 * maxima::mib});
}

}  // namespace
}  // namespace weir::decision_log
