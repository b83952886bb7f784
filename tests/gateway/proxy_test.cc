// Requests on their way through, and answers on their way back.
#include <poll.h>

#include "gateway/rig.h"

namespace weir::gateway {
namespace {

using net::get;
using net::post;

/// Answers every request on every connection with its head, as a body.
void mirror(Peer& peer, unsigned /*number*/) {
  for (std::string head; !(head = peer.read_head()).empty();) peer.answer(head);
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

TEST(Proxy, TheUpstreamSaysWhetherABodyIsWanted) {
  Upstream upstream([](Peer& peer, unsigned number) {
    EXPECT_TRUE(has(peer.read_head(), "Expect: 100-continue\r\n"));
    if (number == 1) {
      peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
      return;
    }
    peer.send("HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(peer.read(5), "hello");
    peer.answer("yes", "Connection: close\r\n");
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send("hello");
  EXPECT_EQ(client.receive().body, "yes");
  net::Client refused = rig.client();
  refused.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(refused.receive().status, 403) << "and the body was never sent";
}

TEST(Proxy, ABodyIsNotHeldBackForEverByAnUpstreamThatDoesNotKnow100) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    EXPECT_EQ(peer.read(5), "hello");
    peer.answer("late");
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send("hello");
  EXPECT_EQ(client.receive().body, "late");
}

TEST(Proxy, InterimAnswersPass) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n");
    peer.answer("done");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send(get("/"));
  const auto hints = client.receive();
  EXPECT_EQ(hints.status, 103) << "a 100 that nobody waits for is dropped";
  EXPECT_TRUE(hints.has("Link: </a.css>\r\n"));
  EXPECT_EQ(client.receive().body, "done");
}

TEST(Proxy, WhatIsStreamedArrivesAsItComes) {
  std::mutex mutex;
  std::condition_variable changed;
  int received = 0;
  Upstream upstream([&](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 1; i <= 3; ++i) {
      peer.send("9\r\ndata: " + std::to_string(i) + "\n\n\r\n");
      std::unique_lock lock(mutex);
      // The next event is sent only once the client has this one.
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return received == i; }));
    }
    peer.send("0\r\n\r\n");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send(get("/"));
  std::string stream;
  while (!stream.ends_with("\r\n\r\n")) stream += client.take(1);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(client.take(14), "9\r\ndata: " + std::to_string(i) + "\n\n\r\n");
    const std::scoped_lock lock(mutex);
    received = i;
    changed.notify_one();
  }
  EXPECT_EQ(client.take(5), "0\r\n\r\n");
}

TEST(Proxy, ARequestIsStreamedAsItComesToo) {
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;
  Upstream upstream([&](Peer& peer, unsigned) {
    peer.read_head();
    EXPECT_EQ(peer.read(5), "first");
    {
      const std::scoped_lock lock(mutex);
      begun = true;
      changed.notify_one();
    }
    EXPECT_EQ(peer.read(6), "second");
    peer.answer("both");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nfirst");
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return begun; }));
  }
  client.send("second");
  EXPECT_EQ(client.receive().body, "both");
}

