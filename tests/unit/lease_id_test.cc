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

/// Made with Python's hmac, struct and base64 from the layout in docs/format/lease-id.md.
TEST(LeaseId, IsWhatTheFormatSays) {
  detail::LeaseData lease = sample();
  lease.amounts = {{"rpm", 1000, 3}, {"tpm", 500'000, 1}};
  EXPECT_EQ(encode_lease(lease, "default", key),
            "w1-"
            "X85Lu6qBswyK8swoDdQigcAAAAAAAAACQAAAAAAAADAk1nEoAEAAAcAZGVmYXVsdAUAZ3B0LTQCBQBrZXktMSoAAAAAAAAAB"
            "wBwcm9qZWN0__________8CAwBycG3oAwAAAAAAAAMDAHRwbSChBwAAAAAAAQ");
}

TEST(LeaseId, OfAGrantIsThatOfItsLease) {
  LimitReport report;
  const auto add = [&](std::string_view entity, std::uint64_t generation, std::uint32_t named) {
    LimitReport::Line* const lines =
        report.add_bucket(std::string(entity) + "gpt-4",
                          {.generation = generation,
                           .named = named,
                           .entity_size = static_cast<std::uint16_t>(entity.size()),
                           .source = Source::system,
                           .owner = Owner::operator_},
                          "rpmtpm", 2);
    lines[0] = {
        .capacity = 5000, .burst = 5000, .requested = 1000, .remaining = 0, .wait = 0, .name = {0, 3}};
    lines[1] = {
        .capacity = 5000, .burst = 5000, .requested = 500'000, .remaining = 0, .wait = 0, .name = {3, 3}};
  };
  add("key-1", 42, 3);
  add("project", ~std::uint64_t{0}, 1);
  detail::LeaseData lease = sample();
  lease.amounts = {{"rpm", 1000, 3}, {"tpm", 500'000, 1}};
  std::string id;
  append_grant(id, {report, lease.deadline, lease.nonce}, "default", key);
  EXPECT_EQ(id, encode_lease(lease, "default", key));
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
