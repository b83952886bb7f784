#include "store/dynamodb/blocking_calls.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "store/dynamodb/start_up.h"

namespace weir::dynamodb {
namespace {

constexpr std::size_t most_gets = 100;
constexpr std::size_t most_writes = 25;

}  // namespace

Error error_of_read(aws::DynamoFailure failure) {
  if (failure.kind == aws::DynamoFailure::Kind::unknown) failure.kind = aws::DynamoFailure::Kind::unavailable;
  return aws::error_of(failure);
}

Result<void> BlockingCalls::check_may_wait() const {
  if (!context_.client.is_here()) return {};
  return base::error(ErrorCode::unavailable,
                     "a completion of the store must not wait for the store; ask from another thread");
}

aws::Asked BlockingCalls::ask(Request request, bool repeatable) {
  if (auto closed = context_.why_closed()) return {.failure = std::move(closed)};
  auto asked = context_.client.ask(
      std::move(request.operation), std::move(request.json), repeatable,
      std::max<std::chrono::milliseconds>(context_.client.options().deadline, std::chrono::seconds(10)));
  context_.counts.spend(Purpose::catalog, asked.spent);
  return asked;
}

Result<std::map<Key, Item>> BlockingCalls::get(std::span<const Key> keys) {
  if (auto may = check_may_wait(); !may) return may.error();
  std::map<Key, Item> found;
  const std::set<Key> unique(keys.begin(), keys.end());
  std::vector<Key> left(unique.begin(), unique.end());
  while (!left.empty()) {
    const std::size_t count = std::min(left.size(), most_gets);
    auto asked = ask(batch_get(context_.table, std::span(left).last(count)), true);
    if (!asked.ok()) return error_of_read(*asked.failure);
    left.resize(left.size() - count);
    for (Item& item : asked.answer.items) {
      Key key = key_of(item);
      found.emplace(std::move(key), std::move(item));
    }
    for (const Item& key : asked.answer.unprocessed) left.push_back(key_of(key));
  }
  return found;
}

Result<void> BlockingCalls::for_each(QueryOf query_of_it,
                                     const std::function<bool(const Item& item)>& visit) {
  if (auto may = check_may_wait(); !may) return may.error();
  for (;;) {
    auto asked = ask(query(context_.table, query_of_it), true);
    if (!asked.ok()) return error_of_read(*asked.failure);
    for (const Item& item : asked.answer.items) {
      if (key_of(item).sk != query_of_it.after && !visit(item)) return {};
    }
    if (asked.answer.last_key.empty()) return {};
    query_of_it.after = key_of(asked.answer.last_key).sk;
  }
}

Result<void> BlockingCalls::write_all(std::span<const ItemWrite> writes) {
  if (auto may = check_may_wait(); !may) return may.error();
  while (!writes.empty()) {
    const std::size_t count = std::min(writes.size(), most_writes);
    // Repeatable: the same puts and deletes again change nothing more.
    auto asked = ask(batch_write(context_.table, writes.first(count)), true);
    if (!asked.ok()) return aws::error_of(*asked.failure);
    if (!asked.answer.unprocessed_writes) writes = writes.subspan(count);
  }
  return {};
}

}  // namespace weir::dynamodb
