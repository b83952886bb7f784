// Streams of requests that stop at each of their bytes: the client ends or leaves, the server drains, or a
// deadline passes. The test owns the clock.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "session_bench.h"

namespace weir::net {
namespace {

using Body = Sample::Body;
using Kind = Session::Wait::Kind;
using Milliseconds = SessionDriver::Milliseconds;

/// The answer to a body that the client ends too early.
constexpr std::string_view cut_short = "400 Bad Request";

/// The first `size` bytes of a stream.
struct Cut {
  std::string before;
  std::string after;
  std::vector<const Sample*> whole;
  const Sample* partial = nullptr;
  bool in_head = false;

  std::string answers() const {
    std::string text;
    for (const Sample* sample : whole) text += sample->answer;
    return text;
  }
};

Cut cut_at(const Stream& stream, std::size_t size) {
  const std::string bytes = bytes_of(stream);
  Cut cut{.before = bytes.substr(0, size), .after = bytes.substr(size)};
  for (const Sample* sample : stream) {
    if (size >= sample->bytes.size()) {
      cut.whole.push_back(sample);
      size -= sample->bytes.size();
      continue;
    }
    if (size != 0) cut.partial = sample;
    cut.in_head = size < sample->head();
    break;
  }
  return cut;
}

/// An answer says that the connection ends only if this is known when it is made.
std::string without_connection(std::string text) {
  for (const std::string_view field : {"Connection: close\r\n", "Connection: keep-alive\r\n"}) {
    for (std::size_t at = 0; (at = text.find(field, at)) != std::string::npos;) text.erase(at, field.size());
  }
  return text;
}

class SessionCutTest : public testing::Test {
 protected:
  /// Calls `check` with each cut of each stream: a request, alone and between others.
  void at_each_byte(const std::function<void(Bench& bench, const Cut& cut)>& check) {
    for (const Sample& sample : whole_) {
      for (const Stream& stream : {Stream{&sample}, Stream{&whole_[0], &sample, &whole_[7]}}) {
        const std::size_t size = bytes_of(stream).size();
        for (std::size_t at = 0; at <= size; ++at) {
          for (Bench& bench : benches_) {
            check(bench, cut_at(stream, at));
            bench.expect_nothing_held();
            if (HasFailure()) FAIL() << name_of(stream) << ", cut at " << at;
            ++covered_;
          }
        }
      }
    }
  }
  void TearDown() override { std::cout << covered_ << " combinations\n"; }

