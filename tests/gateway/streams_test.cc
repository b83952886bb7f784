// Bodies that pass as they come, answers before the answer, and connections that become tunnels.
#include "gateway/rig.h"

namespace weir::gateway {
namespace {

using net::get;

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

TEST(Proxy, InterimAnswersThatAClientDoesNotTakeHoldTheUpstreamBack) {
  constexpr std::size_t all = std::size_t{32} << 20U;
  std::atomic<std::size_t> sent{0};
  Upstream upstream([&](Peer& peer, unsigned) {
    peer.read_head();
    std::string part;
    while (part.size() < (1 << 20U)) part += "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    for (; sent < all; sent += part.size()) {
      if (!peer.send(part)) return;
    }
    peer.answer("done");
    peer.sees_end();
  });
  const Rig rig(Rig::route(upstream.url()));
  net::Client client = rig.client();
  client.send(get("/", "Connection: close\r\n"));
  EXPECT_EQ(client.take(12), "HTTP/1.1 103");
  std::size_t before = 0;
  for (int quiet = 0; quiet < 20; quiet = sent == before ? quiet + 1 : 0) {
    before = sent;
    ::usleep(10'000);
  }
  EXPECT_LT(sent, all / 2) << "the gateway keeps what the client does not take";
  std::string last;
  while (!has(last, "done")) {
    const std::string part = client.take(1 << 16U);
    if (part.empty()) break;
    last = last.substr(last.size() - std::min<std::size_t>(last.size(), 16)) + part;
  }
  EXPECT_TRUE(has(last, "done"));
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

}  // namespace
}  // namespace weir::gateway
