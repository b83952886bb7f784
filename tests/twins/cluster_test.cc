// A Redis Cluster of three nodes against the oracle.
#include <gtest/gtest.h>

#include "support/redis_cluster.h"
#include "twins/runner.h"

namespace weir::twins {
namespace {

/// A part of the cluster that nobody else uses.
class InCluster final : public Store {
 public:
  explicit InCluster(tests::RedisCluster& cluster)
      : url_(cluster.patient_url() + "&prefix=world" + std::to_string(++made_)) {}
  Result<Limiter> open(const Options& options) override { return Limiter::open(url_, options); }

 private:
  static inline int made_ = 0;
  const std::string url_;
};

TEST(Twins, RedisCluster) {
  tests::RedisCluster cluster;
  run_twins({"redis cluster",
             {.reopens = true, .counts_usage = true, .hears_later = true},
             [&] { return std::make_unique<InCluster>(cluster); }},
            4'000);
}

}  // namespace
}  // namespace weir::twins
