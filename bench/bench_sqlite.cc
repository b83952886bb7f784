// What the SQLite store costs, and how long its callers wait. `bench_sqlite NAME...` runs only those.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>

#include "arena.h"
#include "bare_file.h"
#include "rounds.h"

namespace {

using namespace weir;
using namespace weir::bench;

constexpr const char* large = "4000000000000/min";

std::vector<std::string> entities(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("api-key-" + std::to_string(i));
  return names;
}

/// What this process has spent on all threads, in nanoseconds.
double cpu() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e9 + static_cast<double>(spent.tv_nsec);
}

double megabytes(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<double>(status.st_size) / 1e6 : 0;
}

/// Random acquires over many warm buckets, beside the bare loop.
void random_acquires() {
  constexpr std::size_t count = 100'000;
  const tests::Folder folder;
  const auto names = entities(100'000);
  const auto clock = std::make_shared<SystemClock>();
  Arena arena(folder.file("weir.db"), clock);
  arena.set_system({{"rpm", large}, {"tpm", large}});
  BareFile bare(folder.file("bare.db"), *clock, large);
  std::mt19937 random(1);
  const auto any = [&](std::size_t) -> const std::string& { return names[random() % names.size()]; };
  std::size_t batch = 1000;
  for (const std::size_t width : {std::size_t{1000}, std::size_t{8000}}) {
    Flight flight(arena.core, width);
    flight.run(names.size(), [&](std::size_t i) -> const std::string& { return names[i]; });
    for (const std::string& name : names) bare.acquire(name, 1000, 500'000);
    bare.commit();
    sqlite::FileWriter::Counts ours{};
    std::uint64_t our_syncs = 0;
    std::uint64_t bare_syncs = 0;
    std::size_t bare_rows = 0;
    std::vector<double> our_cpu;
    std::vector<double> bare_cpu;
    const auto duel = bench::duel(
        7,
        [&] {
          const auto before = arena.store->counts();
          const auto syncs_before = syncs();
          const double cpu_before = cpu();
          const double spent = seconds([&] { flight.run(count, any); });
          our_cpu.push_back((cpu() - cpu_before) / count);
          const auto after = arena.store->counts();
          ours = {after.commits - before.commits, after.bucket_rows - before.bucket_rows,
                  after.new_buckets - before.new_buckets};
          our_syncs = syncs().log - syncs_before.log;
          batch = std::max<std::size_t>(count / ours.commits, 1);
          return spent * 1e9 / count;
        },
        [&] {
          const auto syncs_before = syncs();
          bare_rows = 0;
          const double cpu_before = cpu();
          const double spent = seconds([&] {
            for (std::size_t i = 0; i < count; ++i) {
              bare.acquire(any(i), 1000, static_cast<std::int64_t>(100 + i % 400) * 1000);
              if (i % batch == batch - 1) bare_rows += bare.commit();
            }
            bare_rows += bare.commit();
          });
          bare_cpu.push_back((cpu() - cpu_before) / count);
          bare_syncs = syncs().log - syncs_before.log;
          return spent * 1e9 / count;
        });
    std::printf(
        "random, %5zu in flight  weir %7.0f ns   bare loop %7.0f ns   ratio %.2f (bar: at most 1.30)\n"
        "    CPU %.0f ns beside %.0f: %.2f; rows %zu beside %zu, rows per commit %zu, syncs of the log %zu "
        "beside %zu\n",
        width, duel.ours, duel.rivals, duel.ratio, median(our_cpu), median(bare_cpu),
        median(our_cpu) / median(bare_cpu), ours.bucket_rows, bare_rows, ours.bucket_rows / ours.commits,
        our_syncs, bare_syncs);
  }
}

void hot_bucket() {
  constexpr int callers = 64;
  constexpr int each = 1000;
  const tests::Folder folder;
  Arena arena(folder.file("weir.db"), std::make_shared<SystemClock>());
  arena.set_system({{"rpm", large}, {"tpm", large}});
  const Charge consume[] = {{"rpm", 1}, {"tpm", 500}};
  must(arena.core.acquire("hot", resource, consume, {}));
  const auto before = arena.store->counts();
  const double spent = seconds([&] {
    std::vector<std::jthread> threads;
    for (int t = 0; t < callers; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < each; ++i) must(arena.core.acquire("hot", resource, consume, {}));
      });
    }
  });
  const auto after = arena.store->counts();
  const double admitted = callers * each;
  std::printf(
      "one hot bucket, 64 callers: one row write per %.1f admissions (bar: at least 16), %.0f admissions/s\n",
      admitted / static_cast<double>(after.bucket_rows - before.bucket_rows), admitted / spent);
}

