#include "store/dynamodb/buckets.h"

#include <utility>

#include "store/bucket_of.h"
#include "store/dynamodb/acquire.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/correction.h"
#include "store/dynamodb/lease.h"
#include "store/dynamodb/legacy.h"
#include "store/remote/catalog.h"

namespace weir::dynamodb {

void DynamoBuckets::acquire(const store::Plan& plan, Decision& decision,
                            store::Completion<store::Progress> done) {
  (new Acquire(context_, plan, Acquire::Mode::acquire, decision, done))->start();
}

void DynamoBuckets::peek(const store::Plan& plan, Decision& decision,
                         store::Completion<store::Progress> done) {
  (new Acquire(context_, plan, Acquire::Mode::peek, decision, done))->start();
}

void DynamoBuckets::change(const store::LeasePlan& plan, store::LeaseOutcome& outcome,
                           store::Completion<store::Progress> done) {
  (new LeaseChange(context_, plan, outcome, done))->start();
}

void DynamoBuckets::correct(const store::CorrectionPlan& plan, store::CorrectionOutcome& outcome,
                            store::Completion<store::Progress> done) {
  (new Correction(context_, plan, outcome, done))->start();
}

namespace {

/// Builds a page from composite and legacy items in the order of their resources. The legacy items of a
/// resource directly follow its composite item: no name has a character before '#'.
class PageBuilder {
 public:
  PageBuilder(Context& context, std::string_view entity, const store::Paging& paging)
      : context_(context), entity_(entity), paging_(paging), now_(context.now()) {}

  /// False: the page is full. Items that cannot be used are left out.
  bool take(const Item& item) {
    const Key key = key_of(item);
    const auto legacy = legacy_name(key);
    const std::string resource = legacy ? legacy->resource : key.sk.substr(bucket_prefix.size());
    // The last resource of the previous page.
    if (resource == paging_.cursor) return true;
    if (resource != resource_ && !end_resource()) return false;
    resource_ = resource;
    if (legacy) {
      auto read = read_legacy(item);
      if (!read) return context_.bad.report(read.error().message), true;
      if (read->expires_at > now_) legacy_.push_back(*std::move(read));
      return true;
    }
    auto read = read_bucket(item);
    if (!read) return context_.bad.report(read.error().message), true;
    if (read->state.expires_at > now_) state_ = std::move(read->state);
    return true;
  }
  store::Page<Bucket> end() {
    if (page_.next.empty()) end_resource();
    return std::move(page_);
  }

 private:
  bool end_resource() {
    if (!state_ && !legacy_.empty()) state_ = merged(legacy_, 0);
    legacy_.clear();
    const auto state = std::exchange(state_, {});
    if (!state) return true;
    return remote::add(page_, paging_.limit, store::bucket_of(entity_, resource_, *state), &Bucket::resource);
  }

  Context& context_;
  const std::string_view entity_;
  const store::Paging& paging_;
  const Time now_;
  std::string resource_;
  std::optional<bucket::State> state_;
  std::vector<LegacyLimit> legacy_;
  store::Page<Bucket> page_;
};

}  // namespace

void DynamoBuckets::list(std::string_view name_space, std::string_view entity, const store::Paging& paging,
                         store::Completion<store::Page<Bucket>> done) {
  PageBuilder listing(context_, entity, paging);
  QueryOf wanted{.pk = entity_pk(name_space, entity), .begins_with = std::string(bucket_prefix)};
  if (!paging.cursor.empty()) wanted.after = std::string(bucket_prefix) + paging.cursor;
  auto listed =
      BlockingCalls(context_).for_each(wanted, [&](const Item& item) { return listing.take(item); });
  if (!listed) return done(listed.error());
  done(listing.end());
}

}  // namespace weir::dynamodb
