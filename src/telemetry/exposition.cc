// Turns the counts of all threads into the metrics of Prometheus.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <sstream>

#include "telemetry/metrics.h"
#include "telemetry/process.h"
#include "telemetry/shard.h"
#include "weir/version.h"

#define WEIR_TEXT_OF(number) #number
#define WEIR_TEXT(number) WEIR_TEXT_OF(number)

namespace weir::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr const char* program_version =
    WEIR_TEXT(WEIR_VERSION_MAJOR) "." WEIR_TEXT(WEIR_VERSION_MINOR) "." WEIR_TEXT(WEIR_VERSION_PATCH);

ClientMetric counter(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  return metric;
}

ClientMetric gauge(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

template <class Shards>
ClientMetric histogram(const Shards& shards, StoreOp op) {
  ClientMetric metric;
  auto& out = metric.histogram;
  std::uint64_t nanoseconds = 0;
  for (std::size_t at = 0; at < Durations::buckets; ++at) {
    for (const auto* shard : shards)
      out.sample_count += shard->durations[static_cast<std::size_t>(op)].count(at);
    const double bound = at < duration_bounds.size() ? static_cast<double>(duration_bounds[at]) / 1e9
                                                     : std::numeric_limits<double>::infinity();
    out.bucket.push_back({out.sample_count, bound});
  }
  for (const auto* shard : shards)
    nanoseconds += shard->durations[static_cast<std::size_t>(op)].nanoseconds();
  out.sample_sum = static_cast<double>(nanoseconds) / 1e9;
  return metric;
}

}  // namespace

std::vector<const Metrics::Shard*> Metrics::all_shards() const {
  std::vector<const Shard*> shards;
  const base::Guard guard(mutex_);
  for (const auto& [thread, shard] : shards_) shards.push_back(shard.get());
  return shards;
}

MetricFamily Metrics::decisions(const std::vector<const Shard*>& shards) const {
  MetricFamily family{"weir_decisions_total", "Acquires by how they ended.", MetricType::Counter, {}};
  const std::size_t size = labels_.size();
  for (std::size_t id = 0; id < size; ++id) {
    std::array<std::uint64_t, outcome_names.size()> counts{};
    std::uint64_t all = 0;
    for (const Shard* const shard : shards) {
      const Shard::Outcomes* const outcomes = shard->find(id);
      if (outcomes == nullptr) continue;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i] += outcomes->cells[i].get();
        all += outcomes->cells[i].get();
      }
    }
    // All outcomes of a pair are shown from its first count on, so that the first of a kind is a change from
    // 0.
    const Labels::Pair& pair = labels_[id];
    if (all == 0) continue;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      family.metric.push_back(counter(
          static_cast<double>(counts[i]),
          {{"namespace", pair.name_space}, {"resource", pair.resource}, {"outcome", outcome_names[i]}}));
    }
  }
  return family;
}

MetricFamily Metrics::would_refuses(const std::vector<const Shard*>& shards) const {
  MetricFamily family{"weir_would_refuse_total",
                      "Admitted acquires that a limit in shadow mode would have refused.",
                      MetricType::Counter,
                      {}};
  const std::size_t size = labels_.size();
  for (std::size_t id = 0; id < size; ++id) {
    std::uint64_t count = 0;
    std::uint64_t all = 0;
    for (const Shard* const shard : shards) {
      const Shard::Outcomes* const outcomes = shard->find(id);
      if (outcomes == nullptr) continue;
      count += outcomes->would_refuse.get();
      for (const Cell& cell : outcomes->cells) all += cell.get();
    }
    const Labels::Pair& pair = labels_[id];
    if (all != 0)
      family.metric.push_back(
          counter(static_cast<double>(count), {{"namespace", pair.name_space}, {"resource", pair.resource}}));
  }
  return family;
}

MetricFamily Metrics::decision_durations(const std::vector<const Shard*>& shards) const {
  return {"weir_decision_duration_seconds",
          "From a request that is understood to its decision.",
          MetricType::Histogram,
          {histogram(shards, StoreOp::acquire)}};
}

