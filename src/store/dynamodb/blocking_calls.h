// Requests that somebody waits for: listings, changes of the catalog, what is set up once.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "store/dynamodb/context.h"
#include "store/dynamodb/request.h"

namespace weir::dynamodb {

/// Of a request that only reads: nothing was changed, whatever became of it.
Error error_of_read(aws::DynamoFailure failure);

/// Blocks its caller, who must not be the client's thread.
class BlockingCalls {
 public:
  explicit BlockingCalls(Context& context) : context_(context) {}

  /// Fails where waiting would never end.
  Result<void> check_may_wait() const;
  aws::Asked ask(Request request, bool repeatable);
  /// Items by their keys; those that do not exist are left out.
  Result<std::map<Key, Item>> get(std::span<const Key> keys);
  /// Every item of a Query, page by page, until `visit` returns false.
  Result<void> for_each(QueryOf query, const std::function<bool(const Item& item)>& visit);
  /// Puts and deletes, without conditions, in batches.
  Result<void> write_all(std::span<const ItemWrite> writes);

 private:
  Context& context_;
};

}  // namespace weir::dynamodb
