// Clients that mean harm, over raw sockets: each is answered or closed as the RFC says, and nothing of what
// they send reaches an upstream in a form that it could read otherwise than the gateway did.
#include <atomic>
#include <mutex>

#include "gateway/rig.h"

namespace weir::gateway {
namespace {

using net::get;
using namespace std::string_literals;

/// An upstream that believes in every byte: each head that it sees is a request, and it remembers all of
/// them.
class Hostile : public testing::Test {
 public:
  std::vector<std::string> seen() {
    const std::scoped_lock lock(mutex_);
    return seen_;
  }
  /// What one connection is answered, all of it; the client sends no more.
  std::string everything(const std::string& bytes) const {
    net::Client client = rig.client();
    client.send(bytes);
    client.end_sending();
    return client.rest();
  }
  int status_of(const std::string& bytes) const {
    net::Client client = rig.client();
    client.send(bytes);
    return client.receive().status;
  }

  std::mutex mutex_;
  std::vector<std::string> seen_;
  Upstream upstream{[this](Peer& peer, unsigned) {
    for (std::string head; !(head = peer.read_head()).empty();) {
      {
        const std::scoped_lock lock(mutex_);
        seen_.push_back(head);
      }
      if (has(head, "Transfer-Encoding: chunked")) peer.read_until("0\r\n\r\n");
      if (const auto at = head.find("Content-Length: "); at != std::string::npos)
        peer.read(std::stoul(head.substr(at + 16)));
      peer.answer("reached");
    }
  }};
  Rig rig{Rig::route(upstream.url())};
};

TEST_F(Hostile, NoRequestIsSmuggledInABody) {
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  const std::string attempts[] = {
      // Two lengths, or a length and chunks.
      post + "Content-Length: 4\r\nContent-Length: 40\r\n\r\nabcd" + hidden,
      post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
      post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
      post + "Content-Length: 4, 4\r\n\r\nabcd" + hidden,
      post + "Content-Length: +4\r\n\r\nabcd" + hidden,
      post + "Content-Length: 0x4\r\n\r\nabcd" + hidden,
      post + "Content-Length: 4 4\r\n\r\nabcd" + hidden,
      post + "Content-Length:\r\n\r\n" + hidden,
      post + "Content-Length: 99999999999999999999\r\n\r\n" + hidden,
      // Ways to write chunked that one of two parsers does not see.
      post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + hidden,
      post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden,
      post + "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" + hidden,
      post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
      post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + hidden,
      post + "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n" + hidden,
      post + " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
      post + "X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
      post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + hidden,
      post + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n" + hidden,
      post + "Transfer-Encoding: chun\0ked\r\n\r\n0\r\n\r\n"s + hidden,
      "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
      // Line ends that one of two parsers does not see.
      "POST / HTTP/1.1\nHost: a\nContent-Length: 0\n\n" + hidden,
      post + "X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
      post + "X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
      // Names and targets.
      post + "Content-Length\x0b: 4\r\n\r\nabcd" + hidden,
      "POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 0\r\n\r\n" + hidden,
      "POST /\tx HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" + hidden,
      "POST / HTTP/1.1 \r\nHost: a\r\nContent-Length: 0\r\n\r\n" + hidden,
      "POST / /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" + hidden,
  };
  for (const std::string& attempt : attempts) {
    const std::string answered = everything(attempt);
    EXPECT_TRUE(answered.starts_with("HTTP/1.1 400 ") || answered.starts_with("HTTP/1.1 413 ") ||
                answered.starts_with("HTTP/1.1 501 ") || answered.starts_with("HTTP/1.1 411 "))
        << attempt << "\n->\n"
        << answered;
    EXPECT_FALSE(has(answered, "reached")) << attempt;
  }
  EXPECT_EQ(seen().size(), 0U) << seen().front();
}

TEST_F(Hostile, NoRequestIsSmuggledInChunks) {
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const std::string chunks :
       {"3\r\nabcd\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n",
        "-1\r\n\r\n", "ffffffffffffffff\r\nabc\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n", "\r\n0\r\n\r\n",
        "3;a\nb\r\nabc\r\n0\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\n",
        "0\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\nbad trailer\r\n\r\n"}) {
    const std::string answered =
        everything("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + hidden);
    EXPECT_TRUE(answered.starts_with("HTTP/1.1 4")) << chunks << "\n->\n" << answered;
    EXPECT_FALSE(has(answered, "reached")) << chunks;
  }
  for (const std::string& head : seen()) EXPECT_FALSE(has(head, "/hidden")) << head;
}

TEST_F(Hostile, WhatFollowsABodyIsTheNextRequestAndNothingElse) {
  const std::string answered = everything(
      "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 35\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n  "
      "GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto heads = seen();
  ASSERT_EQ(heads.size(), 2U) << "what is pipelined past a close is not read";
  EXPECT_TRUE(heads[0].starts_with("POST /1 "));
  EXPECT_TRUE(heads[1].starts_with("GET /2 "));
  EXPECT_TRUE(has(answered, "Connection: close\r\n"));
}

TEST_F(Hostile, HeadsHaveTheirLimits) {
  EXPECT_EQ(status_of("GET /" + std::string(10'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(40'000, 'a') + "\r\n\r\n"), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 200; ++i) many += "X: y\r\n";
  EXPECT_EQ(status_of(many + "\r\n"), 431);
  net::Client client = rig.client();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n");
  const std::string field = "X-Filler: " + std::string(1000, 'x') + "\r\n";
  // A megabyte, or as much of it as the gateway cares to take.
  for (int i = 0; i < 1000 && client.send(field); ++i) {
  }
  const std::string rest = client.rest();
  EXPECT_TRUE(rest.empty() || rest.starts_with("HTTP/1.1 431 ")) << rest;
  EXPECT_EQ(seen().size(), 0U);
}

TEST_F(Hostile, HostsAndTargetsAreWhatTheyShouldBe) {
  for (const std::string host : {"a b", "a/b", "a@b", "", "a,b", "[::1", "a:99999999", "a\"b", "\xff"}) {
    const int status = status_of("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    EXPECT_EQ(status, host.empty() ? 200 : 400) << host;
  }
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400) << "HTTP/1.1 needs a host";
  for (const char* target :
       {"a", "ftp://a/", "http://", "http:///x", "//", "http://a b/", "/a b", "/\xc3\xa4", "/#x"}) {
    const int status = status_of(std::string("GET ") + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    // Two slashes are a path like any other.
    EXPECT_EQ(status, std::string_view(target) == "//" ? 200 : 400) << target;
  }
  EXPECT_EQ(status_of("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n"), 501);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
  EXPECT_EQ(status_of("nonsense\r\n\r\n"), 400);
  EXPECT_EQ(status_of("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n"s), 400) << "TLS to a port without";
}

TEST_F(Hostile, BytesThatAreNoTextPassOnlyWhereTheyMay) {
  EXPECT_EQ(rig.get("/", "X-Name: \xc3\x28\xff\r\n").status, 200) << "values are bytes (RFC 9110, 5.5)";
  EXPECT_TRUE(has(seen().back(), "X-Name: \xc3\x28\xff\r\n"));
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nX\xff: y\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"s), 400);
}

TEST_F(Hostile, AFieldNamedByConnectionCannotTakeOutWhatTheGatewaySays) {
  EXPECT_EQ(rig.get("/", "Connection: X-Forwarded-For, Via, close\r\n").status, 400);
  EXPECT_EQ(rig.get("/", "Connection: Host\r\n").status, 400);
  EXPECT_TRUE(seen().empty());
  EXPECT_EQ(rig.get("/", "Connection: Via, close\r\n").status, 200);
  const std::string head = seen().back();
  EXPECT_TRUE(has(head, "\r\nHost: a\r\n"));
  EXPECT_TRUE(has(head, "\r\nX-Forwarded-For: 127.0.0.1\r\n"));
  EXPECT_TRUE(has(head, "\r\nVia: 1.1 weir\r\n"));
}

TEST_F(Hostile, ALengthOrAnUpgradeCannotBeTakenOutByConnection) {
  net::Client client = rig.client();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nConnection: Content-Length\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(has(seen().back(), "\r\nContent-Length: 5\r\n"));
}

TEST_F(Hostile, HalfClosedClientsAreStillAnswered) {
  EXPECT_TRUE(has(everything(get("/")), "reached"));
  EXPECT_EQ(everything("GET / HTT"), "") << "and half a request is no request";
  for (const char* half :
       {"Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "Content-Length: 10\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"}) {
    const std::string answer = everything("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(half));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << half << answer;
  }
}

TEST_F(Hostile, UpgradesDoNotHideRequests) {
  // Bytes behind a request for an upgrade that is not granted are the next request, and are limited like one.
  net::Client client = rig.client();
  client.send(get("/1", "Connection: upgrade\r\nUpgrade: websocket\r\n") + get("/2"));
  EXPECT_EQ(client.receive().body, "reached");
  const auto second = client.receive();
  EXPECT_EQ(second.body, "reached");
  EXPECT_TRUE(second.has("RateLimit: \"rpm\";r=999998;")) << second.head;
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"), 200);
  EXPECT_FALSE(has(seen().back(), "Upgrade")) << "HTTP/1.0 has no upgrades";
}

TEST_F(Hostile, AnswersOfOldClientsHaveNoChunks) {
  Upstream chunky([](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    peer.sees_end();
  });
  const Rig other(Rig::route(chunky.url()));
  net::Client client = other.client();
  client.send("GET / HTTP/1.0\r\n\r\n");
  const std::string answered = client.rest();
  EXPECT_FALSE(has(answered, "Transfer-Encoding")) << answered;
  EXPECT_TRUE(answered.ends_with("\r\n\r\nabc"));
}

/// With less patience than the default.
class Slow : public Hostile {
 public:
  Slow() {
    net::ServerOptions options;
    options.listen = {{.address = "127.0.0.1"}};
    options.tick = std::chrono::milliseconds(5);
    options.timeouts = {.head = std::chrono::milliseconds(1000),
                        .body = std::chrono::milliseconds(1000),
                        .idle = std::chrono::milliseconds(1000),
                        .write = std::chrono::milliseconds(1000),
                        .linger = std::chrono::milliseconds(100)};
    rig.server.reset();
    auto started = net::Server::start(options, *rig.gateway);
    EXPECT_TRUE(started);
    rig.server = *std::move(started);
  }
};

TEST_F(Slow, HeadsAndBodiesThatDoNotComeAreGivenUp) {
  net::Client head = rig.client();
  head.send("GET / HTTP/1.1\r\nHost:");
  EXPECT_EQ(head.receive().status, 408);
  net::Client body = rig.client();
  body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
  EXPECT_EQ(body.receive().status, 408);
  net::Client nothing = rig.client();
  EXPECT_EQ(nothing.rest(), "") << "who says nothing is told nothing";
  EXPECT_EQ(rig.get("/").status, 200);
}

TEST_F(Slow, TunnelsMaySayNothingForLongerThanBodies) {
  Upstream echo([](Peer& peer, unsigned) {
    peer.read_head();
    peer.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n");
    peer.send(peer.read(5));
    peer.sees_end();
  });
  rig.load(Rig::route(echo.url(), "upgrade: [echo]"));
  net::Client tunnel = rig.client();
  tunnel.send(get("/", "Connection: upgrade\r\nUpgrade: echo\r\n"));
  EXPECT_EQ(tunnel.receive().status, 101);
  // Two that say nothing are given up one after the other: so long the tunnel has been silent, too.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(rig.client().rest(), "");
  tunnel.send("still");
  EXPECT_EQ(tunnel.take(5), "still");
}

TEST_F(Slow, WhoDoesNotTakeItsAnswerIsCutOff) {
  std::atomic<bool> asked = false;
  Upstream large([&](Peer& peer, unsigned) {
    peer.read_head();
    asked = true;
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
    const std::string part(1 << 20U, 'x');
    while (peer.send(part)) {
    }
  });
  rig.load(Rig::route(large.url()));
  net::Client client = rig.client();
  client.send(get("/"));
  // The upstream sees the end of its connection without the client having read a byte.
  while (!asked || rig.server->status().open_connections != 0) ::usleep(5'000);
  std::string rest = client.rest();
  EXPECT_LT(rest.size(), 100'000'000U);
}

}  // namespace
}  // namespace weir::gateway
