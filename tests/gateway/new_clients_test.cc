// How many buckets unknown clients and unknown names of models can make.
#include "gateway/new_clients.h"

#include <gtest/gtest.h>

#include "gateway/model_names.h"

namespace weir::gateway {
namespace {

using std::chrono::milliseconds;
using Verdict = NewClients::Verdict;

constexpr NewClientBounds small{.per_network = 3, .total = 5, .period = milliseconds(100)};

TEST(NewClients, OfOneAddressAreBounded) {
  NewClients clients(small);
  for (std::uint64_t key = 0; key < 3; ++key) EXPECT_EQ(clients.admit(key, 1, milliseconds(0)), Verdict::own);
  EXPECT_EQ(clients.admit(3, 1, milliseconds(0)), Verdict::first_shared) << "for the log";
  EXPECT_EQ(clients.admit(4, 1, milliseconds(0)), Verdict::shared);
  EXPECT_EQ(clients.admit(2, 1, milliseconds(0)), Verdict::own) << "the second time";
  EXPECT_EQ(clients.admit(5, 2, milliseconds(0)), Verdict::own) << "another address";
}

TEST(NewClients, OfAllAddressesAreBounded) {
  NewClients clients(small);
  for (std::uint64_t key = 0; key < 5; ++key)
    EXPECT_EQ(clients.admit(key, key, milliseconds(0)), Verdict::own);
  EXPECT_EQ(clients.admit(5, 5, milliseconds(0)), Verdict::first_shared);
  EXPECT_EQ(clients.admit(6, 6, milliseconds(99)), Verdict::shared);
  EXPECT_EQ(clients.admit(6, 6, milliseconds(100)), Verdict::own) << "in the next period";
}

TEST(NewClients, AClientThatComesBackKeepsItsBucketBesideAFlood) {
  NewClients clients(small);
  EXPECT_EQ(clients.admit(1000, 1, milliseconds(0)), Verdict::own);
  std::uint64_t invented = 0;
  std::size_t own = 0;
  for (int at = 0; at < 1000; at += 10) {
    EXPECT_EQ(clients.admit(1000, 1, milliseconds(at)), Verdict::own) << at;
    for (int i = 0; i < 100; ++i)
      if (clients.admit(++invented, 1, milliseconds(at)) == Verdict::own) ++own;
  }
  EXPECT_LE(own, 10U * small.per_network) << "in ten periods";
}

TEST(NewClients, AreForgottenAfterTwoPeriods) {
  NewClients clients(small);
  for (std::uint64_t key = 0; key < 3; ++key) clients.admit(key, 1, milliseconds(0));
  for (std::uint64_t key = 10; key < 13; ++key)
    EXPECT_EQ(clients.admit(key, 1, milliseconds(250)), Verdict::own);
  EXPECT_NE(clients.admit(0, 1, milliseconds(250)), Verdict::own);
}

TEST(ModelNames, ThatAVendorHasAnsweredForStayKnownBesideAFlood) {
  using Models = ModelNames::Verdict;
  ModelNames models(small, 2);
  EXPECT_EQ(models.admit(1000, 1, milliseconds(0)), Models::fresh);
  models.answered(1000);
  for (std::uint64_t model = 0; model < 2; ++model)
    EXPECT_EQ(models.admit(model, 1, milliseconds(0)), Models::fresh);
  EXPECT_EQ(models.admit(3, 1, milliseconds(0)), Models::first_refused) << "it counts, although it is known";
  EXPECT_EQ(models.admit(4, 1, milliseconds(0)), Models::refused);
  EXPECT_EQ(models.admit(0, 1, milliseconds(0)), Models::fresh) << "again";
  EXPECT_EQ(models.admit(1000, 1, milliseconds(0)), Models::known);
  EXPECT_EQ(models.admit(4, 1, milliseconds(250)), Models::fresh) << "in a later period";
}

TEST(ModelNames, ThatAreKnownAreBounded) {
  using Models = ModelNames::Verdict;
  ModelNames models({.per_network = 1000, .total = 1000, .period = milliseconds(100)}, 3);
  for (std::uint64_t model = 0; model < 10; ++model) {
    models.admit(model, 1, milliseconds(0));
    models.answered(model);
    if (model > 0) {
      EXPECT_EQ(models.admit(model - 1, 1, milliseconds(0)), Models::known);
    }
  }
  EXPECT_EQ(models.admit(0, 1, milliseconds(0)), Models::fresh) << "it was not used for long";
}

}  // namespace
}  // namespace weir::gateway
