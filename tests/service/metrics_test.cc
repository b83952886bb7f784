// GET /metrics, the access log, and traceparent.
#include <fstream>
#include <sstream>
#include <thread>

#include "server/observing.h"
#include "service/api.h"

namespace weir::service {
namespace {

class Telemetry : public Api {
 protected:
  /// The value of a sample; "none" if it is not there.
  std::string sample(const std::string& name) {
    std::istringstream lines(get("/metrics").body);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + " ")) return line.substr(name.size() + 1);
    }
    return "none";
  }
  std::string decisions(const std::string& outcome, const std::string& resource = "gpt-4",
                        const std::string& name_space = "default") {
    return sample("weir_decisions_total{namespace=\"" + name_space + "\",resource=\"" + resource +
                  "\",outcome=\"" + outcome + "\"}");
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, Telemetry, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(Telemetry, IsTextAsPrometheusReadsIt) {
  const Seen seen = get("/metrics");
  EXPECT_EQ(seen.status, 200);
  EXPECT_EQ(seen.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(seen.body.find("# TYPE weir_decisions_total counter\n"), std::string::npos);
  EXPECT_NE(seen.body.find("# TYPE weir_decision_duration_seconds histogram\n"), std::string::npos);
  const Seen head = call("HEAD", "/metrics");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("Content-Type"), seen.field("Content-Type"));
  EXPECT_EQ(head.body, "");
}

TEST_P(Telemetry, CountsDecisionsByHowTheyEnded) {
  set_system(R"("rpm":"3/min")");
  for (int i = 0; i < 5; ++i) acquire("e", R"("rpm":1)");
  acquire("e", R"("rpm":4)");
  EXPECT_EQ(decisions("admitted"), "3");
  EXPECT_EQ(decisions("refused"), "2");
  EXPECT_EQ(decisions("never_fits"), "1");
  EXPECT_EQ(decisions("degraded"), "0");
  EXPECT_EQ(decisions("error"), "0");
  EXPECT_EQ(sample("weir_decision_duration_seconds_count"), "6");
  const std::string store = GetParam();
  EXPECT_EQ(sample("weir_store_duration_seconds_count{store=\"" + store + "\",op=\"acquire\"}"), "6");
  EXPECT_EQ(sample("weir_store_duration_seconds_count{store=\"" + store + "\",op=\"write\"}"), "1");
  headers = "Weir-Namespace: team-2\r\n";
  set_system(R"("rpm":"3/min")");
  acquire("e", R"("rpm":1)");
  EXPECT_EQ(decisions("admitted", "gpt-4", "team-2"), "1");
  EXPECT_EQ(decisions("admitted"), "3");
}

TEST_P(Telemetry, CountsMistakesWithoutGivingThemALabel) {
  acquire("e", R"("rpm":1)");
  EXPECT_EQ(decisions("error"), "none");
  EXPECT_EQ(decisions("error", "other", "other"), "1");
  set_system(R"("rpm":"3/min")");
  acquire("e", R"("rpm":1)");
  acquire("e", R"("tpm":1)");
  EXPECT_EQ(decisions("error"), "1");
  // Bytes that are no request are not a decision.
  EXPECT_EQ(acquire("e e", R"("rpm":1)").status, 422);
  EXPECT_EQ(post("/v1/acquire", "{").status, 400);
  EXPECT_EQ(post("/v1/acquire", R"({"entity":"e","resource":"no name","consume":{"rpm":1}})").status, 422);
  EXPECT_EQ(sample("weir_decision_duration_seconds_count"), "3");
  EXPECT_EQ(get("/metrics").body.find("no name"), std::string::npos);
  EXPECT_EQ(sample(R"(weir_http_requests_total{call="acquire",status="4xx"})"), "5");
  EXPECT_EQ(sample(R"(weir_http_requests_total{call="acquire",status="2xx"})"), "1");
}

TEST_P(Telemetry, NeverNamesAnEntity) {
  set_system(R"("rpm":"3/min")");
  acquire("some-api-key", R"("rpm":1)");
  get("/v1/entities/some-api-key/buckets");
  EXPECT_EQ(get("/metrics").body.find("some-api-key"), std::string::npos);
}

TEST_P(Telemetry, CountsWhatSyncAndOperatorsWriteOverEachOther) {
  const std::string path = "/v1/limits/entity/e/_default_";
  const std::string of_sync = R"({"limits":{"rpm":"3/min"},"owner":"sync","ttl_ms":30000})";
  EXPECT_EQ(put(path, of_sync).status, 200);
  EXPECT_EQ(put(path, of_sync).status, 200);
  EXPECT_EQ(sample(R"(weir_sync_writes_total{result="written"})"), "2");
  EXPECT_EQ(sample("weir_limits_taken_from_sync_total"), "0");
  EXPECT_EQ(put(path, R"({"limits":{"rpm":"5/min"}})").status, 200);
  EXPECT_EQ(put(path, R"({"limits":{"rpm":"6/min"}})").status, 200);
  EXPECT_EQ(sample("weir_limits_taken_from_sync_total"), "1");
  EXPECT_EQ(put(path, of_sync).status, 409);
  EXPECT_EQ(put(path, R"({"limits":{"rpm":"3/min"},"owner":"sync"})").status, 422);
  EXPECT_EQ(sample(R"(weir_sync_writes_total{result="written"})"), "2");
  EXPECT_EQ(sample(R"(weir_sync_writes_total{result="operator_owned"})"), "1");
  EXPECT_EQ(sample(R"(weir_sync_writes_total{result="skipped"})"), "0");
}

TEST_P(Telemetry, CountsThemInManyChangesAtOnce) {
  const auto changes = [&](const std::string& more) {
    const auto set = [&](const char* entity) {
      return R"({"change":"limits.set","level":"entity_default","limits":{"rpm":"3/min"},"entity":")" +
             std::string(entity) + "\"" + more + "}";
    };
    return post("/v1/changes", "{\"changes\":[" + set("a") + "," + set("b") + "]}").status;
  };
  const std::string of_sync = R"(,"owner":"sync","ttl_ms":30000)";
  EXPECT_EQ(changes(of_sync), 200);
  EXPECT_EQ(sample(R"(weir_sync_writes_total{result="written"})"), "2");
  EXPECT_EQ(sample("weir_limits_taken_from_sync_total"), "0");
  EXPECT_EQ(changes(""), 200);
  EXPECT_EQ(sample("weir_limits_taken_from_sync_total"), "2");
  EXPECT_EQ(changes(of_sync), 409);
  EXPECT_EQ(sample(R"(weir_sync_writes_total{result="written"})"), "2");
  EXPECT_EQ(sample(R"(weir_sync_writes_total{result="operator_owned"})"), "1");
}

