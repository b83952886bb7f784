// Rules of a session about requests and their order, by a handler that keeps its exchanges.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "session_keeping.h"

namespace weir::net {
namespace {

class SessionPhaseTest : public SessionKeepingTest {};

// Pipelining.

TEST_F(SessionPhaseTest, TheHandlerHoldsNoMoreThanTheMaximum) {
  for (const unsigned most : {1U, 2U, 5U}) {
    start(most);
    std::string requests;
    for (int i = 0; i < 9; ++i) requests += get("/" + std::to_string(i));
    client->send(requests);
    std::string expected;
    for (std::size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(handler.kept.size(), std::min<std::size_t>(i + most, 9));
      EXPECT_EQ(kept(i).request().path(), "/" + std::to_string(i));
      answer(i, std::to_string(i));
      expected += ok(std::to_string(i));
    }
    EXPECT_EQ(client->received(), expected);
    TearDown();
  }
  start();
}

TEST_F(SessionPhaseTest, AHeldRequestKeepsItsBytesWhileMoreArrive) {
  start(64);
  client->send(post("/first", 5, "X: y\r\n") + "hello");
  const std::string more = post("/more", 2000) + std::string(2000, 'm');
  for (int i = 0; i < 40; ++i) client->send(more);
  EXPECT_EQ(kept(0).request().path(), "/first");
  EXPECT_EQ(kept(0).request().fields().find("x"), "y");
  EXPECT_EQ(kept(0).body(), "hello");
  EXPECT_GT(client->unread(), 0U) << "the buffer is full and must not move";
  for (std::size_t i = 0; i < 41; ++i) answer(i, "");
  EXPECT_EQ(client->unread(), 0U);
  EXPECT_EQ(handler.kept.size(), 41U);
}

TEST_F(SessionPhaseTest, ABufferThatIsFullIsNotReadInto) {
  start();
  const std::size_t buffer = std::size_t{16} * 1024;
  const std::string head = post("/", buffer - 100);
  const std::string request = post("/", buffer - head.size()) + std::string(buffer - head.size(), 'b');
  ASSERT_EQ(request.size(), buffer);
  client->send(request);
  client->send("more");
  EXPECT_FALSE(client->session().wants_input());
  EXPECT_EQ(client->unread(), 4U);
  answer(0);
  EXPECT_EQ(client->unread(), 0U);
}

TEST_F(SessionPhaseTest, ARequestThatWaitsForTheBufferHasNoDeadline) {
  start(64);
  client->send(get("/held"));
  // More than the buffer holds beside the request that the handler holds.
  client->send(post("/large", 50'000) + std::string(30'000, 'b'));
  EXPECT_EQ(client->waits_for(), Kind::handler);
  client->pass(std::chrono::hours(1));
  answer(0);
  EXPECT_EQ(client->waits_for(), Kind::body);
  client->send(std::string(20'000, 'b'));
  EXPECT_EQ(kept(1).body().size(), 50'000U);
  answer(1);
  EXPECT_EQ(client->received(), ok("hi") + ok("hi"));
}

TEST_F(SessionPhaseTest, NothingIsHandledBehindAnAnswerThatClosed) {
  for (const bool streamed : {false, true}) {
    start(64);
    client->send(get("/0") + get("/1"));
    client->drain();
    if (streamed) {
      kept(1).start({.length = 2});
      client->run();
    } else {
      answer(1, "no");
    }
    client->send(get("/2"));
    EXPECT_EQ(handler.kept.size(), 2U);
    if (streamed) {
      kept(1).write("no");
      kept(1).finish();
    }
    answer(0, "of");
    EXPECT_EQ(client->received(), ok("of") + ok("no", "Connection: close\r\n"));
    EXPECT_TRUE(client->closed());
    TearDown();
  }
  start();
}

TEST_F(SessionPhaseTest, AnIdleSessionHoldsNothing) {
  start();
  for (const std::string& request : {get("/"), post("/", 3) + "abc", post("/stream", 3) + "abc"}) {
    client->send(request);
    EXPECT_NE(worker->states_in_use(), 0U);
    EXPECT_NE(worker->buffers_in_use(), 0U);
    if (kept(0).request().path() == "/stream") {
      RecordingObserver observer(kept(0));
      kept(0).read();
      EXPECT_EQ(observer.body, "abc");
    }
    answer(0);
    handler.kept.clear();
    EXPECT_EQ(worker->states_in_use(), 0U);
    EXPECT_EQ(worker->buffers_in_use(), 0U);
  }
}

// 100.

TEST_F(SessionPhaseTest, TellsAClientThatWaitsToContinueOnce) {
  start(64);
  client->send(post("/a", 5, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client->take_received(), told_to_continue);
  client->send("hel");
  client->send("lo");
  EXPECT_EQ(client->take_received(), "");
  client->send(post("/b", 5, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client->take_received(), "") << "an answer is due before";
  answer(0);
  EXPECT_EQ(client->take_received(), ok("hi").append(told_to_continue));
  client->send("hello");
  answer(1);
  EXPECT_EQ(client->take_received(), ok("hi"));
  client->send(post("/c", 5, "Expect: 100-continue\r\n") + "hello");
  answer(2);
  EXPECT_EQ(client->take_received(), ok("hi")) << "the body came without it";
}

TEST_F(SessionPhaseTest, TellsToContinueWhenTheHandlerReads) {
  start();
  client->send(post("/stream", 5, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client->received(), "");
  RecordingObserver observer(kept(0));
  kept(0).read();
  EXPECT_EQ(client->take_received(), told_to_continue);
  client->send("hello");
  EXPECT_EQ(observer.body, "hello");
  answer(0);
  EXPECT_EQ(client->take_received(), ok("hi"));
}

TEST_F(SessionPhaseTest, DoesNotTellToContinueInsideAnAnswer) {
  start();
  client->send(post("/stream", 5, "Expect: 100-continue\r\n"));
  RecordingObserver observer(kept(0));
  kept(0).start({.length = 5});
  kept(0).read();
  client->send("hello");
  kept(0).write(observer.body);
  kept(0).finish();
  client->run();
  EXPECT_EQ(client->received(), ok("hello"));
}

// Ends.

TEST_F(SessionPhaseTest, AnAnswerThatCannotBeCompletedCutsTheConnection) {
  const auto abort = [](Exchange& exchange) { exchange.abort(); };
  const auto drop = [](Exchange& exchange) { exchange = {}; };
  const auto finish = [](Exchange& exchange) { exchange.finish(); };
  const auto answer_again = [](Exchange& exchange) { exchange.answer({}); };
  const std::vector<std::function<void(Exchange&)>> ways = {abort, drop, finish, answer_again};
  for (const auto& way : ways) {
    start(64);
    client->send(get("/0") + get("/1"));
    RecordingObserver other(kept(1));
    kept(0).start({.length = 10});
    kept(0).write("short");
    way(kept(0));
    EXPECT_FALSE(client->closed());
    client->run();
    EXPECT_TRUE(client->was_cut());
    EXPECT_TRUE(client->closed());
    EXPECT_EQ(other.events, Texts{"gone 0"});
    EXPECT_EQ(client->received(), "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort");
    TearDown();
  }
  start();
}

TEST_F(SessionPhaseTest, AnObserverMayDropOtherExchangesWhenTheClientIsGone) {
  struct Dropping final : ExchangeObserver {
    explicit Dropping(std::vector<Exchange>& all) : exchanges(all) {}
    void on_body(std::string_view /*data*/, bool /*end*/) override {}
    void on_writable() override {}
    void on_gone(const wire::http::Refusal& /*why*/) override {
      ++called;
      for (Exchange& exchange : exchanges) exchange = {};
    }
    std::vector<Exchange>& exchanges;
    int called = 0;
  } dropping(handler.kept);
  start(64);
  client->send(get("/0") + get("/1") + get("/2"));
  for (Exchange& exchange : handler.kept) exchange.observe(&dropping);
  client->close();
  EXPECT_EQ(dropping.called, 1);
  EXPECT_TRUE(client->session().released());
}

TEST_F(SessionPhaseTest, AnExchangeIsUsableAfterTheClientIsGone) {
  start(64);
  client->send(get("/0") + get("/1") + get("/2") + post("/3", 2) + "ab");
  client->close();
  EXPECT_EQ(kept(3).body(), "ab");
  kept(3).answer({.body = "late"});
  kept(0).interim(103, "");
  kept(0).start({});
  EXPECT_FALSE(kept(0).write("late"));
  kept(0).finish();
  kept(1).abort();
  worker->elsewhere([&] { kept(2).answer({.body = "late"}); });
  EXPECT_TRUE(client->session().released());
  EXPECT_EQ(client->received(), "");
}

TEST_F(SessionPhaseTest, ASecondRefusalIsNotWritten) {
  start(64);
  client->send(get("/0") + "BAD\r\n\r\nWORSE\r\n\r\n");
  client->send_end();
  answer(0);
  EXPECT_EQ(client->received(),
            ok("hi") + "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\nConnection: close\r\n\r\n400");
  EXPECT_TRUE(client->closed());
}

}  // namespace
}  // namespace weir::net