TEST(Proxy, ASlowClientHoldsTheUpstreamBack) {
  constexpr std::size_t all = std::size_t{64} << 20U;
  std::atomic<std::size_t> sent{0};
  Upstream upstream([&](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(all) + "\r\n\r\n");
    const std::string part(1 << 20U, 'x');
    for (std::size_t i = 0; i < all / part.size(); ++i) {
      if (!peer.send(part)) return;
      sent += part.size();
    }
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send(get("/"));
  EXPECT_EQ(client.take(17), "HTTP/1.1 200 OK\r\n");
  // Until the upstream cannot go on: what it has sent then is in sockets and in the gateway.
  std::size_t before = 0;
  for (int quiet = 0; quiet < 20; quiet = sent == before ? quiet + 1 : 0) {
    before = sent;
    ::usleep(10'000);
  }
  EXPECT_LT(sent, all / 2) << "the gateway keeps what the client does not take";
  std::size_t rest = 0;
  while (rest < all) {
    const std::string part = client.take(1 << 16U);
    if (part.empty()) break;
    rest += part.size();
  }
  EXPECT_GE(rest, all);
}

TEST(Proxy, ASlowUpstreamHoldsTheClientBack) {
  constexpr std::size_t all = std::size_t{64} << 20U;
  std::mutex mutex;
  std::condition_variable changed;
  bool go_on = false;
  Upstream upstream([&](Peer& peer, unsigned) {
    peer.read_head();
    {
      std::unique_lock lock(mutex);
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return go_on; }));
    }
    for (std::size_t taken = 0; taken < all;) {
      const std::size_t part = peer.read(1 << 16U).size();
      if (part == 0) return;
      taken += part;
    }
    peer.answer("all of it");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  std::atomic<std::size_t> sent{0};
  std::thread sender([&] {
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(all) + "\r\n\r\n");
    const std::string part(1 << 20U, 'x');
    for (std::size_t i = 0; i < all / part.size() && client.send(part); ++i) sent += part.size();
  });
  std::size_t before = 0;
  for (int quiet = 0; quiet < 20; quiet = sent == before ? quiet + 1 : 0) {
    before = sent;
    ::usleep(10'000);
  }
  EXPECT_LT(sent, all / 2);
  {
    const std::scoped_lock lock(mutex);
    go_on = true;
    changed.notify_one();
  }
  sender.join();
  EXPECT_EQ(client.receive().body, "all of it");
}

TEST(Proxy, AnUpgradeMakesATunnel) {
  Upstream upstream([](Peer& peer, unsigned) {
    const std::string head = peer.read_head();
    EXPECT_TRUE(has(head, "Upgrade: websocket\r\n"));
    EXPECT_TRUE(has(head, "Connection: upgrade\r\n"));
    EXPECT_TRUE(has(head, "Sec-WebSocket-Key: abc\r\n"));
    peer.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: xyz\r\n\r\nhello");
    EXPECT_EQ(peer.read(4), "\x81\x02hi");
    peer.send("echo");
    EXPECT_TRUE(peer.sees_end());
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send(
      get("/", "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\n"));
  const auto answer = client.receive();
  EXPECT_EQ(answer.status, 101);
  EXPECT_TRUE(answer.has("Upgrade: websocket\r\n"));
  EXPECT_TRUE(answer.has("Sec-WebSocket-Accept: xyz\r\n"));
  EXPECT_TRUE(answer.has("RateLimit: ")) << "it was one request";
  EXPECT_EQ(client.take(5), "hello");
  client.send("\x81\x02hi");
  EXPECT_EQ(client.take(4), "echo");
  client.end_sending();
  EXPECT_EQ(client.rest(), "");
}

TEST(Proxy, AnUpgradeThatTheUpstreamDoesNotWantIsAnOrdinaryRequest) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.answer("no");
    EXPECT_TRUE(peer.read_head().starts_with("GET /2 "));
    peer.answer("two");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  EXPECT_EQ(client.ask(get("/1", "Connection: upgrade\r\nUpgrade: h2c\r\n")).body, "no");
  EXPECT_EQ(client.ask(get("/2")).body, "two");
}

TEST(Proxy, AnUpgradeThatNobodyAskedForIsNoAnswer) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  EXPECT_EQ(rig.get("/").status, 502);
}

TEST(Proxy, OneConnectionServesManyRequests) {
  Upstream upstream(mirror);
  const Rig rig(Rig::route(upstream.url()));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rig.get("/").status, 200);
  net::Client client = rig.client();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.ask(get("/")).status, 200);
  EXPECT_EQ(upstream.accepted(), 1U);
}

TEST(Proxy, PipelinedRequestsAreAnsweredInOrder) {
  Upstream upstream(mirror);
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send(get("/1") + get("/2") + get("/3"));
  for (const char* path : {"/1", "/2", "/3"})
    EXPECT_TRUE(has(client.receive().body, std::string("GET ") + path + " "));
}

TEST(Proxy, AConnectionThatTheUpstreamClosesIsNotUsedAgain) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.answer("once", "Connection: close\r\n");
    EXPECT_TRUE(peer.sees_end());
  });
  const Rig rig(Rig::route(upstream.url()));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rig.get("/").body, "once");
  EXPECT_EQ(upstream.accepted(), 3U);
}

TEST(Proxy, ARequestThatFindsItsConnectionClosedIsSentAgainIfThatIsHarmless) {
  // Each connection answers one request, and is cut when the next one is there.
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.answer("once");
    peer.read_head();
    peer.reset();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.ask(get("/")).body, "once") << i;
  const auto posted = client.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(posted.status, 502) << "it may have had its effect";
  EXPECT_TRUE(has(posted.body, "upstream-lost"));
}

TEST(Proxy, AnUpstreamThatIsDownIsPassedOver) {
  Upstream upstream(mirror);
  const Rig rig("routes: [{path: /, upstream: [\"http://127.0.0.1:" + std::to_string(closed_port()) +
                "\", \"" + upstream.url() + "\"]}]");
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(rig.get("/").status, 200);
    EXPECT_EQ(rig.client().ask(post("/", "not sent to anybody yet")).status, 200);
  }
}

TEST(Proxy, RequestsAreSpreadOverUpstreamsInTurn) {
  std::atomic<int> first{0};
  std::atomic<int> second{0};
  const auto counting = [](std::atomic<int>& count) {
    return [&count](Peer& peer, unsigned) {
      while (!peer.read_head().empty()) {
        ++count;
        peer.answer("");
      }
    };
  };
  Upstream one(counting(first));
  Upstream two(counting(second));
  const Rig rig("routes: [{path: /, upstream: [\"" + one.url() + "\", \"" + two.url() + "\"]}]");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rig.get("/").status, 200);
  EXPECT_EQ(first, 5);
  EXPECT_EQ(second, 5);
}

