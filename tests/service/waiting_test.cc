// Acquires that wait instead of being refused (max_wait_ms), over HTTP and by a clock that the test moves.
#include <deque>

#include "service/api.h"
#include "support/eventually.h"

namespace weir::service {
namespace {

using namespace std::chrono_literals;

class Waits : public Api {
 protected:
  /// One token, and another one each second.
  void set_one_a_second() {
    set_system(R"("rpm":{"capacity":1,"burst":5,"refill_amount":1,"refill_period_ms":1000})");
  }
  static std::string body(int amount, int max_wait_ms) {
    return R"({"entity":"key","resource":"gpt-4","consume":{"rpm":)" + std::to_string(amount) +
           R"(},"max_wait_ms":)" + std::to_string(max_wait_ms) + "}";
  }
  Seen wait(int amount, int max_wait_ms, const std::string& fields = {}) {
    return post("/v1/acquire", body(amount, max_wait_ms), fields);
  }
  /// Sends a request that has to wait, on a connection of its own, and returns when it is in its queue.
  Connection& send_waiting(int amount, int max_wait_ms, const std::string& fields = {}) {
    const std::size_t before = service->waiting();
    connections_.emplace_back(address()).send("POST", "/v1/acquire", body(amount, max_wait_ms), fields);
    EXPECT_TRUE(tests::eventually([&] { return service->waiting() == before + 1; }));
    return connections_.back();
  }
  std::deque<Connection> connections_;
};
INSTANTIATE_TEST_SUITE_P(Stores, Waits, testing::Values("memory", "sqlite", "redis"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST_P(Waits, ForRefillAndSaysHowLong) {
  set_one_a_second();
  const Seen first = wait(1, 5000);
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.at("/waited_ms"), "0");
  EXPECT_EQ(acquire("key", "\"rpm\":0").at("/waited_ms"), "none") << "it did not ask to wait";
  Connection& second = send_waiting(1, 5000);
  EXPECT_EQ(acquire("key", "\"rpm\":1").status, 429) << "a request that does not wait is decided at once";
  clock->advance(1s);
  const Seen seen = second.receive();
  EXPECT_EQ(seen.status, 200) << seen.body;
  EXPECT_EQ(seen.at("/waited_ms"), "1000");
  EXPECT_EQ(service->waiting(), 0U);
}

TEST_P(Waits, FirstComeFirstServed) {
  set_one_a_second();
  EXPECT_EQ(wait(1, 5000).status, 200);
  std::vector<Connection*> callers;
  for (int i = 0; i < 5; ++i) callers.push_back(&send_waiting(1, 60'000));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(tests::eventually([&] { return service->waiting() == static_cast<std::size_t>(5 - i); }));
    clock->advance(1s);
    const Seen seen = callers[static_cast<std::size_t>(i)]->receive();
    EXPECT_EQ(seen.status, 200) << seen.body;
    EXPECT_EQ(seen.at("/waited_ms"), std::to_string(1000 * (i + 1)));
  }
}

TEST_P(Waits, NotForWhatCannotBeInTime) {
  set_one_a_second();
  EXPECT_EQ(wait(1, 5000).status, 200);
  const auto expect_refused_at_once = [&] {
    const Seen late = wait(1, 999);
    EXPECT_EQ(late.status, 429) << late.body;
    EXPECT_EQ(late.at("/waited_ms"), "0");
    EXPECT_EQ(late.at("/retry_after_ms"), "1000");
    const Seen never = wait(6, 5000);
    EXPECT_EQ(never.status, 429) << never.body;
    EXPECT_EQ(never.at("/never_fits"), "true");
  };
  expect_refused_at_once();
  for (const int bad : {-1, 60'001}) EXPECT_EQ(problem_of(wait(1, bad)), "422 invalid-argument");
  EXPECT_EQ(problem_of(post("/v1/acquire",
                            R"({"entity":"key","resource":"gpt-4","consume":{"rpm":1},"max_wait_ms":"5s"})")),
            "400 malformed");
  Connection& first = send_waiting(1, 5000);
  expect_refused_at_once();
  EXPECT_EQ(problem_of(post("/v1/acquire",
                            R"({"entity":"key","resource":"gpt-4","consume":{"rpn":1},"max_wait_ms":5000})")),
            "422 unknown-limit")
      << "a mistake does not wait";
  clock->advance(1s);
  EXPECT_EQ(first.receive().status, 200);
}

TEST_P(Waits, UntilTheDeadline) {
  set_one_a_second();
  EXPECT_EQ(wait(1, 5000).status, 200);
  Connection& large = send_waiting(3, 60'000);
  Connection& small = send_waiting(1, 1500);
  clock->advance(1500ms);
  const Seen refused = small.receive();
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.at("/waited_ms"), "1500");
  EXPECT_EQ(refused.at("/violated-policies"), "[]") << "it fits, but the large one came first";
  EXPECT_EQ(refused.at("/retry_after_ms"), "1500");
  EXPECT_EQ(refused.text("/detail"), "other requests wait for this bucket; retry in 1500 ms");
  clock->advance(1500ms);
  EXPECT_EQ(large.receive().at("/waited_ms"), "3000");
}

TEST_P(Waits, NoLongerThanTheCaller) {
  set_one_a_second();
  EXPECT_EQ(wait(1, 5000).status, 200);
  send_waiting(1, 60'000);
  Connection& stays = send_waiting(1, 60'000);
  connections_.pop_front();
  EXPECT_TRUE(tests::eventually([&] { return service->waiting() == 1; })) << "its connection was closed";
  clock->advance(1s);
  const Seen seen = stays.receive();
  EXPECT_EQ(seen.status, 200) << "nothing was charged for the one that is gone: " << seen.body;
}

TEST_P(Waits, AndIsChargedOnce) {
  set_one_a_second();
  const std::string key = "Idempotency-Key: call-1\r\n";
  const Seen once = wait(1, 5000, key);
  EXPECT_EQ(once.status, 200);
  Connection& first = send_waiting(1, 60'000);
  const Seen again = wait(1, 5000, key);
  EXPECT_EQ(again.status, 200) << "although others wait: " << again.body;
  EXPECT_EQ(again.at("/lease"), once.at("/lease"));
  const std::string other = "Idempotency-Key: call-2\r\n";
  Connection& waiting = send_waiting(1, 60'000, other);
  Connection& copy = send_waiting(1, 60'000, other);
  clock->advance(1s);
  EXPECT_EQ(first.receive().status, 200);
  // The next one tries and is refused before the clock moves on: its wait counts from the answer.
  ASSERT_TRUE(tests::eventually([&] { return service->waiting() == 2; }));
  clock->advance(1s);
  const Seen charged = waiting.receive();
  EXPECT_EQ(charged.status, 200) << charged.body;
  EXPECT_EQ(copy.receive().at("/lease"), charged.at("/lease"));
  EXPECT_EQ(get("/v1/available?entity=key&resource=gpt-4").at("/limits/0/remaining"), "0");
}

TEST_P(Waits, NotForAServiceThatEnds) {
  set_one_a_second();
  EXPECT_EQ(wait(1, 5000).status, 200);
  Connection& caller = send_waiting(1, 60'000);
  service->stop_waiting();
  EXPECT_EQ(caller.receive().status, 429);
  EXPECT_EQ(wait(1, 60'000).status, 429);
}

TEST_P(Waits, AndTheDecisionLogSaysWhyNoLonger) {
  stop();
  auto log = decision_log::DecisionLog::open(
      {.keeps = decision_log::Keeps::refusals, .path = {}, .has_thread = false}, *clock, *entropy_);
  ASSERT_TRUE(log) << log.error().message;
  start(open_store(), {.decisions = log->get()});
  set_one_a_second();
  EXPECT_EQ(wait(1, 5000).status, 200);
  Connection& large = send_waiting(3, 60'000);
  Connection& small = send_waiting(1, 1500);
  clock->advance(1500ms);
  const std::string id = small.receive().text("/decision");
  const Seen seen = get("/v1/decisions/" + id);
  EXPECT_EQ(seen.at("/more"), R"({"waited_ms":1500,"gave_up":"deadline"})") << seen.body;
  service->stop_waiting();
  const Seen ended = large.receive();
  EXPECT_EQ(get("/v1/decisions/" + ended.text("/decision")).at("/more"),
            R"({"waited_ms":1500,"gave_up":"hurried"})");
  stop();
}

}  // namespace
}  // namespace weir::service