  const std::vector<Sample> whole_ = whole_samples();
  std::array<Bench, 2> benches_{Bench(1), Bench(64)};
  std::size_t covered_ = 0;
};

TEST_F(SessionCutTest, AClientThatEndsGetsTheAnswersToItsWholeRequests) {
  for (const When when : {When::at_once, When::in_order, When::in_reverse, When::elsewhere}) {
    at_each_byte([&](Bench& bench, const Cut& cut) {
      bench.start(when);
      SessionDriver client(bench.worker.worker());
      client.send(cut.before);
      client.send_end();
      answer_held(bench.handler, client);
      std::string expected = cut.answers();
      const bool streamed = cut.partial != nullptr && !cut.in_head && cut.partial->body == Body::streamed;
      if (cut.partial != nullptr && !cut.in_head) expected += refusal(cut_short);
      EXPECT_EQ(without_connection(without_continue(client.received())), without_connection(expected));
      EXPECT_EQ(bench.handler.gone, std::vector<int>(streamed ? 1 : 0, 400));
      EXPECT_TRUE(client.closed());
      EXPECT_FALSE(client.was_cut());
    });
  }
}

TEST_F(SessionCutTest, AClientMayLeaveAtAnyMoment) {
  for (const When when : {When::at_once, When::in_order, When::in_reverse, When::elsewhere}) {
    at_each_byte([&](Bench& bench, const Cut& cut) {
      bench.start(when);
      SessionDriver client(bench.worker.worker());
      client.send(cut.before);
      const std::string answers = client.received();
      const std::size_t streams = bench.handler.streams();
      client.close();
      EXPECT_EQ(bench.handler.gone, std::vector<int>(streams, 0));
      EXPECT_EQ(bench.handler.streams(), 0U);
      EXPECT_EQ(client.session().released(), bench.handler.held() == 0);
      bench.handler.release_after_gone();
      EXPECT_TRUE(client.session().released());
      EXPECT_TRUE(client.session().over());
      EXPECT_EQ(client.received(), answers);
    });
  }
}

TEST_F(SessionCutTest, ADrainFinishesTheRequestThatHasBegun) {
  at_each_byte([&](Bench& bench, const Cut& cut) {
    bench.start(When::at_once);
    SessionDriver client(bench.worker.worker());
    client.send(cut.before);
    client.drain();
    EXPECT_EQ(client.closed(), cut.partial == nullptr);
    EXPECT_EQ(client.session().was_idle(), cut.partial == nullptr);
    for (const char byte : cut.after) client.send({&byte, 1});
    std::string expected = cut.answers();
    if (cut.partial != nullptr) expected += cut.partial->last_answer();
    EXPECT_EQ(without_continue(client.received()), expected);
    EXPECT_TRUE(client.closed());
  });
}

TEST_F(SessionCutTest, ADrainWaitsForTheHandler) {
  at_each_byte([&](Bench& bench, const Cut& cut) {
    bench.start(When::in_order);
    SessionDriver client(bench.worker.worker());
    client.send(cut.before);
    client.drain();
    EXPECT_EQ(client.closed(), cut.before.empty());
    answer_held(bench.handler, client);
    for (const char byte : cut.after) {
      client.send({&byte, 1});
      answer_held(bench.handler, client);
    }
    std::string expected = cut.answers();
    if (cut.partial != nullptr) {
      expected += cut.partial->last_answer();
    } else if (!cut.whole.empty()) {
      expected.resize(expected.size() - cut.whole.back()->answer.size());
      expected += cut.whole.back()->last_answer();
    }
    EXPECT_EQ(without_continue(client.received()), expected);
    EXPECT_TRUE(client.closed());
  });
}

TEST_F(SessionCutTest, ADeadlineEndsWhatDoesNotArrive) {
  const Timeouts timeouts;
  at_each_byte([&](Bench& bench, const Cut& cut) {
    bench.start(When::at_once);
    SessionDriver client(bench.worker.worker());
    client.pass(timeouts.idle / 2);
    client.send(cut.before);
    const Kind kind = cut.partial == nullptr ? Kind::idle : cut.in_head ? Kind::head : Kind::body;
    EXPECT_EQ(client.waits_for(), kind);
    const bool idle = kind == Kind::idle;
    const Milliseconds left = cut.before.empty() ? timeouts.idle / 2
                              : idle             ? timeouts.idle
                              : cut.in_head      ? timeouts.head
                                                 : timeouts.body;
    client.pass(left - Milliseconds(1));
    EXPECT_EQ(without_continue(client.received()), cut.answers());
    EXPECT_FALSE(client.closed());
    client.pass(Milliseconds(1));
    EXPECT_EQ(without_continue(client.received()),
              cut.answers() + (idle ? std::string() : refusal("408 Request Timeout")));
    EXPECT_TRUE(client.closed());
  });
}

TEST_F(SessionCutTest, ATrickleOfBytesDoesNotMoveADeadline) {
  const Timeouts timeouts;
  for (const Sample& sample : whole_) {
    Bench& bench = benches_[0];
    bench.start(When::at_once);
    SessionDriver client(bench.worker.worker());
    // All but the last byte of the head, and then of the body, within its time.
    const std::size_t head = sample.head();
    client.send(sample.bytes.substr(0, 1));
    for (std::size_t i = 1; i + 1 < head; ++i) {
      client.pass((timeouts.head - Milliseconds(1)) / static_cast<int>(head));
      client.send(sample.bytes.substr(i, 1));
      ASSERT_FALSE(client.closed()) << sample.name;
    }
    client.pass(timeouts.head);
    EXPECT_EQ(client.received(), refusal("408 Request Timeout")) << sample.name;
    ++covered_;
  }
}

TEST_F(SessionCutTest, NoDeadlinePassesWhileTheHandlerHolds) {
  at_each_byte([&](Bench& bench, const Cut& cut) {
    // A request whose head or body is arriving has a deadline of its own.
    if (cut.whole.empty() || cut.partial != nullptr) return;
    bench.start(When::in_order);
    SessionDriver client(bench.worker.worker());
    client.send(cut.before);
    client.pass(std::chrono::hours(10));
    EXPECT_FALSE(client.closed());
    answer_held(bench.handler, client);
    EXPECT_EQ(without_continue(client.received()), cut.answers());
    EXPECT_FALSE(client.closed());
  });
}

}  // namespace
}  // namespace weir::net