TEST(Proxy, WithoutAnUpstreamItIsABadGateway) {
  const Rig rig(Rig::route("http://127.0.0.1:" + std::to_string(closed_port())));
  const auto answer = rig.get("/");
  EXPECT_EQ(answer.status, 502);
  EXPECT_TRUE(answer.has("Content-Type: application/problem+json\r\n"));
  EXPECT_TRUE(has(answer.body, R"("type":"upstream-unreachable")"));
  EXPECT_EQ(rig.get("/", "Accept: text/plain\r\n").body, "the server behind the gateway cannot be reached\n");
  EXPECT_EQ(rig.client().ask(post("/", "a body")).status, 502);
}

TEST(Proxy, AnUpstreamWhoseNameLeadsNowhereIsUnavailable) {
  const Rig rig(Rig::route("http://does-not-exist.invalid:80"));
  EXPECT_EQ(rig.get("/").status, 503);
}

TEST(Proxy, AnUpstreamThatSaysNothingIsTooSlow) {
  Upstream upstream([](Peer& peer, unsigned) { peer.sees_end(); });
  const Rig rig(Rig::route(upstream.url(), "timeout_ms: 50"));
  const auto answer = rig.get("/");
  EXPECT_EQ(answer.status, 504);
  EXPECT_TRUE(has(answer.body, R"("type":"upstream-timeout")"));
  EXPECT_EQ(upstream.accepted(), 1U) << "it was not tried twice";
}

/// A port whose queue of new connections is full, so that the next one is neither accepted nor refused.
class Full {
 public:
  Full() {
    net::SocketAddress name = net::to_socket(*net::Address::parse("127.0.0.1", 0));
    const int listener = open();
    EXPECT_EQ(::bind(listener, name.pointer(), name.size), 0);
    EXPECT_EQ(::listen(listener, 0), 0);
    name.size = sizeof name.storage;
    ::getsockname(listener, name.pointer(), &name.size);
    port_ = net::from_socket(name).port;
    // On this machine a connection that is not there within 100 ms waits for room.
    while (sockets_.size() < 100) {
      pollfd waiting{open(), POLLOUT, 0};
      ::connect(waiting.fd, name.pointer(), name.size);
      if (::poll(&waiting, 1, 100) == 0) return;
    }
    ADD_FAILURE() << "the queue does not fill";
  }
  Full(const Full&) = delete;
  Full& operator=(const Full&) = delete;
  ~Full() {
    for (const int socket : sockets_) ::close(socket);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  int open() {
    return sockets_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  std::vector<int> sockets_;
  std::uint16_t port_ = 0;
};

TEST(Proxy, AnUpstreamThatDoesNotAcceptIsTooSlow) {
  const Full full;
  const Rig rig(Rig::route(full.url(), "timeout_ms: 50"));
  const auto answer = rig.get("/");
  EXPECT_EQ(answer.status, 504);
  EXPECT_TRUE(has(answer.body, R"("type":"upstream-timeout")"));
}

TEST(Proxy, AnAnswerThatStopsInTheMiddleIsCutOff) {
  Upstream upstream([](Peer& peer, unsigned number) {
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    if (number == 0) return;
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url(), "timeout_ms: 50"));
  EXPECT_FALSE(rig.get("/").whole);
  EXPECT_FALSE(rig.get("/").whole) << "and so is one that goes silent";
}

TEST(Proxy, WhatIsNoAnswerIsABadGateway) {
  const char* const answers[] = {
      "nonsense\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
      "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
      "HTTP/2 200\r\n\r\n",
      "",
  };
  std::atomic<std::size_t> turn{0};
  Upstream upstream([&](Peer& peer, unsigned) {
    peer.read_head();
    peer.send(answers[turn]);
    if (*answers[turn] != '\0') peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  for (; turn < std::size(answers); ++turn) {
    const auto answer = rig.client().ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(answer.status, 502) << answers[turn];
    EXPECT_FALSE(answer.has("X: a"));
  }
}

TEST(Proxy, BrokenChunksOfAnAnswerAreCutOff) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcXX");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  EXPECT_FALSE(rig.get("/").whole) << "whether or not the beginning came before the cut";
}

TEST(Proxy, WhatComesBehindAnAnswerIsNotTakenForTheNext) {
  Upstream upstream([](Peer& peer, unsigned number) {
    for (std::string head; !(head = peer.read_head()).empty();) {
      if (number == 0) {
        peer.send(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
      } else {
        peer.answer("good");
      }
    }
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  EXPECT_EQ(client.ask(get("/")).body, "ok");
  EXPECT_EQ(client.ask(get("/")).body, "good");
}

TEST(Proxy, AnAnswerBeforeTheWholeRequestEndsIt) {
  Upstream upstream([](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome");
  const auto answer = client.receive();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body, "big");
}

TEST(Proxy, AClientThatLeavesTakesItsRequestAlong) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  Upstream upstream([&](Peer& peer, unsigned) {
    peer.read_head();
    peer.sees_end();
    const std::scoped_lock lock(mutex);
    ended = true;
    changed.notify_one();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome");
  while (upstream.accepted() == 0) std::this_thread::yield();
  client.reset();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return ended; }));
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
  EXPECT_EQ(rig.client().ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status, 404);
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