TEST_P(Telemetry, CountsEveryRequestThatIsAnswered) {
  get("/livez");
  get("/nope");
  call("PUT", "/livez");
  get("/livez HTTP/1.1\r\nContent-Length: x\r\nX:");
  EXPECT_EQ(sample(R"(weir_http_requests_total{call="livez",status="2xx"})"), "1");
  EXPECT_EQ(sample(R"(weir_http_requests_total{call="livez",status="4xx"})"), "1");
  EXPECT_EQ(sample(R"(weir_http_requests_total{call="none",status="4xx"})"), "2");
  EXPECT_EQ(sample(R"(weir_http_requests_total{call="metrics",status="2xx"})"), "3");
}

TEST_P(Telemetry, CountsExactlyWhenSeveralCallAtOnce) {
  set_system(R"("rpm":"150/min")");
  constexpr int callers = 4;
  constexpr int each = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < callers; ++t) {
    threads.emplace_back([this] {
      Connection connection(address());
      for (int i = 0; i < each; ++i) {
        connection.send("POST", "/v1/acquire", R"({"entity":"e","resource":"gpt-4","consume":{"rpm":1}})");
        EXPECT_NE(connection.receive().status, 0);
      }
    });
  }
  // Scrapes come in between, several at once.
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([this] {
      Connection connection(address());
      for (int i = 0; i < 10; ++i) connection.send("GET", "/metrics");
      for (int i = 0; i < 10; ++i) EXPECT_EQ(connection.receive().status, 200);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(decisions("admitted"), "150");
  EXPECT_EQ(decisions("refused"), std::to_string(callers * each - 150));
  EXPECT_EQ(sample("weir_decision_duration_seconds_count"), std::to_string(callers * each));
}

TEST_P(Telemetry, IsForReadersOfEveryNamespace) {
  auto tokens = Tokens::parse(
      "edge acquire sha256:0b863617d30f02eb2cc8e2f26787bdf34a19a06b7ab72c7da72185ed734fce13\n"
      "viewer read sha256:f6aa3a0aabbb721b4aa7763a987a47688a702b1bcf4850cb4ba5bdab26f9cc4b\n"
      "team acquire,admin sha256:7509900f69b7d4f018b111f107a6c7fc92e3664ccaff6ed2c397bf02f5afe725 team-2\n",
      "tokens");
  service->set_tokens(std::make_shared<const Tokens>(*std::move(tokens)));
  EXPECT_EQ(problem_of(get("/metrics")), "401 unauthorized");
  headers = "Authorization: Bearer edge-secret\r\n";
  EXPECT_EQ(problem_of(get("/metrics")), "403 forbidden");
  headers = "Authorization: Bearer team-secret\r\n";
  EXPECT_EQ(problem_of(get("/metrics")), "403 forbidden");
  headers = "Authorization: Bearer viewer-secret\r\n";
  EXPECT_EQ(get("/metrics").status, 200);
}

TEST_P(Telemetry, PassesATraceparentOn) {
  const std::string valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto answered = [&](const std::string& fields) {
    return call("GET", "/livez", "", fields).field("traceparent");
  };
  EXPECT_EQ(answered("traceparent: " + valid + "\r\n"), valid);
  EXPECT_EQ(answered("Traceparent: " + valid + "\r\n"), valid);
  EXPECT_EQ(answered(""), "none");
  EXPECT_EQ(answered("traceparent: nonsense\r\n"), "none");
  EXPECT_EQ(answered("traceparent: " + valid + "\r\ntraceparent: " + valid + "\r\n"), "none");
  set_system(R"("rpm":"3/min")");
  const Seen seen = post("/v1/acquire", R"({"entity":"e","resource":"r","consume":{"rpm":1}})",
                         "traceparent: " + valid + "\r\n");
  EXPECT_EQ(seen.field("traceparent"), valid);
}

TEST_P(Telemetry, HasALineForEachRequestIfAskedTo) {
  const std::string path = folder_.file("access.log");
  auto log = telemetry::AccessLog::open(path, {.flush_every = std::chrono::hours(1)});
  ASSERT_TRUE(log);
  stop();
  start(open_store(), {.access_log = log->get()});
  set_system(R"("rpm":"3/min")");
  const std::string lease =
      post("/v1/acquire", R"({"entity":"key-1","resource":"gpt-4","consume":{"rpm":1}})",
           "X-Request-Id: r-1\r\nAuthorization: Bearer hidden\r\n"
           "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n")
          .text("/lease");
  post("/v1/leases/" + lease + "/settle", "{}");
  call("HEAD", "/v1/available?entity=key-1&resource=gpt-4");
  get("/nope%0aforged");
  stop();
  log->reset();
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_NE(lines[0].find(" method=PUT path=/v1/limits/system status=200 bytes="), std::string::npos)
      << lines[0];
  EXPECT_NE(lines[0].find("Z info request remote=127.0.0.1:"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find(" path=/v1/acquire status=200 "), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find(" request_id=r-1 principal=anonymous namespace=default "
                          "trace_id=0af7651916cd43dd8448eb211c80319c"),
            std::string::npos)
      << lines[1];
  EXPECT_NE(lines[2].find(" path=/v1/leases/" + lease.substr(0, 8) + ".../settle status=200 "),
            std::string::npos)
      << lines[2];
  EXPECT_NE(lines[3].find(" method=HEAD path=/v1/available status=200 bytes=0 "), std::string::npos)
      << lines[3];
  EXPECT_NE(lines[4].find(" path=/nope%0aforged status=404 "), std::string::npos) << lines[4];
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find(lease), std::string::npos) << line;
    EXPECT_EQ(line.find("hidden"), std::string::npos) << line;
    EXPECT_EQ(line.find("entity="), std::string::npos) << line;
  }
}

TEST(LoggablePath, ShowsOnlyTheBeginningOfALease) {
  const std::string lease = "w1" + std::string(160, 'x');
  EXPECT_EQ(server::loggable_path("/v1/leases/" + lease + "/settle"), "/v1/leases/w1xxxxxx.../settle");
  EXPECT_EQ(server::loggable_path("/v1/leases/" + lease), "/v1/leases/w1xxxxxx...");
  EXPECT_EQ(server::loggable_path("/v1/Leases/" + lease + "/x"), "/v1/Leases/w1xxxxxx.../x");
  EXPECT_EQ(server::loggable_path("/" + lease), "/w1xxxxxx...");
  EXPECT_EQ(server::loggable_path("/v1/leases/short/settle"), "/v1/leases/short/settle");
  EXPECT_EQ(server::loggable_path("/v1/entities/w1"), "/v1/entities/w1");
  EXPECT_EQ(server::loggable_path("/"), "/");
  EXPECT_EQ(server::loggable_path("*"), "*");
  EXPECT_EQ(server::loggable_path("/a//"), "/a//");
  EXPECT_EQ(server::loggable_path("/" + std::string(600, 'a')), "/" + std::string(511, 'a') + "...");
}

}  // namespace
}  // namespace weir::service
