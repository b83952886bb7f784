// Clients that are slow, broken or mean.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client.h"
#include "handlers.h"

namespace weir::net {
namespace {

class HostileTest : public testing::Test {
 protected:
  void start(ServerOptions options = test_options()) {
    auto started = Server::start(std::move(options), handler);
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  Client connect() { return Client(server->addresses().front()); }
  void expect_healthy() {
    Client client = connect();
    EXPECT_EQ(client.ask(get("/")).status, 200);
  }
  void TearDown() override { handler.gate.open(); }

  TestHandler handler;
  std::unique_ptr<Server> server;
};

TEST_F(HostileTest, WhatCannotBeReadIsAnsweredAndClosed) {
  start();
  const std::vector<std::pair<int, std::string>> cases = {
      {400, "GARBAGE\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n\r\n"},
      {400, "GET / HTTP/1.1\nHost: a\n\n"},
      {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"},
      {400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
      {400, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
      {413, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n"},
      {413, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n"},
      {414, "GET /" + std::string(10'000, 'a')},
      {431, "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(40'000, 'a')},
      {417, "POST / HTTP/1.1\r\nHost: a\r\nExpect: magic\r\nContent-Length: 1\r\n\r\n"},
      {501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"},
      {505, "GET / HTTP/3.0\r\nHost: a\r\n\r\n"},
  };
  for (const auto& [status, request] : cases) {
    Client client = connect();
    client.send(request);
    const Response response = client.receive();
    EXPECT_EQ(response.status, status) << request.substr(0, 80);
    EXPECT_TRUE(response.has("Connection: close"));
    EXPECT_TRUE(response.whole);
    EXPECT_EQ(client.rest(), "");
  }
  expect_healthy();
}

TEST_F(HostileTest, RequestsBeforeABadOneAreAnswered) {
  start();
  Client client = connect();
  ASSERT_TRUE(client.send(get("/later") + get("/now") + "BAD\r\n\r\n" + get("/lost")));
  EXPECT_EQ(client.receive().body, "GET /later ");
  EXPECT_EQ(client.receive().body, "GET /now ");
  EXPECT_EQ(client.receive().status, 400);
  EXPECT_EQ(client.rest(), "");
}

TEST_F(HostileTest, NothingIsReadPastAClose) {
  start();
  Client client = connect();
  ASSERT_TRUE(client.send(get("/1", "Connection: close\r\n") + get("/2")));
  EXPECT_EQ(client.receive().body, "GET /1 ");
  EXPECT_EQ(client.rest(), "");
}

TEST_F(HostileTest, AnEarlyAnswerReachesAClientThatGoesOnSending) {
  start();
  Client client = connect();
  ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n"));
  for (int i = 0; i < 100; ++i) client.send(std::string(30'000, 'x'));
  EXPECT_EQ(client.receive().status, 413);
}

TEST_F(HostileTest, SlowHeadsBodiesAndSilenceEnd) {
  ServerOptions options = test_options();
  options.timeouts.head = options.timeouts.body = options.timeouts.idle = std::chrono::milliseconds(1000);
  start(options);
  Client silent = connect();
  EXPECT_EQ(silent.rest(), "");
  Client slow_head = connect();
  ASSERT_TRUE(slow_head.send("GET / HTTP/1.1\r\nHo"));
  EXPECT_EQ(slow_head.receive().status, 408);
  EXPECT_EQ(slow_head.rest(), "");
  Client slow_body = connect();
  ASSERT_TRUE(slow_body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"));
  EXPECT_EQ(slow_body.receive().status, 408);
  EXPECT_EQ(slow_body.rest(), "");
  Client slow_stream = connect();
  ASSERT_TRUE(slow_stream.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"));
  EXPECT_EQ(slow_stream.receive().status, 408);
  Client kept = connect();
  EXPECT_EQ(kept.ask(get("/")).status, 200);
  EXPECT_EQ(kept.rest(), "") << "idle between requests";
}

TEST_F(HostileTest, ATrickleOfBytesDoesNotKeepAHeadOpen) {
  ServerOptions options = test_options();
  options.timeouts.head = std::chrono::milliseconds(50);
  start(options);
  Client client = connect();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nX: "));
  while (client.send("y")) {
  }
  SUCCEED() << "the server closed though bytes kept coming";
}

TEST_F(HostileTest, AHandlerMayTakeLongerThanAnyTimeout) {
  ServerOptions options = test_options();
  options.timeouts.head = options.timeouts.body = options.timeouts.idle = options.timeouts.write =
      std::chrono::milliseconds(1000);
  start(options);
  Client client = connect();
  ASSERT_TRUE(client.send(get("/hold")));
  // A second connection that times out shows that the time has passed.
  Client silent = connect();
  EXPECT_EQ(silent.rest(), "");
  Client silent_too = connect();
  EXPECT_EQ(silent_too.rest(), "");
  handler.gate.open();
  EXPECT_EQ(client.receive().body, "GET /hold ");
}

TEST_F(HostileTest, ClientsThatDoNotReadAreCutOff) {
  ServerOptions options = test_options();
  options.timeouts.write = std::chrono::milliseconds(50);
  start(options);
  Client client = connect();
  // More than the sockets take; the client reads nothing until the server has given up.
  ASSERT_TRUE(client.send(get("/big?30000000")));
  while (server->status().accepted != 1 || server->status().open_connections != 0) std::this_thread::yield();
  EXPECT_FALSE(client.receive().whole);
  expect_healthy();
}

TEST_F(HostileTest, AClientThatPipelinesWithoutReadingFillsNothing) {
  start();
  Client client = connect();
  std::string requests;
  for (int i = 0; i < 200; ++i) requests += get("/big?100000");
  std::thread writer([&] { EXPECT_TRUE(client.send(requests)); });
  for (int i = 0; i < 200; ++i) ASSERT_EQ(client.receive().body.size(), 100'000U);
  writer.join();
}

TEST_F(HostileTest, ClientsMayVanishAtAnyMoment) {
  ServerOptions options = test_options();
  options.max_pipelined = 4;
  start(options);
  const std::string whole = get("/later") + post("/echo", std::string(300, 'b')) + get("/now") +
                            get("/big?500000") + post("/x", std::string(300, 'b')) + get("/hold");
  for (std::size_t cut = 1; cut <= whole.size(); cut += 13) {
    Client client = connect();
    ASSERT_TRUE(client.send(whole.substr(0, cut)));
    if (cut % 2 == 0) client.reset();
  }
  handler.gate.open();
  expect_healthy();
  while (server->status().open_connections != 0) std::this_thread::yield();
}

TEST_F(HostileTest, ConnectionsBeyondTheLimitAreTurnedAway) {
  ServerOptions options = test_options();
  options.max_connections = 2;
  start(options);
  Client one = connect();
  Client two = connect();
  ASSERT_EQ(one.ask(get("/")).status, 200);
  ASSERT_EQ(two.ask(get("/")).status, 200);
  Client three = connect();
  EXPECT_EQ(three.receive().status, 503);
  EXPECT_EQ(server->status().refused, 1U);
  EXPECT_EQ(one.ask(get("/", "Connection: close\r\n")).status, 200);
  EXPECT_EQ(one.rest(), "");
  {
    const Client gone = std::move(one);
  }
  while (server->status().open_connections != 1) std::this_thread::yield();
  expect_healthy();
}

TEST_F(HostileTest, OneAddressCannotTakeAllConnections) {
  ServerOptions options = test_options();
  options.max_connections_per_address = 2;
  start(options);
  Client one = connect();
  Client two = connect();
  ASSERT_EQ(one.ask(get("/")).status, 200);
  ASSERT_EQ(two.ask(get("/")).status, 200);
  EXPECT_EQ(connect().receive().status, 503);
  EXPECT_EQ(connect().receive().status, 503) << "the second time, too";
  {
    const Client gone = std::move(one);
  }
  while (server->status().open_connections != 1) std::this_thread::yield();
  expect_healthy();
}

TEST_F(HostileTest, AProxyMayHaveManyConnections) {
  ServerOptions options = test_options();
  options.max_connections_per_address = 1;
  options.many_from = [](const Address& peer) { return peer.host() == "127.0.0.1"; };
  start(options);
  Client one = connect();
  ASSERT_EQ(one.ask(get("/")).status, 200);
  expect_healthy();
}

TEST_F(HostileTest, AThousandSlowConnectionsHarmNobody) {
  start();
  std::vector<Client> slow;
  for (int i = 0; i < 1000; ++i) {
    slow.emplace_back(connect());
    ASSERT_TRUE(slow.back().connected());
    ASSERT_TRUE(slow.back().send(i % 2 == 0 ? "GET / HT"
                                            : "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"));
  }
  expect_healthy();
  while (server->status().open_connections < 1000) std::this_thread::yield();
}

}  // namespace
}  // namespace weir::net
