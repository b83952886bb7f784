// Programs that start before DynamoDB can be reached, or before there is a table: what callers are told
// meanwhile, and that nobody has to start them again.
#include "dynamodb/faulty_proxy.h"
#include "dynamodb/table.h"
#include "support/eventually.h"

namespace weir::dynamodb {
namespace {

using tests::DynamoDbLocal;
using tests::eventually;
using tests::FaultyProxy;

class LazyOpening : public testing::Test {
 protected:
  static std::string at(std::uint16_t port, const std::string& table) {
    return "dynamodb://" + table + "?endpoint=http://127.0.0.1:" + std::to_string(port) +
           "&deadline_ms=2000&refuse_ms=0";
  }
  /// As `weir serve` does.
  Limiter begin(const std::string& url) {
    auto opened = Limiter::open(url, {.clock = &clock, .must_be_reachable = false});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  static std::string ask(Limiter& limiter) {
    auto decision = limiter.acquire("key", "gpt-4", {{"rpm", 1}});
    if (!decision) return std::string(name_of(decision.error().code)) + ": " + decision.error().message;
    return decision->admitted() ? "admitted" : "refused";
  }
  /// Nothing is admitted and nothing taken in, whatever is asked for.
  static void expect_away(Limiter& limiter, const std::string& because) {
    const std::string answer = ask(limiter);
    EXPECT_TRUE(answer.starts_with("store-unavailable: ")) << answer;
    EXPECT_NE(answer.find(because), std::string::npos) << answer;
    EXPECT_EQ(limiter.available("key", "gpt-4").error().code, ErrorCode::unavailable);
    EXPECT_EQ(limiter.set_limits(Level::system(), {{"rpm", "2/day"}}).error().code, ErrorCode::unavailable);
    EXPECT_EQ(limiter.settle("anything", {}).error().code, ErrorCode::unavailable)
        << "whether it is a lease cannot be known yet";
  }
  /// It has become a limiter like any other: it counts with the others, and ends their leases.
  static void expect_at_work(Limiter& limiter, Limiter& other) {
    EXPECT_TRUE(eventually([&] { return limiter.set_limits(Level::system(), {{"rpm", "3/day"}}).ok(); }));
    auto decision = other.acquire("key", "gpt-4", {{"rpm", 2}});
    ASSERT_TRUE(decision && decision->admitted());
    EXPECT_EQ(ask(limiter), "admitted");
    EXPECT_EQ(ask(limiter), "refused");
    const auto ended = limiter.rollback(*decision->lease().id());
    EXPECT_TRUE(ended) << ended.error().message;
    EXPECT_EQ(ask(limiter), "admitted");
  }

  FakeClock clock{start_of_time};
};

TEST_F(LazyOpening, AProgramThatStartsBeforeDynamoDbIsAtWorkOnceItIsThere) {
  TestTable table;
  const std::uint16_t port = DynamoDbLocal::free_port();
  Limiter limiter = begin(at(port, table.table));
  expect_away(limiter, "DynamoDB is unavailable");
  const FaultyProxy there(
      DynamoDbLocal::shared().port(), [](const std::string&) { return FaultyProxy::Fault::none; }, port);
  Limiter other = table.limiter();
  expect_at_work(limiter, other);
}

TEST_F(LazyOpening, AProgramThatStartsBeforeItsTableIsAtWorkOnceItIsMade) {
  const std::string name = DynamoDbLocal::shared().table();
  const std::string url = at(DynamoDbLocal::shared().port(), name);
  Limiter limiter = begin(url);
  expect_away(limiter, "no such table");
  EXPECT_NE(ask(limiter).find("weir store init"), std::string::npos) << ask(limiter);
  const SystemClock system;
  base::SystemEntropy entropy;
  auto client =
      *connect({.table = name, .endpoint = DynamoDbLocal::shared().url(), .deadline = 60s}, system, entropy);
  ASSERT_TRUE(make_table(*client, name, {}));
  Limiter other = begin(url);
  expect_at_work(limiter, other);
}

TEST_F(LazyOpening, SeveralThatStartOnANewTableAgreeOnWhatTheyShare) {
  TestTable table;
  std::vector<Limiter> limiters;
  std::vector<std::thread> starting;
  std::mutex mutex;
  for (int i = 0; i < 6; ++i) {
    starting.emplace_back([&] {
      Limiter one = table.limiter();
      const std::scoped_lock lock(mutex);
      limiters.push_back(std::move(one));
    });
  }
  for (std::thread& thread : starting) thread.join();
  ASSERT_TRUE(limiters[0].set_limits(Level::system(), {{"rpm", "100/day"}}));
  auto decision = limiters[0].acquire("key", "gpt-4", {{"rpm", 60}});
  ASSERT_TRUE(decision && decision->admitted());
  const std::string id = *decision->lease().id();
  for (std::size_t i = 1; i < limiters.size(); ++i) {
    const auto adjusted = limiters[i].adjust(id, {{"rpm", -10}}, "part-" + std::to_string(i));
    EXPECT_TRUE(adjusted) << i << ": " << adjusted.error().message;
  }
  EXPECT_EQ(table.number("key", "b_rpm_tc"), 10'000);
}

TEST_F(LazyOpening, WhoInsistsIsToldThatNobodyIsThere) {
  const auto opened = Limiter::open(at(DynamoDbLocal::free_port(), "nowhere"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unavailable);
  EXPECT_NE(opened.error().message.find("Connection refused"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace weir::dynamodb
