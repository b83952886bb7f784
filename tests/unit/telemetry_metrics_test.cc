// The counters, as Prometheus sees them.
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "telemetry/metrics.h"
#include "telemetry/trace.h"

namespace weir::telemetry {
namespace {

using namespace std::chrono_literals;

/// The value of a sample, as it stands in the text; "none" if it is not there.
std::string sample(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + " ")) return line.substr(name.size() + 1);
  }
  return "none";
}
std::string sample(const Metrics& metrics, const std::string& name) { return sample(metrics.text(), name); }

std::string decisions(const std::string& name_space, const std::string& resource,
                      const std::string& outcome) {
  return R"(weir_decisions_total{namespace=")" + name_space + R"(",resource=")" + resource +
         R"(",outcome=")" + outcome + R"("})";
}

MetricsOptions few() {
  return {.store = "sqlite", .calls = {"acquire", "livez"}, .most = {.pairs = 3, .namespaces = 2}};
}

TEST(Metrics, CountDecisionsByNamespaceResourceAndOutcome) {
  Metrics metrics({});
  for (int i = 0; i < 3; ++i) metrics.decided("default", "gpt-4", Outcome::admitted, 1us);
  metrics.decided("default", "gpt-4", Outcome::refused, 1us);
  metrics.decided("default", "gpt-4o", Outcome::never_fits, 1us);
  metrics.decided("team-2", "gpt-4", Outcome::degraded, 1us);
  metrics.decided("team-2", "gpt-4", Outcome::contended, 1us);
  metrics.decided("team-2", "gpt-4", Outcome::error, 1us);
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, decisions("default", "gpt-4", "admitted")), "3");
  EXPECT_EQ(sample(text, decisions("default", "gpt-4", "refused")), "1");
  EXPECT_EQ(sample(text, decisions("default", "gpt-4o", "never_fits")), "1");
  EXPECT_EQ(sample(text, decisions("team-2", "gpt-4", "degraded")), "1");
  EXPECT_EQ(sample(text, decisions("team-2", "gpt-4", "contended")), "1");
  EXPECT_EQ(sample(text, decisions("team-2", "gpt-4", "error")), "1");
  // Every outcome of a pair is there from its first decision on, so that its next one is seen as a change.
  EXPECT_EQ(sample(text, decisions("team-2", "gpt-4", "admitted")), "0");
  EXPECT_EQ(sample(text, decisions("default", "other", "admitted")), "none");
}

TEST(Metrics, CountDecisionsByTheNumberOfAPair) {
  Metrics metrics({});
  const std::size_t pair = metrics.pair_of("default", "/api");
  // A pair that was never counted is not shown.
  EXPECT_EQ(sample(metrics, decisions("default", "/api", "admitted")), "none");
  metrics.decided(pair, Outcome::admitted, 1us);
  metrics.decided("default", "/api", Outcome::admitted, 1us);
  EXPECT_EQ(metrics.pair_of("default", "/api"), pair);
  EXPECT_EQ(sample(metrics, decisions("default", "/api", "admitted")), "2");
}

TEST(Metrics, TellNamesApartThatAreTheSameWhenJoined) {
  Metrics metrics({});
  metrics.decided("ab", "c", Outcome::admitted, 1us);
  metrics.decided("a", "bc", Outcome::refused, 1us);
  EXPECT_EQ(sample(metrics, decisions("ab", "c", "admitted")), "1");
  EXPECT_EQ(sample(metrics, decisions("a", "bc", "admitted")), "0");
}

TEST(Metrics, GiveALabelToTheFirstResourcesAndCallTheRestOther) {
  Metrics metrics(few());
  for (const char* const resource : {"a", "b", "c", "d", "e", "a", "d"})
    metrics.decided("default", resource, Outcome::admitted, 1us);
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, decisions("default", "a", "admitted")), "2");
  EXPECT_EQ(sample(text, decisions("default", "c", "admitted")), "1");
  EXPECT_EQ(sample(text, decisions("default", "d", "admitted")), "none");
  EXPECT_EQ(sample(text, decisions("default", "other", "admitted")), "3");
}

