// Requests on their way through, and answers on their way back.
#include "gateway/rig.h"

namespace weir::gateway {
namespace {

using net::get;
using net::post;

TEST(Proxy, AnUpstreamIsToldTheHostThatItsRouteSays) {
  Upstream upstream(mirror);
  const std::string own = upstream.url().substr(7);
  for (const auto& [setting, told] : {std::pair<std::string, std::string>{"client", "a"},
                                      {"upstream", own},
                                      {"api.example.com", "api.example.com"}}) {
    const Rig rig(Rig::route(upstream.url(), "upstream_host: " + setting));
    const std::string seen = rig.get("/").body;
    EXPECT_TRUE(has(seen, "\r\nHost: " + told + "\r\n")) << setting << ": " << seen;
    EXPECT_TRUE(has(seen, "\r\nX-Forwarded-Host: a\r\n")) << setting << ": " << seen;
  }
}

TEST(Proxy, PassesRequestsAndAnswersThrough) {
  Upstream upstream([](Peer& peer, unsigned) {
    EXPECT_TRUE(has(peer.read_head(), "POST /a%20b?c=d&e HTTP/1.1\r\n"));
    EXPECT_EQ(peer.read(5), "hello");
    peer.send(
        "HTTP/1.1 201 Made\r\nContent-Length: 3\r\nX-Answer: yes\r\nSet-Cookie: a=1\r\nSet-Cookie: "
        "b=2\r\n\r\nbye");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  const auto answer = rig.client().ask(post("/a%20b?c=d&e", "hello"));
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "bye");
  EXPECT_TRUE(answer.has("X-Answer: yes\r\n"));
  EXPECT_TRUE(answer.has("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n")) << "fields are not merged";
  EXPECT_TRUE(answer.has("\r\nDate: ")) << "a proxy adds the date that the server did not give";
}

TEST(Proxy, SaysWhereTheRequestCameFrom) {
  Upstream upstream(mirror);
  const Rig rig(Rig::route(upstream.url()));
  const auto answer =
      rig.get("/",
              "X-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nX-Forwarded-Proto: https\r\n"
              "X-Forwarded-Host: evil\r\nX-Real-IP: 6.6.6.6\r\nVia: 1.0 old\r\n");
  EXPECT_TRUE(has(answer.body, "\r\nHost: a\r\n"));
  EXPECT_TRUE(has(answer.body, "\r\nX-Forwarded-For: 127.0.0.1\r\n"));
  EXPECT_TRUE(has(answer.body, "\r\nX-Forwarded-Proto: http\r\n"));
  EXPECT_TRUE(has(answer.body, "\r\nX-Forwarded-Host: a\r\n"));
  EXPECT_TRUE(has(answer.body, "\r\nForwarded: for=127.0.0.1;host=\"a\";proto=http\r\n"));
  EXPECT_TRUE(has(answer.body, "\r\nVia: 1.0 old, 1.1 weir\r\n"));
  EXPECT_FALSE(has(answer.body, "6.6.6.6")) << "whom nobody trusts says nothing of itself";
  EXPECT_FALSE(has(answer.body, "evil"));
  EXPECT_TRUE(answer.has("Via: 1.1 weir\r\n"));
}

TEST(Proxy, BelievesTrustedProxiesAboutTheClient) {
  Upstream upstream(mirror);
  const Rig rig("trusted_proxies: [127.0.0.0/8]\n" + Rig::route(upstream.url()));
  const auto answer = rig.get("/",
                              "X-Forwarded-For: 198.51.100.1\r\nForwarded: for=198.51.100.1\r\n"
                              "X-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example\r\n");
  EXPECT_TRUE(has(answer.body, "\r\nX-Forwarded-For: 198.51.100.1, 127.0.0.1\r\n"));
  EXPECT_TRUE(has(answer.body, "\r\nX-Forwarded-Proto: https\r\n"));
  EXPECT_TRUE(has(answer.body, "\r\nX-Forwarded-Host: shop.example\r\n"));
  EXPECT_TRUE(has(answer.body, "\r\nForwarded: for=198.51.100.1, for=127.0.0.1;host=\"a\";proto=http\r\n"));
}

TEST(Proxy, KeepsToItselfWhatIsForOneConnection) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.answer(peer.read_head(),
                "Connection: X-Hop, keep-alive\r\nX-Hop: secret\r\nKeep-Alive: timeout=5\r\n"
                "Proxy-Connection: x\r\nX-End: kept\r\n");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  const auto answer =
      rig.get("/",
              "Connection: keep-alive, X-Mine\r\nX-Mine: secret\r\nKeep-Alive: 300\r\n"
              "Proxy-Connection: keep-alive\r\nTE: gzip\r\nProxy: http://evil\r\nX-Kept: yes\r\n");
  for (const char* gone : {"X-Mine", "secret", "Keep-Alive", "Proxy", "TE:", "Connection"})
    EXPECT_FALSE(has(answer.body, gone)) << gone << " in " << answer.body;
  EXPECT_TRUE(has(answer.body, "\r\nX-Kept: yes\r\n"));
  for (const char* gone : {"X-Hop", "secret", "Keep-Alive", "Proxy-Connection"})
    EXPECT_FALSE(answer.has(gone)) << gone;
  EXPECT_TRUE(answer.has("X-End: kept\r\n"));
}

TEST(Proxy, AUrlAsTargetBecomesAPathAndItsHostCounts) {
  Upstream upstream(mirror);
  const Rig rig(Rig::route(upstream.url()));
  const auto answer = rig.client().ask("GET http://Other.example/x?y HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(answer.body.starts_with("GET /x?y HTTP/1.1\r\nHost: Other.example\r\n")) << answer.body;
}

TEST(Proxy, AnswersToHeadKeepTheirLength) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n");
    EXPECT_TRUE(peer.read_head().starts_with("GET")) << "the connection goes on";
    peer.send("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n");
    peer.read_head();
    peer.send("HTTP/1.1 204 No Content\r\n\r\n");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto head = client.receive(wire::http::Method::head);
  EXPECT_TRUE(head.has("Content-Length: 12345\r\n"));
  EXPECT_EQ(client.ask(get("/")).status, 304);
  const auto empty = client.ask(get("/"));
  EXPECT_EQ(empty.status, 204);
  EXPECT_FALSE(empty.has("Content-Length"));
}

TEST(Proxy, ChunksPassBothWaysWithTheirTrailers) {
  Upstream upstream([](Peer& peer, unsigned) {
    const std::string head = peer.read_head();
    EXPECT_TRUE(has(head, "Transfer-Encoding: chunked\r\n"));
    EXPECT_TRUE(has(head, "TE: trailers\r\n"));
    const std::string body = peer.read_until("0\r\nX-Sum: 7\r\n\r\n");
    EXPECT_TRUE(has(body, "hello"));
    peer.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX-End: "
        "1\r\n\r\n");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send(
      "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n0\r\nX-Sum: 7\r\nContent-Type: late\r\n\r\n");
  const auto answer = client.receive();
  EXPECT_EQ(answer.body, "abcdefg");
  EXPECT_TRUE(answer.has("Transfer-Encoding: chunked\r\n"));
}

TEST(Proxy, TrailersGoToThoseWhoAskForThem) {
  Upstream upstream([](Peer& peer, unsigned) {
    for (int i = 0; i < 2; ++i) {
      peer.read_head();
      peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-End: 1\r\n\r\n");
    }
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send(get("/", "TE: trailers\r\nConnection: TE\r\n"));
  EXPECT_TRUE(client.receive().whole);
  client.send(get("/", "Connection: close\r\n"));
  EXPECT_FALSE(has(client.rest(), "X-End"));
  Upstream second([](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-End: 1\r\n\r\n");
    peer.sees_end();
  });
  const Rig with(Rig::route(second.url()));
  net::Client asking = with.client();
  asking.send(get("/", "TE: trailers\r\nConnection: TE, close\r\n"));
  EXPECT_TRUE(has(asking.rest(), "0\r\nX-End: 1\r\n\r\n"));
}

TEST(Proxy, AnAnswerWithoutALengthEndsWithItsConnection) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.0 200 OK\r\n\r\nuntil the end");
  });
  const Rig rig(Rig::route(upstream.url()));
  const auto answer = rig.get("/");
  EXPECT_EQ(answer.body, "until the end");
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(answer.has("Transfer-Encoding: chunked\r\n"));
}

TEST(Proxy, AnUnreadableBodyIsTheClientsFault) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n");
  EXPECT_EQ(client.receive().status, 400);
}

TEST(Proxy, WithoutARouteItIsNotFound) {
  const Rig rig("routes: [{path: /api, upstream: 'http://127.0.0.1:1'}]");
  const auto answer = rig.get("/other");
  EXPECT_EQ(answer.status, 404);
  EXPECT_TRUE(has(answer.body, R"("type":"no-route")"));
}

TEST(Proxy, RoutesCanChangeWhileItRuns) {
  Upstream one([](Peer& peer, unsigned) {
    while (!peer.read_head().empty()) peer.answer("one");
  });
  Upstream two([](Peer& peer, unsigned) {
    while (!peer.read_head().empty()) peer.answer("two");
  });
  Rig rig(Rig::route(one.url()));
  net::Client client = rig.client();
  EXPECT_EQ(client.ask(get("/")).body, "one");
  rig.load(Rig::route(two.url()));
  EXPECT_EQ(client.ask(get("/")).body, "two") << "on the same connection";
  rig.load(Rig::route(two.url(), "timeout_ms: 1000"));
  EXPECT_EQ(client.ask(get("/")).body, "two");
  EXPECT_EQ(two.accepted(), 1U) << "connections to an upstream that stays, stay";
}

TEST(Proxy, ManyThreadsServeManyClients) {
  Upstream upstream(mirror);
  const Rig rig(Rig::route(upstream.url()), nullptr, 3);
  std::vector<std::thread> clients;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      net::Client client = rig.client();
      for (int j = 0; j < 50; ++j) good += client.ask(get("/")).status == 200 ? 1 : 0;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 400);
}

}  // namespace
}  // namespace weir::gateway
