// One rule of a session each, by a handler that keeps its exchanges and a test that answers them.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "session_driver.h"

namespace weir::net {
namespace {

using Kind = Session::Wait::Kind;
using Milliseconds = SessionDriver::Milliseconds;
using Texts = std::vector<std::string>;

constexpr std::string_view told_to_continue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view upgrade = "Connection: upgrade\r\nUpgrade: x\r\n";

std::string get(std::string_view path, std::string_view fields = {}) {
  std::string text = "GET ";
  return text.append(path).append(" HTTP/1.1\r\nHost: a\r\n").append(fields).append("\r\n");
}
std::string post(std::string_view path, std::size_t length, std::string_view fields = {}) {
  std::string text = "POST ";
  return text.append(path)
      .append(" HTTP/1.1\r\nHost: a\r\nContent-Length: ")
      .append(std::to_string(length))
      .append("\r\n")
      .append(fields)
      .append("\r\n");
}
std::string ok(std::string_view body, std::string_view fields = {}) {
  std::string text = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return text.append(fields).append("\r\n").append(body);
}

/// Streams the bodies of paths that begin with /stream.
class KeepingHandler final : public Handler {
 public:
  std::vector<Exchange> kept;

  BodyPlan plan(const wire::http::RequestHead& request) override {
    const bool streams = request.path().starts_with("/stream");
    return {.kind = streams ? BodyPlan::Kind::stream : BodyPlan::Kind::buffer};
  }
  void handle(Exchange exchange) override { kept.push_back(std::move(exchange)); }
  void describe(const wire::http::Refusal& refusal, wire::Buffer& /*fields*/, wire::Buffer& body) override {
    body.append(std::to_string(refusal.status));
  }
};

class RecordingObserver final : public ExchangeObserver {
 public:
  explicit RecordingObserver(Exchange& exchange) : exchange_(exchange) { exchange.observe(this); }
  ~RecordingObserver() {
    if (exchange_) exchange_.observe(nullptr);
  }
  RecordingObserver(const RecordingObserver&) = delete;
  RecordingObserver& operator=(const RecordingObserver&) = delete;

  std::string body;
  Texts events;
  bool reads_on = true;
  bool drops = true;

  void on_body(std::string_view data, bool end) override {
    body += data;
    if (end) events.emplace_back("end");
    if (!end && reads_on) exchange_.read();
  }
  void on_writable() override { events.emplace_back("writable"); }
  void on_gone(const wire::http::Refusal& why) override {
    events.push_back("gone " + std::to_string(why.status));
    if (drops) exchange_ = {};
  }

 private:
  Exchange& exchange_;
};

class SessionPhaseTest : public testing::Test {
 protected:
  void start(const ServerOptions& options, std::size_t takes = SessionDriver::unlimited) {
    // Some tests look at the exchanges by reference.
    handler.kept.reserve(100);
    worker = std::make_unique<IdleWorker>(options, handler);
    client = std::make_unique<SessionDriver>(worker->worker(), takes);
  }
  void start(unsigned max_pipelined = 1) {
    ServerOptions options;
    options.max_pipelined = max_pipelined;
    start(options);
  }
  void answer(std::size_t index, std::string_view body = "hi") {
    handler.kept.at(index).answer({.body = body});
    client->run();
  }
  Exchange& kept(std::size_t index) { return handler.kept.at(index); }
  void TearDown() override {
    client->close();
    handler.kept.clear();
    EXPECT_TRUE(client->session().released());
    client.reset();
    EXPECT_EQ(worker->states_in_use(), 0U);
  }

  KeepingHandler handler;
  std::unique_ptr<IdleWorker> worker;
  std::unique_ptr<SessionDriver> client;
};

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

// Streams.

TEST_F(SessionPhaseTest, ABodyIsReadAsFastAsTheHandlerAsks) {
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

TEST_F(SessionPhaseTest, EachPartOfAStreamedBodyHasItsOwnDeadline) {
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

TEST_F(SessionPhaseTest, ABufferedBodyHasOneDeadline) {
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

TEST_F(SessionPhaseTest, AnswersStayInOrderWithTheirInterims) {
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

TEST_F(SessionPhaseTest, AWriterWaitsUntilTheClientHasTaken) {
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

TEST_F(SessionPhaseTest, AClientThatDoesNotTakeIsNotRead) {
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

TEST_F(SessionPhaseTest, AWriterIsToldThoughAnotherWritesMeanwhile) {
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

TEST_F(SessionPhaseTest, AWriterBehindAnotherIsToldWhenItIsFirst) {
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

// Tunnels.

class SessionTunnelTest : public SessionPhaseTest {
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
