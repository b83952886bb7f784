// The store that weir_contract_cluster runs the contract on.
#include <atomic>

#include "contract/contract.h"
#include "support/redis_cluster.h"

namespace weir::contract {
namespace {

tests::RedisCluster& cluster() {
  static tests::RedisCluster one;
  return one;
}

/// A corner of the cluster that nobody else uses.
class InCluster final : public StoreUnderTest {
 public:
  Result<Limiter> open(const Options& options) override {
    Options with_clock = options;
    with_clock.clock = &clock_;
    return Limiter::open(cluster().patient_url() + "&prefix=" + prefix_, with_clock);
  }
  void advance(std::chrono::milliseconds by) override { clock_.advance(by); }
  Time now() override { return clock_.now(); }

 private:
  static inline std::atomic<int> made_{0};
  const std::string prefix_ = "store" + std::to_string(++made_);
  FakeClock clock_;
};

}  // namespace

std::vector<StoreKind> stores() {
  return {{"redis_cluster", [] { return std::make_unique<InCluster>(); }}};
}

}  // namespace weir::contract
