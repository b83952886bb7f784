// The contract of every store: each behaviour once, named as a sentence, run on each store.
//
// A new behaviour starts here. A new store adds itself to stores() and must pass everything unchanged.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/weir.h"

namespace weir::contract {

using namespace std::chrono_literals;

/// One store, new and empty, on a clock that the test moves.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  /// A limiter on the store, as another process would open it.
  virtual Result<Limiter> open(const Options& options) = 0;
  virtual void advance(std::chrono::milliseconds by) = 0;
  /// Called between the steps of a test, for stores that want to make them harder.
  virtual void between() {}
  /// The time as the store sees it.
  virtual Time now() = 0;
  /// Called before usage is read, for stores that count it later.
  virtual void collect_usage() {}
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};

inline std::ostream& operator<<(std::ostream& out, const StoreKind& kind) { return out << kind.name; }

std::vector<StoreKind> stores();

class Contract : public testing::TestWithParam<StoreKind> {
 public:
  void advance(std::chrono::milliseconds by) const {
    store_->between();
    store_->advance(by);
  }
  Time now() const { return store_->now(); }

  void set_system(const std::vector<LimitText>& limits, const SetLimitsOptions& options = {}) {
    set(Level::system(), limits, options);
  }
  void set(const Level& level, const std::vector<LimitText>& limits, const SetLimitsOptions& options = {}) {
    store_->between();
    auto stored = limiter.set_limits(level, limits, options);
    ASSERT_TRUE(stored) << stored.error().message;
  }
  void put(const std::string& id, const std::string& parent, bool cascade = true) {
    auto entity = limiter.put_entity({.id = id, .parent = parent, .cascade = cascade});
    ASSERT_TRUE(entity) << entity.error().message;
  }

  /// Acquires, and fails the test on an error; the decision may be a refusal.
  Decision acquire(std::string_view entity, std::initializer_list<Charge> consume,
                   const AcquireOptions& options = {}) {
    store_->between();
    auto decision = limiter.acquire(entity, resource, consume, options);
    EXPECT_TRUE(decision) << decision.error().message;
    return decision ? *std::move(decision) : Decision();
  }
  Decision acquire_keyed(std::string_view entity, std::initializer_list<Charge> consume,
                         std::string_view idempotency_key) {
    AcquireOptions options;
    options.idempotency_key = idempotency_key;
    return acquire(entity, consume, options);
  }
  bool admits(std::string_view entity, std::initializer_list<Charge> consume,
              const AcquireOptions& options = {}) {
    return acquire(entity, consume, options).admitted();
  }
  /// How often a test repeats what it repeats `count` times elsewhere. DynamoDB Local takes a millisecond or
  /// more for each request.
  static int rounds(int count) {
    return GetParam().name.starts_with("dynamodb") ? std::max(1, count / 8) : count;
  }
  /// How many of `tries` acquires of one token are admitted.
  int admitted_of(int tries, std::string_view entity, const char* limit = "rpm") {
    int admitted = 0;
    for (int i = 0; i < tries; ++i) admitted += admits(entity, {{limit, 1}}) ? 1 : 0;
    return admitted;
  }
  /// What the entity's own bucket holds of a limit, as text.
  std::string remaining(std::string_view entity, std::string_view limit, const AcquireOptions& options = {}) {
    store_->between();
    auto look = limiter.available(entity, resource, {}, options);
    if (!look) return look.error().message;
    for (const LimitStatus status : look->limits()) {
      if (status.entity == entity && status.name == limit) return status.remaining.to_string();
    }
    return "none";
  }
  template <class T>
  static std::string error_of(const Result<T>& result) {
    return result ? "no error" : std::string(name_of(result.error().code)) + ": " + result.error().message;
  }

  std::string resource = "gpt-4";
  std::unique_ptr<StoreUnderTest> store_ = GetParam().make();
  Limiter limiter = *store_->open({});
};

/// For tests that hold one thing to be true of an error's text.
#define EXPECT_ERROR(code_name, culprit, result)                                     \
  do {                                                                               \
    const std::string weir_error = error_of(result);                                 \
    EXPECT_TRUE(weir_error.starts_with(std::string(code_name) + ":")) << weir_error; \
    EXPECT_NE(weir_error.find(culprit), std::string::npos) << weir_error;            \
  } while (false)

#define WEIR_CONTRACT(suite)                                           \
  class suite : public Contract {};                                    \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, testing::ValuesIn(stores()), \
                           [](const auto& parameter) { return parameter.param.name; })

}  // namespace weir::contract
