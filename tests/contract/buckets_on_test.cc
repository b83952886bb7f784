#include "contract/contract.h"

namespace weir::contract {
namespace {

WEIR_CONTRACT(BucketsOn);

std::vector<std::string> entities_of(const Result<Page<Bucket>>& page) {
  std::vector<std::string> entities;
  if (!page) return {page.error().message};
  for (const Bucket& bucket : page->items) entities.push_back(bucket.entity);
  return entities;
}

/// Every bucket, page by page.
std::vector<std::string> all_of(Limiter& limiter, std::string_view resource, const BucketsFilter& filter,
                                std::size_t in_a_page) {
  std::vector<std::string> entities;
  Paging paging{.cursor = {}, .limit = in_a_page};
  for (int pages = 0; pages < 100; ++pages) {
    const auto page = limiter.buckets_on(resource, filter, paging);
    const auto part = entities_of(page);
    entities.insert(entities.end(), part.begin(), part.end());
    if (!page || page->next.empty()) break;
    EXPECT_LE(page->items.size(), in_a_page);
    paging.cursor = page->next;
  }
  return entities;
}

TEST_P(BucketsOn, AResourceAreListedByEntity) {
  set_system({{"rpm", "10/min"}});
  for (const char* const entity : {"key-2", "a:b@c/d", "key-1", "key-10"})
    EXPECT_TRUE(admits(entity, {{"rpm", 1}}));
  resource = "gpt-4-mini";
  EXPECT_TRUE(admits("other", {{"rpm", 1}}));
  resource = "embed/*";
  EXPECT_TRUE(admits("star", {{"rpm", 1}}));
  resource = "embed/x";
  EXPECT_TRUE(admits("no-star", {{"rpm", 1}}));
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4")),
            (std::vector<std::string>{"a:b@c/d", "key-1", "key-10", "key-2"}));
  EXPECT_EQ(entities_of(limiter.buckets_on("embed/*")), std::vector<std::string>{"star"});
  EXPECT_TRUE(entities_of(limiter.buckets_on("nothing")).empty());
  EXPECT_EQ(all_of(limiter, "gpt-4", {}, 1),
            (std::vector<std::string>{"a:b@c/d", "key-1", "key-10", "key-2"}));
  EXPECT_EQ(all_of(limiter, "gpt-4", {}, 3),
            (std::vector<std::string>{"a:b@c/d", "key-1", "key-10", "key-2"}));
}

TEST_P(BucketsOn, EveryResourceAreListedByEntityAndResource) {
  set_system({{"rpm", "10/min"}});
  for (const char* const on : {"gpt-4", "embed"}) {
    resource = on;
    for (const char* const entity : {"b", "a"}) EXPECT_TRUE(admits(entity, {{"rpm", 1}}));
  }
  const auto page = limiter.buckets_on("");
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->items.size(), 4U);
  EXPECT_EQ(page->items[0].entity + " " + page->items[0].resource, "a embed");
  EXPECT_EQ(page->items[1].entity + " " + page->items[1].resource, "a gpt-4");
  EXPECT_EQ(all_of(limiter, "", {}, 3), (std::vector<std::string>{"a", "a", "b", "b"}));
}

TEST_P(BucketsOn, AResourceShowTheSameAsThoseOfTheEntity) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min:2000"}});
  EXPECT_TRUE(admits("key", {{"rpm", 3}, {"tpm", 250}}));
  const auto one = limiter.buckets("key");
  const auto all = limiter.buckets_on("gpt-4");
  ASSERT_TRUE(one && all);
  ASSERT_EQ(all->items.size(), 1U);
  const Bucket& expected = one->items.at(0);
  const Bucket& bucket = all->items[0];
  EXPECT_EQ(bucket.refilled_at, expected.refilled_at);
  EXPECT_EQ(bucket.expires_at, expected.expires_at);
  EXPECT_EQ(bucket.version, expected.version);
  ASSERT_EQ(bucket.limits.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(bucket.limits[i].name, expected.limits[i].name);
    EXPECT_EQ(bucket.limits[i].tokens, expected.limits[i].tokens);
    EXPECT_EQ(bucket.limits[i].consumed, expected.limits[i].consumed);
    EXPECT_TRUE(bucket.limits[i].in_force);
  }
}

