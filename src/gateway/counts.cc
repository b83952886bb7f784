#include "gateway/counts.h"

#include <prometheus/metric_family.h>

#include <algorithm>
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

ClientMetric ratios(const Threads& threads, const std::string& route) {
  ClientMetric metric;
  metric.label = {{"route", route}};
  for (std::size_t at = 0; at <= estimate_bounds.size(); ++at) {
    metric.histogram.sample_count +=
        sum(threads, [at](const RouteCounts& counts) -> auto& { return counts.llm.ratio[at]; });
    const double bound = at < estimate_bounds.size() ? static_cast<double>(estimate_bounds[at]) / 100
                                                     : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({metric.histogram.sample_count, bound});
  }
  metric.histogram.sample_sum =
      static_cast<double>(
          sum(threads, [](const RouteCounts& counts) -> auto& { return counts.llm.percent; })) /
      100;
  return metric;
}

}  // namespace

void LlmCounts::settled(const std::optional<llm::Usage>& usage, std::int64_t estimated) {
  calls.add(1, false);
  if (!usage) return unread.add(1, false);
  const std::int64_t figures[] = {usage->input, usage->cached_input, usage->cache_write, usage->output,
                                  usage->reasoning};
  std::int64_t used = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].add(static_cast<std::uint64_t>(figures[i]), false);
    used += figures[i];
  }
  const std::int64_t in_percent = used * 100 / std::max<std::int64_t>(estimated, 1);
  const auto* const bound = std::lower_bound(estimate_bounds.begin(), estimate_bounds.end(), in_percent);
  ratio[static_cast<std::size_t>(bound - estimate_bounds.begin())].add(1, false);
  percent.add(static_cast<std::uint64_t>(in_percent), false);
}

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
  MetricFamily tokens{
      "weir_llm_tokens_total", "Tokens of calls to models, as settled.", MetricType::Counter, {}};
  MetricFamily unread{"weir_llm_calls_without_usage_total",
                      "Calls to models that did not report their usage: their estimate stays charged.",
                      MetricType::Counter,
                      {}};
  MetricFamily estimates{"weir_llm_estimate_ratio",
                         "Tokens of a call to a model, divided by its estimate.",
                         MetricType::Histogram,
                         {}};
  const base::Guard guard(mutex_);
  for (const auto& [route, threads] : routes_) {
    if (sum(threads, [](const RouteCounts& counts) -> auto& { return counts.llm.calls; }) != 0) {
      for (std::size_t i = 0; i < token_names.size(); ++i) {
        const auto count =
            sum(threads, [i](const RouteCounts& counts) -> auto& { return counts.llm.tokens[i]; });
        tokens.metric.push_back(counter(count, {{"route", route}, {"kind", token_names[i]}}));
      }
      unread.metric.push_back(
          counter(sum(threads, [](const RouteCounts& counts) -> auto& { return counts.llm.unread; }),
                  {{"route", route}}));
      estimates.metric.push_back(ratios(threads, route));
    }
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
  return {answers, troubles, retries, shared, upstream, tokens, unread, estimates};
}

}  // namespace weir::gateway
