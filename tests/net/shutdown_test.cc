// How a server ends.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "handlers.h"

namespace weir::net {
namespace {

constexpr std::chrono::milliseconds patience{60'000};

std::unique_ptr<Server> start(Handler& handler, unsigned threads = 1,
                              Sharing sharing = Sharing::one_acceptor) {
  ServerOptions options = test_options();
  options.threads = threads;
  options.sharing = sharing;
  auto started = Server::start(options, handler);
  EXPECT_TRUE(started);
  return std::move(*started);
}

TEST(Shutdown, ClosesIdleConnectionsAtOnce) {
  TestHandler handler;
  const auto server = start(handler);
  Client idle(server->addresses()[0]);
  Client used(server->addresses()[0]);
  ASSERT_EQ(used.ask(get("/")).status, 200);
  server->drain(patience);
  EXPECT_EQ(idle.rest(), "");
  EXPECT_EQ(used.rest(), "");
  server->wait();
  EXPECT_FALSE(Client(server->addresses()[0]).connected());
}

TEST(Shutdown, FinishesWhatHasBegun) {
  TestHandler handler;
  const auto server = start(handler);
  Client held(server->addresses()[0]);
  ASSERT_TRUE(held.send(get("/hold")));
  Client partial(server->addresses()[0]);
  ASSERT_TRUE(partial.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe"));
  Client pipelined(server->addresses()[0]);
  ASSERT_TRUE(pipelined.send(get("/1") + get("/2") + get("/3")));
  // All of it is known to be with the server once an answer came back on a later connection.
  Client later(server->addresses()[0]);
  ASSERT_EQ(later.ask(get("/")).status, 200);
  server->drain(patience);
  EXPECT_EQ(later.rest(), "");
  ASSERT_TRUE(partial.send("llo"));
  const Response finished = partial.receive();
  EXPECT_EQ(finished.body, "POST /x hello");
  EXPECT_TRUE(finished.has("Connection: close"));
  EXPECT_EQ(partial.rest(), "");
  for (const char* body : {"GET /1 ", "GET /2 ", "GET /3 "}) EXPECT_EQ(pipelined.receive().body, body);
  handler.gate.open();
  EXPECT_EQ(held.receive().body, "GET /hold ");
  EXPECT_EQ(held.rest(), "");
  server->wait();
}

TEST(Shutdown, EndsAtItsDeadline) {
  TestHandler handler;
  const auto server = start(handler);
  Client stuck(server->addresses()[0]);
  ASSERT_TRUE(stuck.send("GET / HT"));
  Client tunnel(server->addresses()[0]);
  ASSERT_EQ(tunnel.ask(get("/echo", "Connection: upgrade\r\nUpgrade: echo\r\n")).status, 101);
  server->drain(std::chrono::milliseconds(20));
  EXPECT_EQ(stuck.rest(), "");
  EXPECT_EQ(tunnel.rest(), "");
  server->wait();
}

TEST(Shutdown, WaitsForExchangesThatAreOut) {
  TestHandler handler;
  auto server = start(handler);
  Client client(server->addresses()[0]);
  ASSERT_TRUE(client.send(get("/hold") + get("/x")));
  Client later(server->addresses()[0]);
  ASSERT_EQ(later.ask(get("/")).status, 200);
  server->drain(std::chrono::milliseconds(0));
  EXPECT_EQ(client.rest(), "") << "cut at the deadline, while the handler still holds the request";
  handler.gate.open();
  server.reset();
}

TEST(Shutdown, UnderLoadLosesNoAcceptedRequest) {
  for (const Sharing sharing : {Sharing::one_acceptor, Sharing::reuse_port}) {
    TestHandler handler;
    const auto server = start(handler, 2, sharing);
    std::atomic<int> answered{0};
    std::vector<std::thread> clients;
    for (int t = 0; t < 8; ++t) {
      clients.emplace_back([&, t] {
        while (true) {
          Client client(server->addresses()[0]);
          if (!client.connected()) return;
          for (int i = 0; i < 20; ++i) {
            if (!client.send(get((i + t) % 3 == 0 ? "/later" : "/now"))) return;
            const Response response = client.receive();
            // Either nothing of an answer, or all of it.
            if (response.status == 0) {
              EXPECT_EQ(client.rest(), "");
              return;
            }
            EXPECT_EQ(response.status, 200);
            EXPECT_TRUE(response.whole);
            ++answered;
            if (response.has("Connection: close")) return;
          }
        }
      });
    }
    while (answered < 500) std::this_thread::yield();
    server->drain(patience);
    server->wait();
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(server->status().open_connections, 0U);
  }
}

}  // namespace
}  // namespace weir::net
