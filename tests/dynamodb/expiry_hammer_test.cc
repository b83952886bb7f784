// 4 processes with 8 clients each on buckets that expire, are deleted and are made anew while they go on.
//
// With each generation tc starts again and a credit to one that is gone is dropped, so tc alone tells little.
// The table's stream is exact: every write that raised tc is one that a client was told of, and
// every write leaves what an ideal bucket, which does not expire, would hold (replay.h). One clock for all
// processes, which the test moves, so there is no allowance: one token too many fails.
#include <algorithm>

#include "base/text.h"
#include "dynamodb/hammer.h"
#include "dynamodb/replay.h"
#include "dynamodb/shared_clock.h"
#include "dynamodb/stream.h"
#include "support/eventually.h"
#include "support/folder.h"

namespace weir::dynamodb {
namespace {

using tests::eventually;

class ExpiryHammer : public testing::Test {
 protected:
  ExpiryHammer() : clock(folder.file("clock")) {
    clock.set(start_of_time);
    admin.emplace(*Limiter::open(url(), {.clock = &clock}));
    set_default("40/2s");
  }
  std::string url() const { return table.url() + "&cache_ms=20"; }
  /// Kept for no longer than it takes to be full: two seconds.
  void set_default(const char* rpm) {
    const auto set = admin->set_limits(Level::system(), {{"rpm", rpm}}, {.bucket_ttl_refill_multiplier = 1});
    EXPECT_TRUE(set) << set.error().message;
  }
  /// Many acquires, until the test is done.
  Sum run(const std::function<void()>& meanwhile) {
    return hammer(url(), 4, "key 8 5000 " + folder.file("clock"), [&] {
      meanwhile();
      clock.end();
    });
  }
  static std::optional<bucket::State> state_in(const Item& item) {
    const auto read = read_bucket(item);
    return read ? std::optional(read->state) : std::nullopt;
  }
  std::optional<bucket::State> bucket_of(const char* entity) const { return state_in(table.bucket(entity)); }
  /// The limits come and go, by two ways, while time goes on a little.
  void change_limits(int round) {
    const Level own = Level::entity("key", "gpt-4");
    clock.set(clock.now() + 150);
    if (round % 3 == 0) set_default(round % 2 == 0 ? "20/s" : "40/2s");
    if (round % 3 == 1) {
      // Kept for good, meanwhile.
      EXPECT_TRUE(admin->set_limits(own, {{"rpm", "40/2s:50"}}));
      clock.set(clock.now() + 300);
      EXPECT_TRUE(admin->delete_limits(own));
    }
    clock.set(clock.now() + 250);
  }
  /// Time goes on until the bucket that is there now has come to an end, whoever may still write to it; or,
  /// after it has expired as often as it takes, until it was deleted before anybody made it anew.
  bool expire(const char* entity, bool deleted) {
    // In a chain the tightest decides, and what the others hold is left alone.
    const auto spent = [&](const char* one) { return is_exhausted(one); };
    if (!eventually([&] { return std::any_of(chain.begin(), chain.end(), spent); })) return false;
    const auto before = bucket_of(entity);
    const std::uint64_t generation = before ? before->generation : 0;
    return eventually([&] {
      const auto now = bucket_of(entity);
      if (!now || (now->generation != generation && !deleted)) return true;
      const bool kept = now->expires_at == bucket::never;
      clock.set(kept ? clock.now() + 100 : std::max(clock.now(), now->expires_at));
      return deleted && delete_expired(entity);
    });
  }
  /// Whether the next are refused until the clock moves.
  bool is_exhausted(const char* entity) const {
    const auto now = bucket_of(entity);
    const bucket::LimitState* const limit = now ? now->find("rpm") : nullptr;
    if (limit == nullptr || now->expires_at <= clock.now()) return false;
    const bucket::Parameters& parameters = limit->parameters;
    return bucket::claim(parameters.rate, parameters.burst, now->refilled_at, clock.now())
               .held(limit->tokens) < 1'000;
  }
  /// As DynamoDB does, some time after.
  bool delete_expired(const char* entity) const {
    ItemWrite write = erase(bucket_key("default", entity, "gpt-4"));
    write.expression.condition(
        base::join(write.expression.name("ttl"), " <= ", write.expression.value(clock.now() / 1000)));
    return table.client->ask("DeleteItem", single_write(table.table, write).json, false).ok();
  }
  Replay replay(const char* entity) const {
    const std::vector<Item> images = Stream(table.table).images_of(bucket_key("default", entity, "gpt-4"));
    const Replay replayed(images);
    std::printf("%s: %zu writes, %d generations, %d deletions, %d changes of limits\n", entity, images.size(),
                replayed.generations, replayed.deletions, replayed.changes);
    const auto last = images.empty() ? std::nullopt : state_in(images.back());
    EXPECT_EQ(last, bucket_of(entity)) << "the stream is not all there";
    return replayed;
  }

  std::vector<const char*> chain{"key"};
  tests::Folder folder;
  TestTable table;
  tests::SharedClock clock;
  std::optional<Limiter> admin;
};

TEST_F(ExpiryHammer, ABucketThatExpiresAndComesBackAdmitsNothingTwice) {
  const Sum sum = run([&] {
    for (int i = 0; i < 6; ++i) {
      change_limits(i);
      ASSERT_TRUE(expire("key", i % 3 == 2)) << i;
    }
  });
  const Replay replayed = replay("key");
  EXPECT_EQ(replayed.charged, sum.charged);
  EXPECT_LE(replayed.given_back, sum.given_back) << "a credit to a generation that is gone is dropped";
  EXPECT_GE(replayed.generations, 6);
  EXPECT_GE(replayed.deletions, 2);
  EXPECT_GT(replayed.changes, 0);
}

TEST_F(ExpiryHammer, ACascadeOfBucketsThatExpireEachByItselfCountsInBoth) {
  ASSERT_TRUE(admin->put_entity({.id = "key", .parent = "project", .cascade = true}));
  chain.push_back("project");
  long direct = 0;
  const Sum sum = run([&] {
    for (int i = 0; i < 4; ++i) {
      change_limits(i);
      // Both expire, one of them is deleted, and the parent may be back before the child.
      ASSERT_TRUE(expire(i < 2 ? "project" : "key", i % 2 == 1)) << i;
      auto decision = admin->acquire("project", "gpt-4", {{"rpm", 1}});
      if (decision && decision->admitted()) ++direct;
    }
  });
  const Replay child = replay("key");
  const Replay parent = replay("project");
  EXPECT_EQ(child.charged, sum.charged);
  EXPECT_EQ(parent.charged, sum.charged + direct);
  EXPECT_LE(child.given_back, sum.given_back);
  EXPECT_LE(parent.given_back, sum.given_back);
  EXPECT_GE(child.generations + parent.generations, 6);
  EXPECT_GE(child.deletions + parent.deletions, 2);
  EXPECT_GT(child.changes + parent.changes, 0);
}

}  // namespace
}  // namespace weir::dynamodb
