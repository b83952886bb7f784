// Requests that are answered from their head: the caller is checked before the body is read.

#include <unistd.h>

#include <fstream>

#include "service/api.h"

namespace weir::service {
namespace {

// The digests of "alice-secret" and "edge-secret".
constexpr const char* two_tokens =
    "alice admin sha256:0c848abb03307b06cf70cd4e29c157dc81af5e94ab3eb1d0c59a120269572376\n"
    "edge acquire sha256:0b863617d30f02eb2cc8e2f26787bdf34a19a06b7ab72c7da72185ed734fce13\n";

class Heads : public Api {
 protected:
  void SetUp() override {
    service->set_tokens(std::make_shared<const Tokens>(*Tokens::parse(two_tokens, "tokens")));
  }
  static Seen seen(net::Response&& response) {
    return {response.status, std::move(response.head), std::move(response.body)};
  }
  /// The answer to a head whose body is never sent.
  Seen answer_to(const std::string& method, const std::string& path, const std::string& fields) {
    net::Client client(address());
    EXPECT_TRUE(client.send(method + " " + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"));
    return seen(client.receive());
  }
  std::string metrics() { return get("/metrics", "Authorization: Bearer alice-secret\r\n").body; }
};
INSTANTIATE_TEST_SUITE_P(Stores, Heads, testing::Values("memory"),
                         [](const auto& parameter) { return std::string(parameter.param); });

constexpr const char* framings[] = {"Content-Length: 60000\r\n", "Transfer-Encoding: chunked\r\n",
                                    "Content-Length: 60000\r\nExpect: 100-continue\r\n"};

TEST_P(Heads, WithoutATokenAreAnsweredBeforeTheBody) {
  const std::pair<const char*, const char*> calls[] = {
      {"POST", "/v1/acquire"},           {"POST", "/v1/leases/x/adjust"}, {"POST", "/v1/leases/x/settle"},
      {"PUT", "/v1/limits/system"},      {"PUT", "/v1/entities/e"},       {"POST", "/v1/changes"},
      {"POST", "/v1/leases/x/rollback"}, {"GET", "/v1/limits"},           {"GET", "/metrics"},
      {"DELETE", "/v1/entities/e"}};
  for (const auto& [method, path] : calls) {
    for (const char* const framing : framings) {
      const Seen unknown = answer_to(method, path, framing);
      EXPECT_EQ(problem_of(unknown), "401 unauthorized") << method << " " << path << " " << framing;
      EXPECT_EQ(unknown.field("WWW-Authenticate"), "Bearer");
      EXPECT_EQ(unknown.field("Connection"), "close");
      EXPECT_TRUE(unknown.field("X-Request-Id").starts_with("weir-")) << unknown.head;
    }
  }
}

TEST_P(Heads, OfCallersWithAnotherRoleAreAnsweredBeforeTheBody) {
  for (const char* const framing : framings) {
    const std::string fields = std::string("Authorization: Bearer edge-secret\r\n") + framing;
    EXPECT_EQ(problem_of(answer_to("PUT", "/v1/limits/system", fields)), "403 forbidden") << framing;
    EXPECT_EQ(problem_of(answer_to("POST", "/v1/changes", fields)), "403 forbidden") << framing;
  }
}

TEST_P(Heads, ThatNameNoCallAreAnsweredBeforeTheBody) {
  for (const char* const framing : framings) {
    EXPECT_EQ(problem_of(answer_to("POST", "/v1/nothing", framing)), "404 not-found") << framing;
    EXPECT_EQ(problem_of(answer_to("POST", "/v1/entities/%zz", framing)), "400 malformed") << framing;
    const Seen other = answer_to("PUT", "/v1/acquire", framing);
    EXPECT_EQ(problem_of(other), "405 method-not-allowed") << framing;
    EXPECT_EQ(other.field("Allow"), "POST");
  }
}

TEST_P(Heads, AreCountedAndKeepTheirId) {
  const Seen refused = answer_to("POST", "/v1/acquire", "Content-Length: 9\r\nX-Request-Id: mine\r\n");
  EXPECT_EQ(refused.field("X-Request-Id"), "mine");
  EXPECT_NE(metrics().find(R"(call="acquire",status="4xx"} 1)"), std::string::npos) << metrics();
}

TEST_P(Heads, OfAPublicPathTakeNoLargeBody) {
  for (const char* const path : {"/livez", "/readyz", "/openapi.json"}) {
    EXPECT_EQ(answer_to("GET", path, "Content-Length: 60000\r\n").status, 413) << path;
    EXPECT_EQ(call("GET", path, "a little").status, 200) << path;
  }
}

TEST_P(Heads, OfSeveralCallersOnOneThreadAreNotConfused) {
  // Every head is checked before the body of the one before it has arrived, on few threads.
  const std::string body = R"({"limits":{"rpm":"3/min"}})";
  const auto head = [&](const char* token) {
    return "PUT /v1/limits/system HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + std::string(token) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  };
  std::vector<net::Client> admins;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(admins.emplace_back(address()).send(head("alice-secret")));
  for (int i = 0; i < 8; ++i) {
    net::Client other(address());
    ASSERT_TRUE(other.send(head("edge-secret") + body));
    EXPECT_EQ(other.receive().status, 403);
  }
  for (net::Client& admin : admins) {
    ASSERT_TRUE(admin.send(body));
    EXPECT_EQ(admin.receive().status, 200);
  }
  // The state of a request that ended is used again by one without a body, which is checked by itself.
  for (int i = 0; i < 8; ++i) {
    {
      net::Client gone(address());
      ASSERT_TRUE(gone.send(head("alice-secret")));
      gone.reset();
    }
    EXPECT_EQ(answer_to("GET", "/v1/limits", "").status, 401);
  }
}

std::size_t resident_kilobytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::getpagesize()) / 1024;
}

TEST_P(Heads, ManyTinyChunksCostNoMoreThanTheirData) {
  service->set_tokens(nullptr);
  // 40 KB of data in chunks of one byte, with extensions: 2.5 MB on the wire.
  std::string chunks;
  const std::string one = "1;" + std::string(56, 'x') + "\r\n \r\n";
  for (int i = 0; i < 500; ++i) chunks += one;
  std::vector<net::Client> clients;
  const std::size_t before = resident_kilobytes();
  for (int i = 0; i < 40; ++i) {
    net::Client& client = clients.emplace_back(address());
    ASSERT_TRUE(
        client.send("POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"));
  }
  for (int round = 0; round < 80; ++round) {
    for (net::Client& client : clients) ASSERT_TRUE(client.send(chunks));
  }
  EXPECT_LT(resident_kilobytes(), before + 40U * 512) << "kilobytes, of 40 connections";
  for (net::Client& client : clients) {
    ASSERT_TRUE(client.send("0\r\n\r\n"));
    EXPECT_EQ(client.receive().status, 400);
  }
}

TEST_P(Heads, ABodyInTinyChunksIsReadAsItWasSent) {
  service->set_tokens(nullptr);
  const std::string body = R"({"limits":{"rpm":"3/min"}})";
  net::Client client(address());
  ASSERT_TRUE(
      client.send("PUT /v1/limits/system HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (const char c : body) {
    for (const char byte : std::string("1;a=b\r\n") + c + "\r\n") ASSERT_TRUE(client.send({&byte, 1}));
  }
  ASSERT_TRUE(client.send("0\r\nT: x\r\n\r\nGET /v1/limits/system HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const net::Response put = client.receive();
  EXPECT_EQ(put.status, 200) << put.body;
  EXPECT_EQ(client.receive().body, put.body);
}

/// Requests of a browser on the machine of the service, for a page that somebody else wrote.
class ForeignPages : public Heads {
 protected:
  std::string status_of(const std::string& line, const std::string& fields) {
    net::Client client(address());
    EXPECT_TRUE(client.send(line + " HTTP/1.1\r\n" + fields + "\r\n"));
    const Seen answer = seen(client.receive());
    return answer.status == 403 ? problem_of(answer) : std::to_string(answer.status);
  }
  std::string own() const { return "Host: " + address().to_string() + "\r\n"; }
};
INSTANTIATE_TEST_SUITE_P(Stores, ForeignPages, testing::Values("memory"),
                         [](const auto& parameter) { return std::string(parameter.param); });

constexpr const char* alice = "Authorization: Bearer alice-secret\r\n";

TEST_P(ForeignPages, MayCallAServiceWithoutTokensNeitherByFetchNorByAFormNorByRebinding) {
  const std::string heads[] = {own() + "Sec-Fetch-Site: cross-site\r\n",
                               own() + "Sec-Fetch-Site: same-site\r\n",
                               own() + "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n",
                               own() + "Origin: https://evil.example\r\n",
                               own() + "Origin: null\r\n",
                               own() + "Origin: http://" + address().host() + ":1\r\n",
                               own() + "Origin: http://" + address().to_string() + ".evil.example\r\n",
                               "Host: evil.example\r\n",
                               "Host: evil.example:8080\r\nOrigin: http://evil.example:8080\r\n",
                               "Host: 127.0.0.1.evil.example\r\n",
                               "Host: localhost.evil.example\r\n",
                               "Host: evillocalhost.example\r\n",
                               "Host: evil.example.\r\n",
                               "Host: evil.\r\n",
                               "Host: my.evil-localhost\r\n",
                               "Host: 192.0.2.1.evil.example\r\n",
                               "Host: 127.1\r\n"};
  for (const std::string& head : heads) {
    for (const char* const line :
         {"POST /v1/acquire", "POST /v1/changes", "POST /v1/entities/x/reset", "GET /v1/limits",
          "GET /v1/authorize?entity=a&resource=b", "DELETE /v1/limits/system"}) {
      service->set_tokens(nullptr);
      EXPECT_EQ(status_of(line, head), "403 forbidden") << line << " " << head;
      service->set_tokens(std::make_shared<const Tokens>(*Tokens::parse(two_tokens, "tokens")));
      EXPECT_NE(status_of(line, head + alice), "403 forbidden") << "a page has no token; " << line << head;
    }
  }
}

TEST_P(ForeignPages, AreToldApartFromProgramsAndFromPagesOfThisMachine) {
  service->set_tokens(nullptr);
  const std::string authority = address().to_string();
  for (const std::string& head :
       {own(), std::string("Host: localhost\r\n"), std::string("Host: LOCALHOST:8080\r\n"),
        std::string("Host: 127.0.0.2:80\r\n"), std::string("Host: [::1]:8080\r\n"),
        std::string("Host: [::1]\r\n"), std::string("Host:\r\n"), own() + "Sec-Fetch-Site: none\r\n",
        own() + "Sec-Fetch-Site: same-origin\r\nOrigin: http://" + authority + "\r\n",
        std::string("Host: LocalHost:1\r\nOrigin: https://localhost:1\r\n")})
    EXPECT_EQ(status_of("GET /v1/limits", head), "200") << head;
}

TEST_P(ForeignPages, AreNoReasonToRefuseNamesThatNoPageCanHave) {
  service->set_tokens(nullptr);
  // Of containers, of an upstream in nginx's file, of a machine in the own network.
  for (const std::string host :
       {"weir", "WEIR:8080", "weir-1", "my_weir:80", "api.localhost", "a.b.LocalHost:8080", "192.0.2.1",
        "192.0.2.1:8080", "10.0.0.7:80", "[2001:db8::1]", "[2001:db8::1]:8080", "[::ffff:192.0.2.1]:80"}) {
    const std::string field = "Host: " + host + "\r\n";
    EXPECT_EQ(status_of("GET /v1/limits", field), "200") << host;
    EXPECT_EQ(status_of("GET /v1/limits", field + "Origin: http://evil.example\r\n"), "403 forbidden")
        << host;
  }
}

TEST_P(ForeignPages, AreNoReasonToRefuseHealthChecksAndScrapes) {
  service->set_tokens(nullptr);
  for (const char* const path : {"/livez", "/readyz", "/openapi.json", "/metrics"})
    EXPECT_EQ(status_of(std::string("GET ") + path, "Host: weir.internal:8080\r\n"), "200") << path;
  for (const char* const path : {"/livez", "/readyz", "/openapi.json"})
    EXPECT_EQ(status_of(std::string("GET ") + path, own() + "Origin: http://evil.example\r\n"), "200");
  EXPECT_EQ(status_of("GET /metrics", own() + "Origin: http://evil.example\r\n"), "403 forbidden");
  EXPECT_EQ(status_of("GET /metrics", own() + "Sec-Fetch-Site: cross-site\r\n"), "403 forbidden");
}

TEST_P(ForeignPages, ThatAProxyAsksForAreItsOwnClients) {
  service->set_tokens(nullptr);
  set_system(R"("rpm":"9/min")");
  const std::string line = "GET /v1/authorize?entity=a&resource=b&consume=rpm:1";
  const std::string fields = own() + "Origin: https://app.example\r\nSec-Fetch-Site: same-site\r\n";
  EXPECT_EQ(status_of(line, fields + "X-Forwarded-For: 192.0.2.1\r\n"), "200");
  EXPECT_EQ(status_of(line, fields), "403 forbidden");
  EXPECT_EQ(status_of(line, "Host: app.example\r\nX-Forwarded-For: 192.0.2.1\r\n"), "403 forbidden");
}

TEST_P(ForeignPages, AreToldByTheirOriginWhereTheServiceIsReachedByAnyName) {
  start(open_store(), {.beyond_loopback = true});
  EXPECT_EQ(status_of("GET /v1/limits", "Host: weir.internal:8080\r\n"), "200");
  EXPECT_EQ(status_of("GET /v1/limits", "Host: weir.internal\r\nOrigin: http://weir.internal\r\n"), "200");
  EXPECT_EQ(status_of("GET /v1/limits", "Host: weir.internal\r\nOrigin: http://evil.example\r\n"),
            "403 forbidden");
}

TEST_P(ForeignPages, AreToldWhatToDo) {
  service->set_tokens(nullptr);
  EXPECT_EQ(
      call("GET", "/v1/limits", {}, "Origin: http://evil.example\r\n").text("/detail"),
      "a web page of another site asks for this, and no tokens are required here; to allow it, start weir "
      "with --tokens FILE (a gateway: admin_tokens) and send one");
  net::Client client(address());
  ASSERT_TRUE(client.send("GET /v1/limits HTTP/1.1\r\nHost: weir.internal:8080\r\n\r\n"));
  EXPECT_EQ(
      seen(client.receive()).text("/detail"),
      "without tokens weir answers to no name that a web page may have, and the Host here is "
      "\\\"weir.internal:8080\\\"; send localhost, an address or a name without a dot as Host, or start "
      "weir with --tokens FILE (a gateway: admin_tokens)");
}

}  // namespace
}  // namespace weir::service
