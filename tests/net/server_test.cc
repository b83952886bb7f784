// A server over real sockets, as well-behaved clients see it.
#include "net/server.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "handlers.h"

namespace weir::net {
namespace {

class ServerTest : public testing::Test {
 protected:
  void start(ServerOptions options = test_options()) {
    auto started = Server::start(std::move(options), handler);
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  Client connect() { return Client(server->addresses().front()); }
  void TearDown() override { handler.gate.open(); }

  TestHandler handler;
  std::unique_ptr<Server> server;
};

TEST_F(ServerTest, AnswersManyRequestsOnOneConnection) {
  start();
  Client client = connect();
  for (int i = 0; i < 100; ++i) {
    const Response response = client.ask(post("/a?" + std::to_string(i), "hello"));
    ASSERT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "POST /a?" + std::to_string(i) + " hello");
    EXPECT_TRUE(response.has("X-Test: yes\r\n"));
    EXPECT_TRUE(response.has("Date: "));
    EXPECT_FALSE(response.has("Connection:"));
  }
  EXPECT_EQ(server->status().accepted, 1U);
}

TEST_F(ServerTest, ListensOnIPv4AndIPv6) {
  ServerOptions options = test_options();
  options.listen.push_back({.address = "::1"});
  start(options);
  ASSERT_EQ(server->addresses().size(), 2U);
  for (const Address& address : server->addresses()) {
    Client client(address);
    EXPECT_EQ(client.ask(get("/")).status, 200) << address.to_string();
  }
}

TEST_F(ServerTest, SaysWhyItCannotListen) {
  start();
  ServerOptions options = test_options();
  options.listen[0].port = server->addresses()[0].port;
  const auto second = Server::start(options, handler);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("127.0.0.1:" + std::to_string(options.listen[0].port)),
            std::string::npos);
  options.listen[0].address = "localhost";
  EXPECT_FALSE(Server::start(options, handler));
}

TEST_F(ServerTest, KeepsPipelinedAnswersInOrder) {
  for (const unsigned pipelined : {1U, 8U}) {
    ServerOptions options = test_options();
    options.max_pipelined = pipelined;
    start(options);
    Client client = connect();
    std::string requests;
    for (int i = 0; i < 200; ++i) {
      const std::string path = i % 3 == 0 ? "/later" : i % 7 == 0 ? "/echo" : "/now";
      requests += post(path + "?" + std::to_string(i), "b" + std::to_string(i));
    }
    ASSERT_TRUE(client.send(requests));
    for (int i = 0; i < 200; ++i) {
      const Response response = client.receive();
      ASSERT_EQ(response.status, 200) << i;
      ASSERT_TRUE(response.body.ends_with("b" + std::to_string(i))) << response.body;
    }
    server.reset();
  }
}

TEST_F(ServerTest, HandlesRequestsAtOnceOnlyWhereItMay) {
  ServerOptions options = test_options();
  options.max_pipelined = 4;
  start(options);
  Client client = connect();
  // The second is answered only once the first is, though it could be at once.
  ASSERT_TRUE(client.send(get("/hold") + get("/now")));
  Client other = connect();
  ASSERT_EQ(other.ask(get("/now")).status, 200);
  handler.gate.open();
  EXPECT_EQ(client.receive().body, "GET /hold ");
  EXPECT_EQ(client.receive().body, "GET /now ");
}

TEST_F(ServerTest, ReadsBodiesInChunks) {
  start();
  Client client = connect();
  const std::string head = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string request = head + "3\r\nabc\r\n4;e=1\r\ndefg\r\n0\r\nT: 1\r\n\r\n";
  EXPECT_EQ(client.ask(request + get("/y")).body, "POST /x abcdefg");
  EXPECT_EQ(client.receive().body, "GET /y ");
  for (const char byte : request) ASSERT_TRUE(client.send(std::string_view(&byte, 1)));
  EXPECT_EQ(client.receive().body, "POST /x abcdefg");
}

TEST_F(ServerTest, ReadsBodiesLargerThanItsBuffers) {
  start();
  Client client = connect();
  const std::string body(900'000, 'b');
  EXPECT_TRUE(client.ask(post("/x", body)).body == "POST /x " + body);
  std::string chunks = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 900; ++i) chunks += "3e8\r\n" + std::string(1000, 'b') + "\r\n";
  EXPECT_TRUE(client.ask(chunks + "0\r\n\r\n").body == "POST /x " + body);
}

TEST_F(ServerTest, TellsAClientThatWaitsToGoOn) {
  start();
  for (const char* path : {"/x", "/echo"}) {
    Client client = connect();
    const std::string head = "POST " + std::string(path) +
                             " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    EXPECT_EQ(client.ask(head).status, 100);
    EXPECT_TRUE(client.ask("hello").body.ends_with("hello"));
    // Not when the body comes without being waited for.
    EXPECT_EQ(client.ask(head + "hello").status, 200);
  }
  Client client = connect();
  EXPECT_EQ(client.ask("POST /never HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
                .status,
            403);
  EXPECT_EQ(client.rest(), "");
}

TEST_F(ServerTest, SendsNoBodyWhereThereIsNone) {
  start();
  Client client = connect();
  ASSERT_TRUE(client.send("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n"));
  const Response head = client.receive(wire::http::Method::head);
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.has("Content-Length: 8\r\n"));
  const Response empty = client.ask(get("/204"));
  EXPECT_EQ(empty.status, 204);
  EXPECT_FALSE(empty.has("Content-Length"));
  EXPECT_EQ(client.ask(get("/y")).body, "GET /y ");
}

TEST_F(ServerTest, ClosesWhenTheClientWantsIt) {
  start();
  Client modern = connect();
  EXPECT_TRUE(modern.ask(get("/", "Connection: close\r\n")).has("Connection: close"));
  EXPECT_EQ(modern.rest(), "");
  Client old = connect();
  EXPECT_TRUE(old.ask("GET / HTTP/1.0\r\n\r\n").has("Connection: close"));
  EXPECT_EQ(old.rest(), "");
  Client kept = connect();
  EXPECT_TRUE(kept.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").has("Connection: keep-alive"));
  EXPECT_EQ(kept.ask("GET / HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_EQ(kept.rest(), "");
}

TEST_F(ServerTest, AnswersAClientThatHasEndedItsSide) {
  start();
  for (const char* path : {"/now", "/later"}) {
    Client client = connect();
    ASSERT_TRUE(client.send(get(path) + get(path)));
    client.end_sending();
    EXPECT_EQ(client.receive().status, 200);
    EXPECT_EQ(client.receive().status, 200);
    EXPECT_EQ(client.rest(), "");
  }
  Client half = connect();
  ASSERT_TRUE(half.send("GET / HT"));
  half.end_sending();
  EXPECT_EQ(half.rest(), "");
}

TEST_F(ServerTest, AnswersForAHandlerThatForgets) {
  start();
  Client client = connect();
  const Response response = client.ask(get("/forget"));
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(client.ask(get("/")).status, 200);
}

TEST_F(ServerTest, StreamsBothWaysWithoutHoldingTheBody) {
  start();
  Client client = connect();
  constexpr std::size_t total = 64 << 20;
  ASSERT_TRUE(
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(total) + "\r\n\r\n"));
  // Nothing is read before everything is sent would deadlock on 64 MiB if pressure did not travel, or fill
  // the server's memory if it did not stop; so a second thread writes.
  std::thread writer([&] {
    const std::string piece(1 << 20, 'p');
    for (std::size_t sent = 0; sent < total; sent += piece.size()) EXPECT_TRUE(client.send(piece));
  });
  const Response response = client.receive();
  writer.join();
  EXPECT_EQ(response.body.size(), total);
  EXPECT_TRUE(response.whole);
  EXPECT_TRUE(response.has("Transfer-Encoding: chunked"));
}

TEST_F(ServerTest, StreamsChunksBackAndGoesOn) {
  start();
  Client client = connect();
  const std::string request =
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  EXPECT_EQ(client.ask(request).body, "abcde");
  EXPECT_EQ(client.ask(request + get("/")).body, "abcde");
  EXPECT_EQ(client.receive().body, "GET / ");
  const Response old =
      client.ask("POST /echo HTTP/1.0\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc");
  EXPECT_EQ(old.body, "abc");
  EXPECT_FALSE(old.has("chunked"));
}

TEST_F(ServerTest, LetsAHandlerTakeTheConnectionOver) {
  start();
  Client client = connect();
  const Response response = client.ask(get("/echo", "Connection: upgrade\r\nUpgrade: echo\r\n") + "early");
  EXPECT_EQ(response.status, 101);
  EXPECT_TRUE(response.has("Upgrade: echo"));
  EXPECT_EQ(client.take(5), "early");
  ASSERT_TRUE(client.send("GET / not http\n"));
  EXPECT_EQ(client.take(15), "GET / not http\n");
  client.end_sending();
  EXPECT_EQ(client.rest(), "");
}

TEST_F(ServerTest, ServesFromSeveralThreads) {
  for (const Sharing sharing : {Sharing::one_acceptor, Sharing::reuse_port}) {
    ServerOptions options = test_options();
    options.threads = 3;
    options.sharing = sharing;
    start(options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        Client client = connect();
        for (int i = 0; i < 50; ++i) {
          const std::string path = (i + t) % 2 == 0 ? "/later" : "/now";
          EXPECT_EQ(client.ask(get(path)).body, "GET " + path + " ");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    server.reset();
  }
}

TEST_F(ServerTest, KnowsItsPeers) {
  struct Peers : Handler {
    void handle(Exchange exchange) override {
      const std::string text = exchange.peer().to_string();
      exchange.answer({.body = text});
    }
  } peers;
  ServerOptions options = test_options();
  options.listen.push_back({.address = "::1"});
  auto started = Server::start(options, peers);
  ASSERT_TRUE(started);
  Client client((*started)->addresses()[0]);
  EXPECT_TRUE(client.ask(get("/")).body.starts_with("127.0.0.1:"));
  Client other((*started)->addresses()[1]);
  EXPECT_TRUE(other.ask(get("/")).body.starts_with("[::1]:"));
}

}  // namespace
}  // namespace weir::net
