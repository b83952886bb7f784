#include "cli/load_run.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/lock.h"

namespace weir::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t most_failures = 8;  // different ones that are named
constexpr milliseconds between_looks{100};

/// How many threads have not ended yet. Safe to use from any thread.
class RunningThreads {
 public:
  explicit RunningThreads(unsigned count) : count_(count) {}
  void end_one() {
    const base::Guard guard(mutex_);
    --count_;
    ended_.notify_one();
  }
  /// Waits until all have ended, at most so long. Whether they have.
  bool wait_for_all(milliseconds most) {
    const auto end = SteadyClock::now() + most;
    const base::Guard guard(mutex_);
    while (count_ > 0) {
      if (!ended_.wait_until(mutex_, end)) break;
    }
    return count_ == 0;
  }

 private:
  base::Mutex mutex_;
  base::Condition ended_;
  unsigned count_ WEIR_GUARDED_BY(mutex_);
};

/// What the threads share.
struct Shared {
  const LoadOptions& options;
  const client::Request& request;
  const SteadyClock::time_point start = SteadyClock::now();
  std::atomic<std::uint64_t> next{0};  ///< the number of the next call
  std::atomic<bool> stop{false};
  RunningThreads running{options.concurrency};

  SteadyClock::time_point end() const { return start + options.duration; }
  /// When a call is due; without a rate at once.
  SteadyClock::time_point due(std::uint64_t call) const {
    if (!options.rate) return SteadyClock::now();
    return start + microseconds(static_cast<std::int64_t>(call * 1'000'000 / *options.rate));
  }
  bool is_over(std::uint64_t call, SteadyClock::time_point at) const {
    if (stop.load(std::memory_order_relaxed)) return true;
    return options.requests ? call >= *options.requests : at >= end();
  }
  unsigned percent() const {
    const std::uint64_t made = next.load(std::memory_order_relaxed);
    const auto passed = duration_cast<milliseconds>(SteadyClock::now() - start);
    const std::uint64_t done = options.requests ? made * 100 / *options.requests
                                                : static_cast<std::uint64_t>(passed * 100 / options.duration);
    return static_cast<unsigned>(std::min<std::uint64_t>(done, 100));
  }
};

void count(const Result<client::Acquired>& answer, LoadReport& report) {
  if (!answer) {
    ++report.failed;
    if (report.failures.size() < most_failures || report.failures.contains(answer.error().message))
      ++report.failures[answer.error().message];
    return;
  }
  ++(answer->degraded ? report.degraded : answer->decision.admitted() ? report.admitted : report.refused);
}

void call_until_the_end(Shared& shared, client::Target& target, LoadReport& report) {
  for (;;) {
    const std::uint64_t call = shared.next.fetch_add(1, std::memory_order_relaxed);
    const auto due = shared.due(call);
    if (shared.is_over(call, due)) return;
    // In short steps, to end soon when it is told to.
    while (SteadyClock::now() < due && !shared.stop.load(std::memory_order_relaxed))
      std::this_thread::sleep_for(std::min<SteadyClock::duration>(due - SteadyClock::now(), between_looks));
    if (shared.stop.load(std::memory_order_relaxed)) return;
    const auto answer = target.acquire(shared.request, false);
    count(answer, report);
    if (answer) report.latencies.add(duration_cast<microseconds>(SteadyClock::now() - due));
  }
}

}  // namespace

void LoadReport::add(const LoadReport& other) {
  admitted += other.admitted;
  refused += other.refused;
  degraded += other.degraded;
  failed += other.failed;
  for (const auto& [why, times] : other.failures) {
    if (failures.size() < most_failures || failures.contains(why)) failures[why] += times;
  }
  latencies.add(other.latencies);
}

LoadReport run_load(const LoadOptions& options, const client::Request& request,
                    const std::function<std::unique_ptr<client::Target>()>& make,
                    const std::function<bool(unsigned percent)>& go_on) {
  std::vector<std::unique_ptr<client::Target>> targets;
  for (unsigned i = 0; i < options.concurrency; ++i) targets.push_back(make());
  std::vector<LoadReport> reports(options.concurrency);
  Shared shared{.options = options, .request = request};
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < options.concurrency; ++i) {
    threads.emplace_back([&shared, &target = *targets[i], &report = reports[i]] {
      call_until_the_end(shared, target, report);
      shared.running.end_one();
    });
  }
  while (!shared.running.wait_for_all(between_looks)) {
    if (!go_on(shared.percent())) shared.stop = true;
  }
  threads.clear();
  LoadReport report;
  report.elapsed = duration_cast<microseconds>(SteadyClock::now() - shared.start);
  for (const LoadReport& one : reports) report.add(one);
  return report;
}

}  // namespace weir::cli