TEST(Metrics, GiveALabelToTheFirstNamespacesAndCallTheRestOther) {
  Metrics metrics(few());
  for (const char* const name_space : {"n1", "n2", "n3", "n4", "n1"})
    metrics.decided(name_space, "a", Outcome::refused, 1us);
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, decisions("n1", "a", "refused")), "2");
  EXPECT_EQ(sample(text, decisions("n2", "a", "refused")), "1");
  EXPECT_EQ(sample(text, decisions("n3", "a", "refused")), "none");
  EXPECT_EQ(sample(text, decisions("other", "other", "refused")), "2");
}

TEST(Metrics, GiveALaterNamespaceItsOwnOtherWhenResourcesHaveRunOut) {
  Metrics metrics(few());
  for (const char* const resource : {"a", "b", "c"}) metrics.decided("n1", resource, Outcome::admitted, 1us);
  metrics.decided("n2", "a", Outcome::admitted, 1us);
  metrics.decided("n2", "other", Outcome::admitted, 1us);
  EXPECT_EQ(sample(metrics, decisions("n2", "other", "admitted")), "2");
}

TEST(Metrics, SpendNoLabelOnErrorsThatAnybodyCanCause) {
  Metrics metrics(few());
  metrics.decided("default", "known", Outcome::admitted, 1us);
  for (int i = 0; i < 100; ++i)
    metrics.decided("default", "r" + std::to_string(i), Outcome::error, 1us, true);
  metrics.decided("nowhere", "r", Outcome::error, 1us, true);
  metrics.decided("default", "known", Outcome::error, 1us, true);
  metrics.decided("default", "late", Outcome::admitted, 1us);
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, decisions("default", "other", "error")), "100");
  EXPECT_EQ(sample(text, decisions("other", "other", "error")), "1");
  EXPECT_EQ(sample(text, decisions("default", "known", "error")), "1");
  EXPECT_EQ(sample(text, decisions("default", "late", "admitted")), "1");
}

TEST(Metrics, MeasureInBucketsThatAddUp) {
  Metrics metrics(few());
  const std::string name = "weir_decision_duration_seconds";
  for (const auto took :
       {std::chrono::nanoseconds(500), std::chrono::nanoseconds(1000), std::chrono::nanoseconds(1001),
        std::chrono::nanoseconds(3'000'000'000), std::chrono::nanoseconds(-5)})
    metrics.decided("default", "a", Outcome::admitted, took);
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, name + R"(_bucket{le="1e-06"})"), "3");
  EXPECT_EQ(sample(text, name + R"(_bucket{le="5e-06"})"), "4");
  EXPECT_EQ(sample(text, name + R"(_bucket{le="1"})"), "4");
  EXPECT_EQ(sample(text, name + R"(_bucket{le="+Inf"})"), "5");
  EXPECT_EQ(sample(text, name + "_count"), "5");
  EXPECT_DOUBLE_EQ(std::stod(sample(text, name + "_sum")), 3.000002501);
  // A decision is one acquire of the store.
  EXPECT_EQ(sample(text, R"(weir_store_duration_seconds_count{store="sqlite",op="acquire"})"), "5");
}

TEST(Metrics, MeasureTheStoreByWhatItIsAskedToDo) {
  Metrics metrics(few());
  metrics.store_took(StoreOp::commit, 2ms);
  metrics.store_took(StoreOp::commit, 20ms);
  metrics.store_took(StoreOp::settle, 1ms);
  const std::string text = metrics.text();
  const std::string name = "weir_store_duration_seconds";
  EXPECT_EQ(sample(text, name + R"(_bucket{store="sqlite",op="commit",le="0.0025"})"), "1");
  EXPECT_EQ(sample(text, name + R"(_count{store="sqlite",op="commit"})"), "2");
  EXPECT_EQ(sample(text, name + R"(_count{store="sqlite",op="settle"})"), "1");
  EXPECT_EQ(sample(text, name + R"(_count{store="sqlite",op="acquire"})"), "0");
  EXPECT_EQ(sample(text, name + R"(_count{store="sqlite",op="read"})"), "none");
  EXPECT_EQ(sample(text, "weir_decision_duration_seconds_count"), "0");
}

TEST(Metrics, CountRequestsByCallAndClassOfStatus) {
  Metrics metrics(few());
  for (const int status : {200, 204, 429, 404, 503, 599, 700}) metrics.answered(0, status);
  metrics.answered(1, 200);
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, R"(weir_http_requests_total{call="acquire",status="2xx"})"), "2");
  EXPECT_EQ(sample(text, R"(weir_http_requests_total{call="acquire",status="4xx"})"), "2");
  EXPECT_EQ(sample(text, R"(weir_http_requests_total{call="acquire",status="5xx"})"), "3");
  EXPECT_EQ(sample(text, R"(weir_http_requests_total{call="livez",status="2xx"})"), "1");
}

