#include "limiter/lease_id.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::limiter {
namespace {

detail::LeaseData sample() {
  detail::LeaseData lease;
  lease.resource = "gpt-4";
  lease.buckets = {{"key-1", 42}, {"project", ~std::uint64_t{0}}};
  lease.amounts = {{"rpm", 1000, 3}, {"tpm", Amount::max_millitokens, 1}};
  lease.deadline = 1'790'000'600'000;
  lease.nonce = {7, 9};
  return lease;
}

constexpr store::LeaseKey key{std::byte{1}, std::byte{2}};

TEST(LeaseId, CarriesEverythingThatAChangeNeeds) {
  const std::string id = encode_lease(sample(), "default", key);
  const auto lease = decode_lease(id, "default", key);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->resource, "gpt-4");
  ASSERT_EQ(lease->buckets.size(), 2U);
  EXPECT_EQ(lease->buckets[1].entity, "project");
  EXPECT_EQ(lease->buckets[1].generation, ~std::uint64_t{0});
  EXPECT_EQ(lease->amounts, sample().amounts);
  EXPECT_EQ(lease->deadline, sample().deadline);
  EXPECT_EQ(lease->nonce, sample().nonce);
  EXPECT_TRUE(lease->shared);
}

TEST(LeaseId, IsSafeInAPathAndShort) {
  const std::string id = encode_lease(sample(), "default", key);
  EXPECT_EQ(id.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
  EXPECT_LT(id.size(), 200U);
}

TEST(LeaseId, NeedsTheSameKeyAndNamespace) {
  const std::string id = encode_lease(sample(), "default", key);
  EXPECT_FALSE(decode_lease(id, "other", key));
  store::LeaseKey other_key = key;
  other_key.back() = std::byte{1};
  EXPECT_FALSE(decode_lease(id, "default", other_key));
}

RC_GTEST_PROP(LeaseId, AnyOtherTextIsRefused, (const std::string& text)) {
  RC_ASSERT(!decode_lease(text, "default", key));
  RC_ASSERT(!decode_lease("w1" + text, "default", key));
}

}  // namespace
}  // namespace weir::limiter
