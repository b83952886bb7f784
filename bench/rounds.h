// Alternating rounds of two contestants in one run, and the ratio of their medians. The machines are
// noisy; what one round suffers, the other contestant's next round is likely to suffer too.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace weir::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds that `work()` takes.
template <class Work>
double seconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Duel {
  double ours;  ///< median, in nanoseconds per operation
  double rivals;
  double ratio;  ///< median of the ratios of neighbouring rounds
};

/// Runs both in turn, `rounds` times after one round to warm up; each returns nanoseconds per operation.
template <class Ours, class Rival>
Duel duel(int rounds, Ours&& ours, Rival&& rival) {
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> ratios;
  ours();
  rival();
  for (int i = 0; i < rounds; ++i) {
    // The first one alternates too.
    if (i % 2 == 0) a.push_back(ours());
    b.push_back(rival());
    if (i % 2 == 1) a.push_back(ours());
    ratios.push_back(a.back() / b.back());
  }
  return {median(a), median(b), median(ratios)};
}

}  // namespace weir::bench