TEST(Metrics, SayHowTheStoreAndSyncAreDoing) {
  Metrics metrics(few());
  EXPECT_EQ(sample(metrics, "weir_store_up"), "1");
  metrics.set_store_up(false);
  metrics.taken_from_sync();
  metrics.sync_write(SyncWrite::written);
  metrics.sync_write(SyncWrite::operator_owned);
  metrics.sync_write(SyncWrite::operator_owned);
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, "weir_store_up"), "0");
  EXPECT_EQ(sample(text, "weir_limits_taken_from_sync_total"), "1");
  EXPECT_EQ(sample(text, R"(weir_sync_writes_total{result="written"})"), "1");
  EXPECT_EQ(sample(text, R"(weir_sync_writes_total{result="operator_owned"})"), "2");
  EXPECT_EQ(sample(text, R"(weir_sync_writes_total{result="skipped"})"), "0");
}

TEST(Metrics, AskOthersForTheirNumbers) {
  Metrics metrics({});
  double open = 3;
  metrics.add_gauge("weir_things_open", "Things.", [&] { return open; });
  metrics.add_counter("weir_things_total", "Things so far.", [&] { return open + 1; });
  open = 5;
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, "weir_things_open"), "5");
  EXPECT_EQ(sample(text, "weir_things_total"), "6");
  EXPECT_NE(text.find("# TYPE weir_things_total counter\n"), std::string::npos);
}

TEST(Metrics, AskTheStoreForAllThatItCounts) {
  Metrics metrics({});
  double units = 1;
  metrics.add_counters([&]() -> std::vector<store::Counter> {
    return {{"weir_units_total", "Units.", {{"for", "refused"}, {"unit", "read"}}, 0.5},
            {"weir_units_total", "Units.", {{"for", "admitted"}, {"unit", "write"}}, units},
            {"weir_others_total", "Others.", {}, 7}};
  });
  units = 2;
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, R"(weir_units_total{for="refused",unit="read"})"), "0.5");
  EXPECT_EQ(sample(text, R"(weir_units_total{for="admitted",unit="write"})"), "2");
  EXPECT_EQ(sample(text, "weir_others_total"), "7");
  const std::string type = "# TYPE weir_units_total counter\n";
  ASSERT_NE(text.find(type), std::string::npos);
  EXPECT_EQ(text.find(type, text.find(type) + 1), std::string::npos) << "one family";
}

TEST(Metrics, KnowTheProcess) {
  const Metrics metrics({});
  const std::string text = metrics.text();
  EXPECT_GT(std::stod(sample(text, "process_resident_memory_bytes")), 1e5);
  EXPECT_GT(std::stod(sample(text, "process_virtual_memory_bytes")), 1e5);
  EXPECT_GE(std::stod(sample(text, "process_open_fds")), 3);
  EXPECT_GE(std::stod(sample(text, "process_max_fds")), std::stod(sample(text, "process_open_fds")));
  EXPECT_GE(std::stod(sample(text, "process_threads")), 1);
  EXPECT_GT(std::stod(sample(text, "process_start_time_seconds")), 1.6e9);
  EXPECT_GE(std::stod(sample(text, "process_cpu_seconds_total")), 0);
  EXPECT_NE(text.find("weir_build_info{version=\""), std::string::npos);
}

