// The buckets of a Redis store: one script for each plan.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "base/lock.h"
#include "store/buckets.h"
#include "store/redis/context.h"
#include "store/redis/record.h"

namespace weir::redis {

class RedisCatalog;

/// Safe to use from any thread. Acquires, looks and changes of leases complete on the client's thread.
class RedisBuckets final : public store::Buckets {
 public:
  /// Both must outlive the buckets.
  RedisBuckets(Context& context, RedisCatalog& catalog)
      : context_(context), catalog_(catalog), generations_(context.entropy.next()) {}

  void acquire(const store::Plan& plan, Decision& decision, store::Completion<store::Progress> done) override;
  void peek(const store::Plan& plan, Decision& decision, store::Completion<store::Progress> done) override;
  void change(const store::LeasePlan& plan, store::LeaseOutcome& outcome,
              store::Completion<store::Progress> done) override;
  void correct(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
               store::Completion<store::Progress> done) override;
  void list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
            store::Completion<store::Page<Bucket>> done) override;
  void list_on(std::string_view name_space, std::string_view resource, const store::Paging& paging,
               store::Completion<store::Page<Bucket>> done) override;
  void begin_round() override { context_.client.begin_round(); }
  void end_round() override { context_.client.end_round(); }

  /// A unique generation for a bucket that may have to be created. Counts from a random start, below 2^52.
  std::uint64_t next_generation() {
    return (generations_.fetch_add(2, std::memory_order_relaxed) & ((std::uint64_t{1} << 52U) - 1)) | 1U;
  }

 private:
  friend class Operation;
  Result<store::Page<Bucket>> list_now(std::string_view name_space, std::string_view entity,
                                       const store::Paging& paging);

  Context& context_;
  RedisCatalog& catalog_;
  SetsInPlan sets_;
  std::atomic<std::uint64_t> generations_;
};

}  // namespace weir::redis
