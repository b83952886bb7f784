// What it costs to count and time a decision, on one thread and on several.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "telemetry/metrics.h"

namespace {

using Clock = std::chrono::steady_clock;
using weir::telemetry::Metrics;
using weir::telemetry::Outcome;

constexpr int rounds = 7;
constexpr int calls = 2'000'000;

struct Case {
  const char* name;
  bool clocks;
  int resources;
};

double nanoseconds_each(Metrics& metrics, const Case& one) {
  std::vector<std::string> names;
  for (int i = 0; i < one.resources; ++i) names.push_back("provider/model-number-" + std::to_string(i));
  const auto start = Clock::now();
  std::size_t at = 0;
  for (int i = 0; i < calls; ++i) {
    if (one.clocks) {
      const auto before = Clock::now();
      metrics.decided("default", names[at], Outcome::admitted, Clock::now() - before);
    } else {
      metrics.decided("default", names[at], Outcome::admitted, std::chrono::microseconds(3));
    }
    if (++at == names.size()) at = 0;
  }
  return static_cast<double>((Clock::now() - start).count()) / calls;
}

}  // namespace

int main() {
  const Case cases[] = {{"count and time, one resource", true, 1},
                        {"count and time, 200 resources", true, 200},
                        {"without the clocks, one resource", false, 1},
                        {"without the clocks, 200 resources", false, 200}};
  for (const Case& one : cases) {
    Metrics metrics({});
    double best = 1e9;
    for (int round = 0; round < rounds; ++round) best = std::min(best, nanoseconds_each(metrics, one));
    std::printf("%-36s %6.1f ns\n", one.name, best);
  }
  Metrics metrics({});
  std::vector<std::thread> threads;
  std::vector<double> took(2);
  for (double& mine : took) threads.emplace_back([&] { mine = nanoseconds_each(metrics, {"", false, 1}); });
  for (std::thread& thread : threads) thread.join();
  std::printf("%-36s %6.1f %6.1f ns\n", "two threads without the clocks", took[0], took[1]);
  for (int i = 0; i < 500; ++i)
    metrics.decided("default", "provider/model-number-" + std::to_string(i), Outcome::refused, {});
  const auto start = Clock::now();
  const std::string text = metrics.text();
  std::printf("%-36s %6.1f us, %zu bytes\n", "a scrape of 500 resources",
              static_cast<double>((Clock::now() - start).count()) / 1e3, text.size());
}
