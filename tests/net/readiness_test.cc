// Sockets that are told of as long as they can be read, and such that are told of once.
#include "net/readiness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace weir::net {
namespace {

/// One end of a pair of sockets; reads up to `room` bytes whenever it is told.
class End final : public Watched {
 public:
  End(Readiness& readiness, int socket, Trigger how) : Watched(readiness, socket, how) {}

  std::size_t room = 64;
  bool asks_again = true;
  std::string got;
  int told = 0;
  int wrote = 0;  ///< how often it was told that it can write
  bool ended = false;

  /// Until the socket takes no more.
  void fill() {
    const std::string some(4096, 'x');
    while (::send(socket(), some.data(), some.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) filled = true;
    all_written();
    writing = true;
    wait_for_write();
  }
  bool filled = false;
  bool writing = false;

 private:
  void on_ready() override {
    if (writing) {
      writing = false;
      ++wrote;
    }
    ++told;
    std::string bytes(room, '\0');
    const auto count = ::recv(socket(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < static_cast<ssize_t>(room)) all_read();
    if (count > 0) got.append(bytes, 0, static_cast<std::size_t>(count));
    ended = ended || count == 0;
    if (asks_again && !ended) wait_for_read();
  }
};

class ReadinessTest : public testing::TestWithParam<Watched::Trigger> {
 protected:
  void SetUp() override {
    int sockets[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
    end = std::make_unique<End>(readiness, sockets[0], GetParam());
    peer = sockets[1];
  }
  void TearDown() override {
    end.reset();
    ::close(peer);
  }
  void say(const std::string& text) const {
    ASSERT_EQ(::send(peer, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// Tells all that has happened.
  void turn() { readiness.take_events(); }

  Readiness readiness;
  std::unique_ptr<End> end;
  int peer = -1;
};

TEST_P(ReadinessTest, WhatComesIsToldAndNothingElse) {
  end->wait_for_read();
  turn();
  EXPECT_EQ(end->told, 0);
  say("one");
  turn();
  say("two");
  turn();
  EXPECT_EQ(end->got, "onetwo");
  turn();
  EXPECT_EQ(end->told, 2);
}

TEST_P(ReadinessTest, WhatWasThereBeforeAnybodyAskedIsTold) {
  say("early");
  end->wait_for_read();
  turn();
  EXPECT_EQ(end->got, "early");
}

TEST_P(ReadinessTest, WhatDidNotFitIsToldAgain) {
  end->room = 2;
  end->wait_for_read();
  say("seven b");
  for (int i = 0; i < 4; ++i) turn();
  EXPECT_EQ(end->got, "seven b");
}

TEST_P(ReadinessTest, WhoStopsAskingIsLeftAloneAndMissesNothing) {
  end->room = 3;
  end->asks_again = false;
  end->wait_for_read();
  say("onetwo");
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(end->got, "one");
  say("three");
  turn();
  EXPECT_EQ(end->told, 1);
  end->room = 64;
  end->wait_for_read();
  turn();
  EXPECT_EQ(end->got, "onetwothree");
}

TEST_P(ReadinessTest, AnEndThatCameTogetherWithBytesIsSeen) {
  say("last");
  ::shutdown(peer, SHUT_WR);
  end->wait_for_read();
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_EQ(end->got, "last");
  EXPECT_TRUE(end->ended);
}

TEST_P(ReadinessTest, AnEndThatComesLaterIsSeen) {
  end->wait_for_read();
  say("last");
  turn();
  EXPECT_FALSE(end->ended);
  ::shutdown(peer, SHUT_WR);
  turn();
  EXPECT_TRUE(end->ended);
}

TEST_P(ReadinessTest, AnEndWhileNobodyAsksIsSeenLater) {
  end->asks_again = false;
  end->wait_for_read();
  say("one");
  turn();
  ::close(peer);
  turn();
  EXPECT_FALSE(end->ended);
  end->wait_for_read();
  turn();
  EXPECT_TRUE(end->ended);
}

TEST_P(ReadinessTest, RoomToWriteIsToldOnceThereIsSome) {
  end->fill();
  ASSERT_TRUE(end->filled);
  turn();
  EXPECT_EQ(end->wrote, 0);
  for (int round = 1; round <= 2; ++round) {
    std::string taken(1 << 20, '\0');
    while (::recv(peer, taken.data(), taken.size(), MSG_DONTWAIT) > 0) continue;
    turn();
    EXPECT_EQ(end->wrote, round);
    end->fill();
    turn();
    EXPECT_EQ(end->wrote, round) << "full again";
  }
}

INSTANTIATE_TEST_SUITE_P(BothWays, ReadinessTest,
                         testing::Values(Watched::Trigger::level, Watched::Trigger::edge),
                         [](const auto& way) {
                           return way.param == Watched::Trigger::edge ? "Once" : "AsLongAs";
                         });

}  // namespace
}  // namespace weir::net
