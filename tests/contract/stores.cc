#include "contract/contract.h"

namespace weir::contract {
namespace {

/// A store inside this process. It lives in the limiter that opened it, so every limiter is a new one.
class InProcess final : public StoreUnderTest {
 public:
  explicit InProcess(std::string url) : url_(std::move(url)) {}
  Result<Limiter> open(const Options& options) override {
    Options with_clock = options;
    with_clock.clock = &clock_;
    return Limiter::open(url_, with_clock);
  }
  void advance(std::chrono::milliseconds by) override { clock_.advance(by); }
  Time now() override { return clock_.now(); }

 private:
  std::string url_;
  FakeClock clock_;
};

}  // namespace

std::vector<StoreKind> stores() {
  return {{"memory", [] { return std::make_unique<InProcess>("memory:"); }}};
}

}  // namespace weir::contract
