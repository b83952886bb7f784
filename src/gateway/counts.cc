#include "gateway/counts.h"

#include <prometheus/metric_family.h>

#include <limits>

namespace weir::gateway {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Threads = std::map<std::size_t, std::unique_ptr<RouteCounts>>;

constexpr std::array<const char*, 5> class_names = {"1xx", "2xx", "3xx", "4xx", "5xx"};

ClientMetric counter(std::uint64_t value, std::vector<ClientMetric::Label> labels) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = static_cast<double>(value);
  return metric;
}

template <class Read>
std::uint64_t sum(const Threads& threads, Read read) {
  std::uint64_t all = 0;
  for (const auto& [thread, counts] : threads) all += read(*counts).get();
  return all;
}

ClientMetric durations(const Threads& threads, const std::string& route) {
  ClientMetric metric;
  metric.label = {{"route", route}};
  std::uint64_t nanoseconds = 0;
  for (std::size_t at = 0; at < telemetry::Durations::buckets; ++at) {
    for (const auto& [thread, counts] : threads) metric.histogram.sample_count += counts->upstream.count(at);
    const double bound = at < telemetry::duration_bounds.size()
                             ? static_cast<double>(telemetry::duration_bounds[at]) / 1e9
                             : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({metric.histogram.sample_count, bound});
  }
  for (const auto& [thread, counts] : threads) nanoseconds += counts->upstream.nanoseconds();
  metric.histogram.sample_sum = static_cast<double>(nanoseconds) / 1e9;
  return metric;
}

}  // namespace

RouteCounts& Counts::of(std::size_t thread, const std::string& route) {
  const base::Guard guard(mutex_);
  auto& counts = routes_[route][thread];
  if (!counts) counts = std::make_unique<RouteCounts>();
  return *counts;
}

std::vector<MetricFamily> Counts::Collect() const {
  MetricFamily answers{"weir_gateway_requests_total",
                       "Requests by route and the class of the status.",
                       MetricType::Counter,
                       {}};
  MetricFamily troubles{"weir_gateway_upstream_errors_total",
                        "Attempts at an upstream that gave no answer, by what went wrong.",
                        MetricType::Counter,
                        {}};
  MetricFamily retries{"weir_gateway_retries_total",
                       "Requests that were sent again, to another connection.",
                       MetricType::Counter,
                       {}};
  MetricFamily upstream{"weir_gateway_upstream_duration_seconds",
                        "From the choice of an upstream to the head of its answer.",
                        MetricType::Histogram,
                        {}};
  MetricFamily shared{"weir_gateway_shared_clients_total",
                      "Requests of new clients that shared a bucket, since too many came from their address.",
                      MetricType::Counter,
                      {}};
  const base::Guard guard(mutex_);
  for (const auto& [route, threads] : routes_) {
    for (std::size_t i = 0; i < class_names.size(); ++i) {
      const auto count = sum(threads, [i](const RouteCounts& counts) -> auto& { return counts.answers[i]; });
      if (count != 0)
        answers.metric.push_back(counter(count, {{"route", route}, {"status", class_names[i]}}));
    }
    for (std::size_t i = 0; i < trouble_names.size(); ++i) {
      const auto count = sum(threads, [i](const RouteCounts& counts) -> auto& { return counts.troubles[i]; });
      troubles.metric.push_back(counter(count, {{"route", route}, {"error", trouble_names[i]}}));
    }
    retries.metric.push_back(counter(
        sum(threads, [](const RouteCounts& counts) -> auto& { return counts.retries; }), {{"route", route}}));
    shared.metric.push_back(counter(
        sum(threads, [](const RouteCounts& counts) -> auto& { return counts.shared; }), {{"route", route}}));
    upstream.metric.push_back(durations(threads, route));
  }
  return {answers, troubles, retries, shared, upstream};
}

}  // namespace weir::gateway