void print_latencies(const char* what, std::vector<double>& milliseconds, const Syncs& made) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto at = [&](double part) {
    return milliseconds[std::min(milliseconds.size() - 1,
                                 static_cast<std::size_t>(part * static_cast<double>(milliseconds.size())))];
  };
  std::printf(
      "latency, %-16s p50 %6.2f ms  p99 %6.2f  p99.9 %6.2f  p99.99 %6.2f  max %6.2f  (%llu commits, %llu "
      "checkpoints)\n",
      what, at(0.5), at(0.99), at(0.999), at(0.9999), milliseconds.back(),
      static_cast<unsigned long long>(made.log), static_cast<unsigned long long>(made.file));
}

/// Blocking callers over buckets that lie on many pages, with and without checkpoints.
void latencies() {
  constexpr int callers = 32;
  constexpr int each = 10'000;
  const auto names = entities(20'000);
  for (int round = 0; round < 3; ++round) {
    for (const bool checkpoints : {true, false}) {
      const tests::Folder folder;
      Arena arena(folder.file("weir.db"), std::make_shared<SystemClock>(), checkpoints);
      arena.set_system({{"rpm", large}, {"tpm", large}});
      Flight(arena.core, 1000).run(names.size(), [&](std::size_t i) -> const std::string& {
        return names[i];
      });
      const Syncs before = syncs();
      std::vector<std::vector<double>> waits(callers);
      {
        std::vector<std::jthread> threads;
        for (int t = 0; t < callers; ++t) {
          threads.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            const Charge consume[] = {{"rpm", 1}, {"tpm", 500}};
            for (int i = 0; i < each; ++i) {
              const auto& name = names[random() % names.size()];
              waits[static_cast<std::size_t>(t)].push_back(
                  1e3 * seconds([&] { must(arena.core.acquire(name, resource, consume, {})); }));
            }
          });
        }
      }
      std::vector<double> all;
      for (const auto& some : waits) all.insert(all.end(), some.begin(), some.end());
      const Syncs after = syncs();
      print_latencies(checkpoints ? "as shipped" : "no checkpoints", all,
                      {after.log - before.log, after.file - before.file});
    }
  }
}

void reopen() {
  const tests::Folder folder;
  const std::string path = folder.file("weir.db");
  const auto clock = std::make_shared<SystemClock>();
  const auto names = entities(1'000'000);
  {
    Arena arena(path, clock);
    arena.set_system({{"rpm", "100/day"}, {"tpm", "100000/day"}});
    Flight(arena.core, 8000).run(names.size(), [&](std::size_t i) -> const std::string& { return names[i]; });
  }
  std::vector<double> spent;
  for (int round = 0; round < 5; ++round) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
    std::optional<Arena> arena;
    const Charge consume[] = {{"rpm", 1}, {"tpm", 500}};
    spent.push_back(seconds([&] {
      arena.emplace(path, clock);
      auto decision = must(arena->core.acquire(names[777'777], resource, consume, {}));
      if (!decision.admitted()) std::abort();
    }));
  }
  std::printf("reopening %.0f MB with 1,000,000 buckets: first answer after %.1f ms (bar: at most 2000)\n",
              megabytes(path), 1e3 * median(spent));
}

std::int64_t rows_in(const std::string& path) {
  auto database = must(sqlite::Database::open(path, sqlite::Access::read));
  return must(database->number("SELECT count(*) FROM buckets"));
}

/// A day in which a million entities come once each, without a pause.
void churn() {
  constexpr std::size_t count = 1'000'000;
  constexpr std::size_t day_ms = 86'400'000;
  std::printf(
      "churn of 1,000,000 one-time entities in a day, each kept for 7 minutes (4,861 alive at any time):\n");
  std::vector<std::string> names(count);
  for (std::size_t i = 0; i < count; ++i) names[i] = "once-" + std::to_string(i * 2654435761U % 4294967296U);
  for (const std::size_t width : {std::size_t{100}, std::size_t{4000}}) {
    const tests::Folder folder;
    const std::string path = folder.file("weir.db");
    const auto clock = std::make_shared<FakeClock>();
    const Time start = clock->now();
    Arena arena(path, clock);
    arena.set_system({{"rpm", "100/min"}, {"tpm", "100000/min"}});
    std::printf("  %zu in flight\n    hour   file MB    log MB   rows in file   in memory\n", width);
    Flight(arena.core, width).run(count, [&](std::size_t i) -> const std::string& {
      clock->set(start + static_cast<Time>(i * day_ms / count));
      if (i % (count / 12) == count / 12 - 1)
        std::printf("    %4zu   %7.2f   %7.2f   %12lld   %9zu\n", (i + 1) * 24 / count, megabytes(path),
                    megabytes(path + "-wal"), static_cast<long long>(rows_in(path)),
                    arena.store->buckets_in_memory());
      return names[i];
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::pair<const char*, void (*)()> parts[] = {{"random", random_acquires},
                                                      {"hot", hot_bucket},
                                                      {"latency", latencies},
                                                      {"reopen", reopen},
                                                      {"churn", churn}};
  for (const auto& [name, run] : parts) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], name) == 0;
    if (wanted) run();
    std::fflush(stdout);
  }
}
