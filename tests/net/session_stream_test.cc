// Rules of a session about streamed bodies, back pressure and tunnels, by a handler that keeps its exchanges.
#include <gtest/gtest.h>

#include <string>

#include "session_keeping.h"

namespace weir::net {
namespace {

class SessionStreamTest : public SessionKeepingTest {};

// Streams.

TEST_F(SessionStreamTest, ABodyIsReadAsFastAsTheHandlerAsks) {
  start();
  constexpr std::size_t total = 500'000;
  client->send(post("/stream", total));
  RecordingObserver observer(kept(0));
  observer.reads_on = false;
  for (std::size_t sent = 0; sent < total; sent += 50'000) client->send(std::string(50'000, 's'));
  EXPECT_EQ(observer.body, "");
  EXPECT_EQ(client->waits_for(), Kind::handler);
  const std::size_t unread = client->unread();
  EXPECT_GT(unread, total - 20'000) << "one buffer of it is read";
  client->pass(std::chrono::hours(1));
  while (observer.events.empty()) {
    kept(0).read();
    client->run();
  }
  EXPECT_EQ(observer.body, std::string(total, 's'));
  EXPECT_EQ(worker->buffers_in_use(), 1U);
  answer(0);
  EXPECT_EQ(client->received(), ok("hi"));
}

TEST_F(SessionStreamTest, EachPartOfAStreamedBodyHasItsOwnDeadline) {
  start();
  const Milliseconds most = Timeouts().body;
  client->send(post("/stream", 100));
  RecordingObserver observer(kept(0));
  kept(0).read();
  client->run();
  for (int i = 0; i < 99; ++i) {
    client->pass(most - Milliseconds(1));
    client->send("x");
  }
  EXPECT_EQ(observer.events, Texts{});
  client->pass(most);
  EXPECT_EQ(observer.events, Texts{"gone 408"});
}

TEST_F(SessionStreamTest, ABufferedBodyHasOneDeadline) {
  start();
  const Milliseconds most = Timeouts().body;
  client->send(post("/", 100));
  for (int i = 0; i < 9; ++i) {
    client->pass(most / 10);
    client->send("x");
  }
  EXPECT_EQ(client->received(), "");
  client->pass(most / 10);
  EXPECT_TRUE(client->received().starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(client->closed());
}

TEST_F(SessionStreamTest, AnswersStayInOrderWithTheirInterims) {
  start(64);
  client->send(get("/0") + get("/1"));
  kept(1).interim(103, "A: 1\r\n");
  kept(1).start({.length = 2});
  kept(1).write("on");
  kept(1).interim(103, "B: late\r\n");
  EXPECT_EQ(client->received(), "");
  kept(0).interim(103, "");
  EXPECT_EQ(client->take_received(), "HTTP/1.1 103 Early Hints\r\n\r\n");
  answer(0);
  EXPECT_EQ(client->take_received(), ok("hi") + "HTTP/1.1 103 Early Hints\r\nA: 1\r\n\r\n" + ok("on"));
  kept(1).finish();
  EXPECT_EQ(client->take_received(), "");
}

// Back pressure.

TEST_F(SessionStreamTest, AWriterWaitsUntilTheClientHasTaken) {
  ServerOptions options;
  options.max_unsent = 1000;
  start(options, 0);
  client->send(get("/") + get("/next"));
  RecordingObserver observer(kept(0));
  kept(0).start({.length = 3000});
  EXPECT_TRUE(kept(0).write(std::string(500, 'a')));
  EXPECT_FALSE(kept(0).write(std::string(500, 'b')));
  const std::size_t head = client->session().output().size() - 1000;
  client->take(head + 499);
  EXPECT_EQ(observer.events, Texts{}) << "more than half is unsent";
  client->take(1);
  EXPECT_EQ(observer.events, Texts{"writable"});
  client->take(500);
  EXPECT_EQ(observer.events, Texts{"writable"});
  EXPECT_FALSE(kept(0).write(std::string(2000, 'c')));
  kept(0).finish();
  client->take(SessionDriver::unlimited - 2000);
  EXPECT_EQ(handler.kept.size(), 2U);
}

TEST_F(SessionStreamTest, AClientThatDoesNotTakeIsNotRead) {
  ServerOptions options;
  options.max_unsent = 1000;
  options.max_pipelined = 64;
  start(options, 0);
  std::string requests;
  for (int i = 0; i < 2000; ++i) requests += get("/");
  client->send(requests);
  std::size_t answered = 0;
  const auto answer_all = [&] {
    while (answered < handler.kept.size()) {
      handler.kept.reserve(3000);
      answer(answered++, std::string(100, 'x'));
    }
  };
  answer_all();
  EXPECT_LT(client->session().output().size(), 1000U + 64 * 300);
  EXPECT_GT(client->unread(), 0U);
  for (int i = 0; i < 2000 && answered < 2000; ++i) {
    client->take(2000);
    answer_all();
    ASSERT_LT(client->session().output().size(), 1000U + 64 * 300);
  }
  EXPECT_EQ(answered, 2000U);
  EXPECT_EQ(client->unread(), 0U);
}

TEST_F(SessionStreamTest, AWriterIsToldThoughAnotherWritesMeanwhile) {
  ServerOptions options;
  options.max_unsent = 1000;
  options.max_pipelined = 64;
  start(options, 0);
  client->send(get("/0") + get("/1"));
  RecordingObserver observer(kept(0));
  kept(0).start({});
  EXPECT_FALSE(kept(0).write(std::string(2000, 'a')));
  kept(1).start({});
  // The client takes everything; before the loop sees it, the other exchange writes.
  client->make_room(SessionDriver::unlimited / 2);
  EXPECT_TRUE(kept(1).write("b"));
  client->run();
  EXPECT_EQ(observer.events, Texts{"writable"});
}

TEST_F(SessionStreamTest, AWriterBehindAnotherIsToldWhenItIsFirst) {
  ServerOptions options;
  options.max_unsent = 1000;
  options.max_pipelined = 64;
  start(options, 0);
  client->send(get("/0") + get("/1"));
  RecordingObserver observer(kept(1));
  kept(1).start({});
  EXPECT_FALSE(kept(1).write(std::string(1000, 'a')));
  client->take(100'000);
  EXPECT_EQ(observer.events, Texts{});
  answer(0);
  EXPECT_EQ(observer.events, Texts{"writable"});
}

// Tunnels.

class SessionTunnelTest : public SessionKeepingTest {
 protected:
  void open(std::size_t index = 0) {
    kept(index).start({.status = 101, .fields = upgrade});
    kept(index).read();
    client->run();
  }
  const std::string head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
};

TEST_F(SessionTunnelTest, CarriesTheBytesBehindItsRequest) {
  for (const std::size_t at : {0UL, 1UL, 5UL, 9UL}) {
    start(64);
    const std::string early = "not HTTP\n";
    client->send(get("/", upgrade) + early.substr(0, at));
    RecordingObserver observer(kept(0));
    client->send(early.substr(at));
    open();
    EXPECT_EQ(client->received(), head);
    EXPECT_EQ(observer.body, early);
    client->send("more");
    EXPECT_EQ(observer.body, early + "more");
    kept(0).write("back");
    EXPECT_EQ(client->received(), head + "back");
    client->pass(std::chrono::hours(10));
    EXPECT_FALSE(client->closed()) << "its deadlines are the handler's";
    kept(0).finish();
    client->run();
    EXPECT_TRUE(client->closed());
    EXPECT_FALSE(client->was_cut());
    TearDown();
  }
  start();
}

TEST_F(SessionTunnelTest, OutlivesTheClientsEnd) {
  for (const bool ends_before : {true, false}) {
    for (const std::string early : {"", "bytes"}) {
      start();
      client->send(get("/", upgrade) + early);
      RecordingObserver observer(kept(0));
      if (ends_before) client->send_end();
      open();
      if (!ends_before) client->send_end();
      EXPECT_EQ(observer.body, early);
      EXPECT_EQ(observer.events, Texts{"end"});
      EXPECT_FALSE(client->closed());
      kept(0).write("last words");
      kept(0).finish();
      client->run();
      EXPECT_EQ(client->received(), head + "last words");
      EXPECT_FALSE(client->was_cut());
      EXPECT_TRUE(client->closed());
      TearDown();
    }
  }
  start();
}

TEST_F(SessionTunnelTest, AnUpgradeThatIsNotTakenIsAnOrdinaryRequest) {
  for (const bool ends : {false, true}) {
    start(64);
    client->send(get("/0", upgrade) + get("/1"));
    EXPECT_EQ(handler.kept.size(), 1U) << "its bytes may be of another protocol";
    if (ends) client->send_end();
    answer(0);
    answer(1);
    EXPECT_EQ(client->received(), ok("hi") + ok("hi", ends ? "Connection: close\r\n" : ""));
    EXPECT_EQ(client->closed(), ends);
    TearDown();
  }
  start();
}

TEST_F(SessionTunnelTest, NeedsAnOfferOfTheClient) {
  start();
  client->send(get("/"));
  kept(0).start({.status = 101, .fields = upgrade});
  client->run();
  EXPECT_TRUE(client->was_cut());
  EXPECT_EQ(client->received(), "");
}

TEST_F(SessionTunnelTest, HasBackPressureBothWays) {
  ServerOptions options;
  options.max_unsent = 1000;
  start(options, 0);
  client->send(get("/", upgrade));
  RecordingObserver observer(kept(0));
  observer.reads_on = false;
  open();
  client->send(std::string(100'000, 'x'));
  EXPECT_GT(client->unread(), 60'000U);
  EXPECT_FALSE(kept(0).write(std::string(1000, 'y')));
  client->take(head.size() + 1000);
  EXPECT_EQ(observer.events, Texts{"writable"});
  observer.reads_on = true;
  kept(0).read();
  client->run();
  EXPECT_EQ(observer.body.size(), 100'000U);
}

}  // namespace
}  // namespace weir::net
