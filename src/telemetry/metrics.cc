#include "telemetry/metrics.h"

#include <algorithm>

#include "telemetry/shard.h"

namespace weir::telemetry {
namespace {

// Threads beyond these share one, so that a program with a thread for each request does not grow with them.
constexpr std::size_t most_shards = 64;

std::atomic<std::uint64_t> last_metrics{0};
std::atomic<std::uint64_t> last_thread{0};

}  // namespace

Metrics::Metrics(MetricsOptions options)
    : options_(std::move(options)),
      number_(last_metrics.fetch_add(1, std::memory_order_relaxed) + 1),
      labels_(options_.most, options_.seed) {}

Metrics::~Metrics() = default;

Metrics::Shard& Metrics::shard() {
  // Caches the last one of this thread; a program usually has only one.
  thread_local std::uint64_t number = 0;
  thread_local Shard* mine = nullptr;
  if (number == number_) [[likely]]
    return *mine;
  mine = &find_shard();
  number = number_;
  return *mine;
}

Metrics::Shard& Metrics::find_shard() {
  thread_local const std::uint64_t thread = last_thread.fetch_add(1, std::memory_order_relaxed) + 1;
  constexpr std::uint64_t everybody = 0;
  const base::Guard guard(mutex_);
  const auto known = shards_.find(thread);
  if (known != shards_.end()) return *known->second;
  const bool shared = shards_.size() >= most_shards;
  auto& found = shards_[shared ? everybody : thread];
  if (!found) found = std::make_unique<Shard>(options_.calls.size(), labels_.most_ids(), shared);
  return *found;
}

void Metrics::decided(std::string_view name_space, std::string_view resource, Outcome outcome,
                      std::chrono::nanoseconds took, bool known_only) {
  decided(pair_of(name_space, resource, known_only), outcome, took);
}

void Metrics::decided(std::size_t pair, Outcome outcome, std::chrono::nanoseconds took) {
  Shard& mine = shard();
  mine.outcomes(pair).cells[static_cast<std::size_t>(outcome)].add(1, mine.shared);
  mine.durations[static_cast<std::size_t>(StoreOp::acquire)].add(took, mine.shared);
}

void Metrics::would_refuse(std::string_view name_space, std::string_view resource) {
  Shard& mine = shard();
  mine.outcomes(labels_.id_of(name_space, resource, true)).would_refuse.add(1, mine.shared);
}

void Metrics::store_took(StoreOp op, std::chrono::nanoseconds took) {
  Shard& mine = shard();
  mine.durations[static_cast<std::size_t>(op)].add(took, mine.shared);
}

void Metrics::answered(std::size_t call, int status) {
  Shard& mine = shard();
  const auto status_class = static_cast<std::size_t>(std::clamp(status / 100, 1, 5) - 1);
  mine.requests[call * status_classes + status_class].add(1, mine.shared);
}

void Metrics::add_gauge(std::string name, std::string help, std::function<double()> read) {
  const base::Guard guard(mutex_);
  extras_.push_back({std::move(name), std::move(help), false, std::move(read)});
}

void Metrics::add_counter(std::string name, std::string help, std::function<double()> read) {
  const base::Guard guard(mutex_);
  extras_.push_back({std::move(name), std::move(help), true, std::move(read)});
}

void Metrics::add_counters(std::function<std::vector<store::Counter>()> read) {
  const base::Guard guard(mutex_);
  sources_.push_back(std::move(read));
}

}  // namespace weir::telemetry