TEST_P(BucketsOn, AResourceAreSortedByWhatIsLeftAtThePresentMoment) {
  set_system({{"rpm", "10/min"}, {"tpm", "1000/min"}});
  EXPECT_TRUE(admits("half", {{"rpm", 5}}));
  EXPECT_TRUE(admits("empty", {{"tpm", 1000}}));
  EXPECT_TRUE(admits("full", {{"rpm", 0}, {"tpm", 1}}));
  EXPECT_TRUE(admits("most", {{"rpm", 2}, {"tpm", 100}}));
  const BucketsFilter least_left{.order = BucketOrder::remaining};
  const std::vector<std::string> order{"empty", "half", "most", "full"};
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4", least_left)), order);
  EXPECT_EQ(all_of(limiter, "gpt-4", least_left, 1), order);
  EXPECT_EQ(all_of(limiter, "gpt-4", least_left, 3), order);
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4", {.below_percent = Amount(50)})),
            std::vector<std::string>{"empty"})
      << "exactly half is not below";
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4", {.below_percent = Amount::milli(50'001)})),
            (std::vector<std::string>{"empty", "half"}));
  EXPECT_EQ(all_of(limiter, "gpt-4", {.below_percent = Amount(90)}, 1),
            (std::vector<std::string>{"empty", "half", "most"}));
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4", {.below_percent = Amount(60), .limit = "tpm"})),
            std::vector<std::string>{"empty"});
  advance(30s);
  // Half of the capacity has come back: 500 of 1000 tokens, and "half" is full again.
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4", {.below_percent = Amount(60)})),
            std::vector<std::string>{"empty"});
  advance(30s);
  EXPECT_TRUE(entities_of(limiter.buckets_on("gpt-4", {.below_percent = Amount(60)})).empty());
}

TEST_P(BucketsOn, AResourceAreSortedByWhatWasConsumed) {
  set_system({{"rpm", "100/min"}, {"tpm", "1000/min"}});
  EXPECT_TRUE(admits("few", {{"rpm", 1}, {"tpm", 10}}));
  EXPECT_TRUE(admits("many", {{"rpm", 2}, {"tpm", 900}}));
  EXPECT_TRUE(admits("often", {{"rpm", 95}}));
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4", {.order = BucketOrder::consumed})),
            (std::vector<std::string>{"often", "many", "few"}));
  EXPECT_EQ(all_of(limiter, "gpt-4", {.order = BucketOrder::consumed, .limit = "tpm"}, 2),
            (std::vector<std::string>{"many", "few", "often"}));
}

TEST_P(BucketsOn, AResourceLeaveOutThoseThatHaveExpiredOrLackTheLimit) {
  set_system({{"rpm", "10/min"}});
  set(Level::entity("kept", "gpt-4"), {{"rps", "10/s"}});
  EXPECT_TRUE(admits("gone", {{"rpm", 1}}));
  EXPECT_TRUE(admits("kept", {{"rps", 1}}));
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4")), (std::vector<std::string>{"gone", "kept"}));
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4", {.limit = "rps"})), std::vector<std::string>{"kept"});
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4", {.order = BucketOrder::remaining, .limit = "rpm"})),
            std::vector<std::string>{"gone"});
  advance(24h);
  EXPECT_EQ(entities_of(limiter.buckets_on("gpt-4")), std::vector<std::string>{"kept"});
}

TEST_P(BucketsOn, AResourceAreThoseOfTheNamespace) {
  set_system({{"rpm", "10/min"}});
  EXPECT_TRUE(admits("key", {{"rpm", 1}}));
  auto other = store_->open({.name_space = "other"});
  ASSERT_TRUE(other);
  EXPECT_TRUE(entities_of(other->buckets_on("gpt-4")).empty());
  EXPECT_TRUE(entities_of(other->buckets_on("")).empty());
}

TEST_P(BucketsOn, MistakesAreNamed) {
  EXPECT_ERROR("invalid-argument", "resource", limiter.buckets_on("no spaces"));
  EXPECT_ERROR("invalid-argument", "limit", limiter.buckets_on("gpt-4", {.limit = "9"}));
  EXPECT_ERROR("invalid-argument", "below", limiter.buckets_on("gpt-4", {.below_percent = Amount()}));
  EXPECT_ERROR("invalid-argument", "1 to 1000", limiter.buckets_on("gpt-4", {}, {.limit = 0}));
  EXPECT_ERROR("invalid-argument", "cursor",
               limiter.buckets_on("gpt-4", {.order = BucketOrder::remaining}, {.cursor = "x"}));
}

}  // namespace
}  // namespace weir::contract