MetricFamily Metrics::store_durations(const std::vector<const Shard*>& shards) const {
  MetricFamily family{"weir_store_duration_seconds",
                      "How long the store takes, by what it is asked to do.",
                      MetricType::Histogram,
                      {}};
  for (std::size_t op = 0; op < store_op_names.size(); ++op) {
    ClientMetric metric = histogram(shards, static_cast<StoreOp>(op));
    // Not every store has every operation.
    if (metric.histogram.sample_count == 0 && op != static_cast<std::size_t>(StoreOp::acquire)) continue;
    metric.label = {{"store", options_.store}, {"op", store_op_names[op]}};
    family.metric.push_back(std::move(metric));
  }
  return family;
}

MetricFamily Metrics::requests(const std::vector<const Shard*>& shards) const {
  MetricFamily family{"weir_http_requests_total",
                      "Requests by what was called and the class of the status.",
                      MetricType::Counter,
                      {}};
  constexpr std::array<const char*, status_classes> names = {"1xx", "2xx", "3xx", "4xx", "5xx"};
  for (std::size_t call = 0; call < options_.calls.size(); ++call) {
    for (std::size_t status = 0; status < status_classes; ++status) {
      std::uint64_t count = 0;
      for (const Shard* const shard : shards) count += shard->requests[call * status_classes + status].get();
      if (count == 0) continue;
      family.metric.push_back(
          counter(static_cast<double>(count),
                  {{"call", std::string(options_.calls[call])}, {"status", names[status]}}));
    }
  }
  return family;
}

MetricFamily Metrics::sync_writes() const {
  MetricFamily family{"weir_sync_writes_total",
                      "Limits that sync wanted to write, by what became of it.",
                      MetricType::Counter,
                      {}};
  for (std::size_t i = 0; i < sync_writes_.size(); ++i) {
    family.metric.push_back(counter(static_cast<double>(sync_writes_[i].load(std::memory_order_relaxed)),
                                    {{"result", sync_write_names[i]}}));
  }
  return family;
}

namespace {

/// Adjacent readings of one name become one family.
void append(std::vector<MetricFamily>& families, const std::vector<store::Counter>& counters) {
  for (const store::Counter& reading : counters) {
    if (families.empty() || families.back().name != reading.name)
      families.push_back({std::string(reading.name), std::string(reading.help), MetricType::Counter, {}});
    std::vector<ClientMetric::Label> labels;
    for (const auto& label : reading.labels)
      labels.push_back({std::string(label.name), std::string(label.value)});
    families.back().metric.push_back(counter(reading.value, std::move(labels)));
  }
}

}  // namespace

std::vector<MetricFamily> Metrics::Collect() const {
  const std::vector<const Shard*> shards = all_shards();
  std::vector<MetricFamily> families;
  families.push_back(decisions(shards));
  families.push_back(would_refuses(shards));
  families.push_back(decision_durations(shards));
  families.push_back(store_durations(shards));
  families.push_back({"weir_store_up",
                      "1 while the store answers, else 0.",
                      MetricType::Gauge,
                      {gauge(store_up() ? 1 : 0)}});
  families.push_back({"weir_limits_taken_from_sync_total",
                      "Limits of sync that an operator replaced with limits of their own.",
                      MetricType::Counter,
                      {counter(static_cast<double>(taken_from_sync_.load(std::memory_order_relaxed)))}});
  families.push_back(sync_writes());
  families.push_back(requests(shards));
  {
    const base::Guard guard(mutex_);
    for (const Extra& extra : extras_) {
      families.push_back({extra.name,
                          extra.help,
                          extra.counter ? MetricType::Counter : MetricType::Gauge,
                          {extra.counter ? counter(extra.read()) : gauge(extra.read())}});
    }
    for (const auto& read : sources_) append(families, read());
  }
  families.push_back(
      {"weir_build_info",
       "1, with the version of the program.",
       MetricType::Gauge,
       {gauge(1, {{"version", program_version}, {"compiler", __VERSION__}, {"store", options_.store}})}});
  for (MetricFamily& family : process_metrics()) families.push_back(std::move(family));
  return families;
}

std::string Metrics::text() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, Collect());
  return std::move(out).str();
}

}  // namespace weir::telemetry
