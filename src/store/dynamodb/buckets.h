// The buckets of a DynamoDB store: one item each, written under conditions.
#pragma once

#include "store/buckets.h"
#include "store/dynamodb/context.h"

namespace weir::dynamodb {

/// Safe to use from any thread. Acquires, looks and changes of leases complete on the client's thread.
class DynamoBuckets final : public store::Buckets {
 public:
  explicit DynamoBuckets(Context& context) : context_(context) {}

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

 private:
  using Keys = std::vector<Key>;
  /// The keys of at most one more than a page of buckets, in the order of the listing.
  Result<Keys> keys_on(std::string_view name_space, std::string_view resource, const store::Paging& paging);
  Result<Keys> all_keys(std::string_view name_space, const store::Paging& paging);
  Result<store::Page<Bucket>> list_on_now(std::string_view name_space, std::string_view resource,
                                          const store::Paging& paging);

  Context& context_;
};

}  // namespace weir::dynamodb
