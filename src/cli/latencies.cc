#include "cli/latencies.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/text.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

constexpr std::size_t widest_bar = 40;

}  // namespace

// Values below `fine` have a class each. Above, the highest five bits after the first choose the class.
std::size_t Latencies::class_of(std::uint64_t value) {
  if (value < fine) return static_cast<std::size_t>(value);
  const auto power = static_cast<std::size_t>(std::bit_width(value)) - 6;
  const std::size_t index = (power + 1) * fine + static_cast<std::size_t>(value >> power) - fine;
  return std::min(index, classes - 1);
}

std::uint64_t Latencies::end_of(std::size_t index) {
  if (index < fine) return index + 1;
  const std::size_t power = index / fine - 1;
  return (static_cast<std::uint64_t>(fine + index % fine) + 1) << power;
}

void Latencies::add(Duration duration) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  ++counts_[class_of(value)];
  ++count_;
  sum_ += value;
  longest_ = std::max(longest_, value);
}

void Latencies::add(const Latencies& other) {
  for (std::size_t i = 0; i < classes; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  longest_ = std::max(longest_, other.longest_);
}

Latencies::Duration Latencies::mean() const {
  return Duration(count_ == 0 ? 0 : static_cast<std::int64_t>(sum_ / count_));
}

Latencies::Duration Latencies::percentile(unsigned thousandths) const {
  const std::uint64_t wanted = (count_ * thousandths + 999) / 1000;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < classes; ++i) {
    seen += counts_[i];
    if (seen >= wanted && seen > 0)
      return Duration(static_cast<std::int64_t>(std::min(end_of(i) - 1, longest_)));
  }
  return Duration(0);
}

std::vector<Latencies::Step> Latencies::steps() const {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < classes; ++i) {
    const std::uint64_t below = std::bit_ceil(end_of(i));
    const bool same = !steps.empty() && steps.back().below == Duration(static_cast<std::int64_t>(below));
    if (!same) steps.push_back({Duration(static_cast<std::int64_t>(below)), 0});
    steps.back().count += counts_[i];
  }
  const auto is_used = [](const Step& step) { return step.count > 0; };
  steps.erase(steps.begin(), std::find_if(steps.begin(), steps.end(), is_used));
  steps.erase(std::find_if(steps.rbegin(), steps.rend(), is_used).base(), steps.end());
  return steps;
}

std::string latency_text(Latencies::Duration duration) {
  char text[32];
  const auto micros = duration.count();
  if (micros < 1000) return base::join(std::to_string(micros), " us");
  const double millis = static_cast<double>(micros) / 1000;
  if (micros < 10'000) {
    std::snprintf(text, sizeof text, "%.2f ms", millis);
  } else if (micros < 1'000'000) {
    std::snprintf(text, sizeof text, "%.1f ms", millis);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", millis / 1000);
  }
  return text;
}

std::string plot_of(const Latencies& latencies, Charset charset) {
  const auto steps = latencies.steps();
  std::uint64_t most = 0;
  std::size_t label_width = 0;
  std::size_t count_width = 0;
  for (const Latencies::Step& step : steps) {
    most = std::max(most, step.count);
    label_width = std::max(label_width, latency_text(step.below).size());
    count_width = std::max(count_width, count_text(step.count).size());
  }
  std::string plot;
  for (const Latencies::Step& step : steps) {
    const std::string label = latency_text(step.below);
    const std::string count = count_text(step.count);
    const std::string drawn =
        bar(static_cast<std::int64_t>(step.count), static_cast<std::int64_t>(most), widest_bar, charset);
    plot += base::join("below ", std::string(label_width - label.size(), ' '), label, "  ",
                       std::string(count_width - count.size(), ' '), count, drawn.empty() ? "" : "  ", drawn,
                       "\n");
  }
  return plot;
}

}  // namespace weir::cli
