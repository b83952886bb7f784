// Connections to upstreams: kept, shared, lost; and upstreams that are unavailable, slow or wrong.
#include <poll.h>

#include "gateway/rig.h"

namespace weir::gateway {
namespace {

using net::get;
using net::post;

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
  const Rig rig(Rig::route(upstream.url(), "timeout_ms: 1000"));
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
      // It does not wait, so this says nothing yet.
      [[maybe_unused]] const int begun = ::connect(waiting.fd, name.pointer(), name.size);
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
  const Rig rig(Rig::route(full.url(), "timeout_ms: 1000"));
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
  const Rig rig(Rig::route(upstream.url(), "timeout_ms: 1000"));
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
    // The test goes on to the next turn as soon as this one is answered.
    const std::string_view answer = answers[turn];
    peer.send(answer);
    if (!answer.empty()) peer.sees_end();
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

}  // namespace
}  // namespace weir::gateway
