// Ways around a limit that attackers have found: each is refused, or charged as it should be.
#include "gateway/rig.h"

namespace weir::gateway {
namespace {

using net::get;

/// An unlimited route, and one with two requests for each key.
class Doors : public testing::Test {
 public:
  static std::string routes(const std::string& url, const std::string& more = "") {
    return "routes: [{path: /, upstream: \"" + url + "\"}, {path: /api, upstream: \"" + url +
           "\", limit_by: \"header:X-Api-Key\", limits: {rpm: 2/min}" + more + "}]";
  }
  int status(std::string_view path, std::string_view fields = {}) const {
    return rig.get(path, fields).status;
  }
  void exhaust(std::string_view key) const {
    const std::string field = "X-Api-Key: " + std::string(key) + "\r\n";
    EXPECT_EQ(status("/api", field), 200);
    EXPECT_EQ(status("/api", field), 200);
    EXPECT_EQ(status("/api", field), 429);
  }

  Upstream upstream{mirror};
  Rig rig{routes(upstream.url())};
};

TEST_F(Doors, AnUpgradeToHttp2IsAnOrdinaryRequest) {
  const net::Response answer = rig.get("/api",
                                       "X-Api-Key: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "
                                       "h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_FALSE(has(answer.body, "Upgrade")) << answer.body;
  EXPECT_FALSE(has(answer.body, "HTTP2-Settings"));
  EXPECT_FALSE(has(answer.body, "Connection"));
  const net::Response several =
      rig.get("/api", "X-Api-Key: b\r\nConnection: upgrade\r\nUpgrade: h2c, WebSocket\r\n");
  EXPECT_TRUE(has(several.body, "Upgrade: WebSocket\r\n")) << several.body;
  EXPECT_FALSE(has(several.body, "h2c"));
}

TEST_F(Doors, AnUpgradeWithABodyIsAnOrdinaryRequest) {
  net::Client client = rig.client();
  client.send(
      "GET /api HTTP/1.1\r\nHost: a\r\nX-Api-Key: a\r\nConnection: upgrade\r\nUpgrade: "
      "websocket\r\nContent-Length: 2\r\n\r\nab");
  EXPECT_FALSE(has(client.receive().body, "Upgrade"));
}

TEST_F(Doors, AnotherSpellingOfThePathIsRefused) {
  for (const char* path :
       {"/API", "//api", "/api;x", "/%61pi", "/x/../api", "/api/../x", "/api/items/..%2f..%2fx",
        "/api/x/..%5c..%5cy", "/x/..;/api", "/api%00", "/api%0a", "/api%7F"}) {
    const net::Response answer = rig.get(path, "X-Api-Key: a\r\n");
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_TRUE(has(answer.body, "ambiguous-path")) << answer.body;
  }
  exhaust("a");
}

TEST_F(Doors, ACanonicalPathIsForwardedInThatForm) {
  rig.load(routes(upstream.url(), ", paths: canonical"));
  const net::Response answer = rig.get("//api/x/../%79?a=%2e", "X-Api-Key: a\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body.starts_with("GET /api/y?a=%2e HTTP/1.1\r\n")) << answer.body;
}

TEST_F(Doors, TheKeyCannotBeTakenAwayOrDoubled) {
  exhaust("a");
  const char* attempts[] = {"X-Api-Key: a\r\nConnection: x-api-key\r\n", "X-Api-Key: b\r\nX-Api-Key: a\r\n",
                            "X-Api-Key: a\r\nConnection: close, Authorization\r\n",
                            "X-Api-Key: a\r\nConnection: X-Forwarded-For\r\n",
                            "X-Api-Key: a\r\nAuthorization: a\r\nAuthorization: b\r\n"};
  for (const char* fields : attempts) EXPECT_EQ(status("/api", fields), 400) << fields;
}

TEST_F(Doors, AnAddressCannotBeSpentThroughAKey) {
  for (const char* key : {"127.0.0.1", "ip:127.0.0.1"}) {
    const std::string field = "X-Api-Key: " + std::string(key) + "\r\n";
    while (status("/api", field) == 200) {
    }
  }
  EXPECT_EQ(status("/api"), 200) << "without a key the address is charged";
}

TEST_F(Doors, FieldsWithUnderscoresDoNotShadowOthers) {
  const net::Response answer = rig.get(
      "/api",
      "X-Api-Key: a\r\nX_Forwarded_For: 6.6.6.6\r\nContent_Length: 9\r\nTransfer_Encoding: chunked\r\n"
      "X-Forwarded_For: 6.6.6.6\r\nX_Api_Key: b\r\nAuthori_zation: kept\r\nmy_field: kept\r\n");
  EXPECT_EQ(answer.status, 200);
  for (const char* name :
       {"X_Forwarded_For", "Content_Length", "Transfer_Encoding", "X-Forwarded_For", "X_Api_Key"})
    EXPECT_FALSE(has(answer.body, name)) << name;
  EXPECT_TRUE(has(answer.body, "my_field: kept")) << answer.body;
}

TEST_F(Doors, ATrailerDoesNotNameTheClient) {
  std::string body;
  Upstream reading([&](Peer& peer, unsigned) {
    peer.read_head();
    body = peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  Rig other{routes(reading.url())};
  net::Client client = other.client();
  client.send(
      "POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Api-Key: a\r\nX_Api_Key: "
      "a\r\nX_Forwarded_For: 6.6.6.6\r\nAuthorization: a\r\nx-goog-api-key: a\r\nApi_Key: "
      "a\r\nOpenAI-Project: a\r\nX-Sum: 1\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(body, "0\r\nX-Sum: 1\r\n\r\n");
}

TEST_F(Doors, TheHostOfARouteIsForwardedInTheSpellingOfTheRoute) {
  rig.load("routes: [{path: /, host: api.example, upstream: \"" + upstream.url() + "\"}]");
  for (const auto& [sent, told] : {std::pair<std::string, std::string>{"API.example.", "api.example"},
                                   {"Api.Example.:80", "api.example:80"},
                                   {"api.example:", "api.example"},
                                   {"api.example", "api.example"}}) {
    const net::Response answer = rig.client().ask("GET / HTTP/1.1\r\nHost: " + sent + "\r\n\r\n");
    EXPECT_TRUE(has(answer.body, "\r\nHost: " + told + "\r\n")) << answer.body;
    EXPECT_TRUE(has(answer.body, "\r\nX-Forwarded-Host: " + told + "\r\n")) << answer.body;
  }
}

TEST_F(Doors, InventedKeysOfOneAddressEndInTheBucketOfTheAddress) {
  Rig bounded{routes(upstream.url()), nullptr, 1, true, {.per_network = 5}};
  int admitted = 0;
  for (int i = 0; i < 100; ++i)
    admitted +=
        bounded.get("/api", "X-Api-Key: invented-" + std::to_string(i) + "\r\n").status == 200 ? 1 : 0;
  EXPECT_EQ(admitted, 5 + 2) << "one request for each of five keys, and two for the address";
  EXPECT_EQ(bounded.get("/api", "X-Api-Key: invented-0\r\n").status, 200)
      << "the first keys keep their buckets";
}

TEST_F(Doors, UnknownClientsCanShareABucketOrBeRefused) {
  const auto learn = [](Rig& with) {
    limiter::Core& core = with.gateway->decider()->core;
    ASSERT_TRUE(core.put_entity({.id = "known"}));
    ASSERT_TRUE(core.set_limits(Level::entity_default("limited"), *parse_limits({{"rpm", "3/min"}}), {}));
  };
  Rig sharing{routes(upstream.url(), ", unknown_clients: share")};
  learn(sharing);
  int admitted = 0;
  for (int i = 0; i < 10; ++i)
    admitted +=
        sharing.get("/api", "X-Api-Key: invented-" + std::to_string(i) + "\r\n").status == 200 ? 1 : 0;
  EXPECT_EQ(admitted, 2);
  Rig refusing{routes(upstream.url(), ", unknown_clients: refuse")};
  learn(refusing);
  EXPECT_EQ(refusing.get("/api", "X-Api-Key: invented\r\n").status, 403);
  EXPECT_EQ(refusing.get("/api").status, 200) << "an address is nothing that could be invented";
  for (const Rig* with : {&sharing, &refusing}) {
    for (const int status : {200, 200, 429})
      EXPECT_EQ(with->get("/api", "X-Api-Key: known\r\n").status, status);
    for (const int status : {200, 200, 200, 429})
      EXPECT_EQ(with->get("/api", "X-Api-Key: limited\r\n").status, status);
  }
}

TEST_F(Doors, AQuestionAboutTheServerItselfIsAnsweredByTheGateway) {
  const net::Response answer = rig.client().ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(upstream.accepted(), 0U);
}

}  // namespace
}  // namespace weir::gateway
