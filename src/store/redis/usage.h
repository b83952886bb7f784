// The usage that a Redis store has counted.
#pragma once

#include "store/redis/usage_collector.h"
#include "store/redis/usage_reader.h"
#include "store/usage.h"

namespace weir::redis {

/// Safe to call from any thread. Reads block their caller, and complete on its thread.
class RedisUsage final : public store::UsageReader {
 public:
  /// The context must outlive the object.
  explicit RedisUsage(Context& context) : collector_(context), context_(context) {}

  void read(const store::UsageQuery& query, const weir::Paging& paging,
            store::Completion<weir::Page<Usage>> done) override {
    done(UsageRead(context_, query, paging).run());
  }
  Result<store::UsageCollected> collect() override { return collector_.collect(); }
  UsageCollector& collector() { return collector_; }

 private:
  UsageCollector collector_;
  Context& context_;
};

}  // namespace weir::redis
