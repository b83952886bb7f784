// Requests that block their caller: listings, changes of the catalog, set-up.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "store/dynamodb/context.h"
#include "store/dynamodb/request.h"

namespace weir::dynamodb {

/// The error of a request that only reads: it has changed nothing, even if its outcome is unknown.
Error error_of_read(aws::DynamoFailure failure);

/// Blocks its caller. Not for the client's thread.
class BlockingCalls {
 public:
  explicit BlockingCalls(Context& context) : context_(context) {}

  /// Fails on the client's thread, where waiting would never end.
  Result<void> check_may_wait() const;
  aws::Asked ask(Request request, bool repeatable);
  /// Items by their keys; those that do not exist are left out.
  Result<std::map<Key, Item>> get(std::span<const Key> keys);
  /// Visits every item of a Query, page by page, until `visit` returns false.
  Result<void> for_each(QueryOf query, const std::function<bool(const Item& item)>& visit);
  /// Puts and deletes, without conditions, in batches.
  Result<void> write_all(std::span<const ItemWrite> writes);

 private:
  Context& context_;
};

}  // namespace weir::dynamodb
