// Streams of requests through a session without a server. Every stream is cut into pieces and answered in
// several ways; the client must receive the same bytes each time.
#include "net/session.h"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "session_bench.h"

namespace weir::net {
namespace {

struct Expected {
  std::string answers;
  std::vector<std::string> seen;
  bool closed = false;
};

Expected expected_of(const Stream& stream) {
  Expected expected;
  bool tunnel = false;
  for (const Sample* sample : stream) {
    if (tunnel) {
      expected.answers += sample->bytes;
      continue;
    }
    expected.answers += sample->answer;
    if (!sample->seen.empty()) expected.seen.push_back(sample->seen);
    tunnel = sample->after == Sample::After::tunnel;
    expected.closed = sample->after != Sample::After::next && !tunnel;
    if (expected.closed) break;
  }
  return expected;
}

struct Split {
  std::size_t largest;  ///< of a piece
  unsigned seed;
};

void send_split(SessionDriver& client, std::string_view bytes, Split split) {
  std::minstd_rand random(split.seed);
  while (!bytes.empty()) {
    const std::size_t size = split.seed == 0 ? split.largest : 1 + random() % split.largest;
    client.send(bytes.substr(0, size));
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
}

/// One worker for each number of requests that the handler may hold.
class SessionTest : public testing::Test {
 protected:
  void check(Bench& bench, const Stream& stream, Split split, When when) {
    const Expected expected = expected_of(stream);
    bench.start(when);
    {
      SessionDriver client(bench.worker.worker());
      send_split(client, bytes_of(stream), split);
      answer_held(bench.handler, client);
      ASSERT_EQ(without_continue(client.received()), expected.answers);
      ASSERT_EQ(bench.handler.seen, expected.seen);
      ASSERT_EQ(client.closed(), expected.closed);
      ASSERT_FALSE(client.was_cut());
    }
    bench.expect_nothing_held();
    ++covered_;
  }
  void check_all_ways(const Stream& stream) {
    for (Bench& bench : benches_) {
      for (const Split split : {Split{unlimited, 0}, Split{1, 0}, Split{40, 7}, Split{5, 8}}) {
        for (const When when : {When::at_once, When::in_order, When::in_reverse, When::elsewhere}) {
          check(bench, stream, split, when);
          if (HasFailure())
            FAIL() << name_of(stream) << ", pieces of " << split.largest << ", answered "
                   << static_cast<int>(when);
        }
      }
    }
  }
  void TearDown() override { std::cout << covered_ << " combinations\n"; }

  static constexpr std::size_t unlimited = SessionDriver::unlimited;
  const std::vector<Sample> whole_ = whole_samples();
  const std::vector<Sample> ending_ = ending_samples();
  std::array<Bench, 3> benches_{Bench(1), Bench(3), Bench(64)};
  std::size_t covered_ = 0;
};

TEST_F(SessionTest, AnswersEveryPairHoweverItArrivesAndIsAnswered) {
  for (const Sample& first : whole_) {
    ASSERT_NO_FATAL_FAILURE(check_all_ways({&first}));
    for (const Sample& second : whole_) ASSERT_NO_FATAL_FAILURE(check_all_ways({&first, &second}));
  }
}

TEST_F(SessionTest, EndsWhereARequestEndsIt) {
  for (const Sample& end : ending_) {
    ASSERT_NO_FATAL_FAILURE(check_all_ways({&end}));
    for (const Sample& other : whole_) ASSERT_NO_FATAL_FAILURE(check_all_ways({&other, &end, &other}));
  }
}

TEST_F(SessionTest, AnswersLongStreamsInOrder) {
  std::minstd_rand random(1);
  for (int i = 0; i < 60; ++i) {
    Stream stream;
    const std::size_t count = 3 + random() % 12;
    for (std::size_t j = 0; j < count; ++j) stream.push_back(&whole_[random() % whole_.size()]);
    if (i % 2 == 0) stream.push_back(&ending_[random() % ending_.size()]);
    stream.push_back(&whole_[random() % whole_.size()]);
    ASSERT_NO_FATAL_FAILURE(check_all_ways(stream));
  }
}

}  // namespace
}  // namespace weir::net