TEST(Metrics, LoseNothingBetweenThreads) {
  Metrics metrics({.calls = {"acquire"}, .most = {.pairs = 10, .namespaces = 2}});
  constexpr int threads = 80;  // more than have counts of their own
  constexpr int each = 500;
  std::atomic<bool> stop{false};
  // A reader at the same time sees counts that only grow.
  std::thread reader([&] {
    double last = 0;
    while (!stop.load()) {
      const double now = std::stod(sample(metrics, "weir_decision_duration_seconds_count"));
      EXPECT_GE(now, last);
      last = now;
    }
  });
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&metrics, t] {
      const std::string resource = "r" + std::to_string(t % 20);
      for (int i = 0; i < each; ++i) {
        metrics.decided("default", resource, Outcome::admitted, 1us);
        metrics.answered(0, 200);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  stop = true;
  reader.join();
  const std::string text = metrics.text();
  EXPECT_EQ(sample(text, "weir_decision_duration_seconds_count"), std::to_string(threads * each));
  EXPECT_EQ(sample(text, R"(weir_http_requests_total{call="acquire",status="2xx"})"),
            std::to_string(threads * each));
  double counted = 0;
  for (int r = 0; r < 20; ++r) {
    const std::string value = sample(text, decisions("default", "r" + std::to_string(r), "admitted"));
    // Of ten resources, all that the four threads of each have counted.
    if (value == "none") continue;
    EXPECT_EQ(value, std::to_string(4 * each));
    counted += std::stod(value);
  }
  EXPECT_EQ(counted, 10 * 4 * each);
  EXPECT_EQ(sample(text, decisions("default", "other", "admitted")), std::to_string(10 * 4 * each));
}

TEST(Metrics, OfSeveralObjectsOnOneThreadStayApart) {
  Metrics one({});
  Metrics two({});
  for (int i = 0; i < 3; ++i) {
    one.decided("default", "a", Outcome::admitted, 1us);
    two.decided("default", "a", Outcome::refused, 1us);
  }
  EXPECT_EQ(sample(one, decisions("default", "a", "admitted")), "3");
  EXPECT_EQ(sample(one, decisions("default", "a", "refused")), "0");
  EXPECT_EQ(sample(two, decisions("default", "a", "refused")), "3");
}

TEST(Traceparent, IsTakenIfItIsWellFormed) {
  const std::string id = "0af7651916cd43dd8448eb211c80319c";
  EXPECT_EQ(trace_id_of("00-" + id + "-b7ad6b7169203331-01"), id);
  EXPECT_EQ(trace_id_of("cc-" + id + "-b7ad6b7169203331-01"), id);
  EXPECT_EQ(trace_id_of("cc-" + id + "-b7ad6b7169203331-01-what-comes"), id);
}

TEST(Traceparent, IsIgnoredIfItIsNot) {
  const std::string id = "0af7651916cd43dd8448eb211c80319c";
  for (const std::string& wrong :
       {std::string(), std::string("x"), "00-" + id + "-b7ad6b7169203331", "00-" + id + "-b7ad6b7169203331-0",
        "00-" + id + "-b7ad6b7169203331-01-", "00-" + id + "-b7ad6b7169203331-01-x",
        "cc-" + id + "-b7ad6b7169203331-01.x", "ff-" + id + "-b7ad6b7169203331-01",
        "0-0" + id + "-b7ad6b7169203331-01", "00_" + id + "-b7ad6b7169203331-01",
        "00-" + id + "-0000000000000000-01", "00-" + std::string(32, '0') + "-b7ad6b7169203331-01",
        "00-" + std::string("0AF7651916CD43DD8448EB211C80319C") + "-b7ad6b7169203331-01",
        "00-" + id + "-b7ad6b716920333g-01", "00-" + id + "-b7ad6b7169203331-0\n",
        "cc-" + id + "-b7ad6b7169203331-01-" + std::string(300, 'a')})
    EXPECT_EQ(trace_id_of(wrong), "") << wrong;
}

}  // namespace
}  // namespace weir::telemetry
