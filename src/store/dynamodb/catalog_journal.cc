// Changes of the catalog that do not fit into one transaction.
#include <utility>

#include "base/text.h"
#include "store/dynamodb/catalog_change.h"

namespace weir::dynamodb {

using base::join;

namespace {

/// The largest part of a journal, and the largest transaction, in bytes as DynamoDB counts them.
constexpr std::size_t largest_part = std::size_t{200} * 1024;
constexpr std::size_t largest_transaction = std::size_t{2} * 1024 * 1024;

Value operation_value(const ItemWrite& write) {
  if (write.kind == ItemWrite::Kind::put) return Value::of_map({{"put", Value::of_map(write.item)}});
  return Value::of_map({{"del", Value::of_map(write.key.item())}});
}

}  // namespace

Result<bool> CatalogChange::send_by_journal(const table::Draft& draft, std::size_t events,
                                            const std::vector<ItemWrite>& writes) {
  const std::string id = std::to_string(context_.entropy.next());
  std::vector<ItemWrite> parts;
  std::vector<Value> operations;
  std::size_t size = 0;
  const auto end_part = [&] {
    if (operations.empty()) return;
    Item item = journal_key(name_space_, id, parts.size()).item();
    item.push_back({"operations", Value::of_list(std::move(operations))});
    // A journal whose process died before any transaction named it expires.
    item.push_back({"ttl", Value::of(to_ttl(base::saturating_add(now_, Time{7} * 24 * 3'600'000)))});
    parts.push_back(put(std::move(item)));
    operations.clear();
    size = 0;
  };
  for (const ItemWrite& write : writes) {
    Value operation = operation_value(write);
    const std::size_t of_it = wire::aws::size_of(operation);
    if (size + of_it > largest_part) end_part();
    size += of_it;
    operations.push_back(std::move(operation));
  }
  end_part();
  for (const ItemWrite& part : parts) {
    if (auto written = calls_.write_all(std::span(&part, 1)); !written) return written.error();
  }
  std::vector<ItemWrite> commit = announced_still();
  commit.push_back(head_write(draft, events, id));
  auto sent = send(commit);
  if (!sent || !*sent) return sent;
  if (auto rolled = roll_forward(id); !rolled) return rolled.error();
  return true;
}

Result<void> CatalogChange::roll_forward(const std::string& id) {
  ItemWrite check{.kind = ItemWrite::Kind::check, .key = head_key(name_space_)};
  const std::string name = check.expression.name("pending");
  check.expression.condition(join(name, "=", check.expression.value(Value::of(id))));
  std::vector<ItemWrite> parts;
  std::vector<ItemWrite> batch;
  std::size_t size = 0;
  bool finished_by_others = false;
  std::optional<Error> failed;
  const auto send_batch = [&] {
    if (batch.empty()) return true;
    batch.push_back(check);
    auto sent = send(std::exchange(batch, {}));
    size = 0;
    if (!sent) return failed = sent.error(), false;
    // No other change runs at the same time, so the condition fails only if the work is done already; a
    // conflict is with a process that does the same work.
    if (!*sent) return finished_by_others = true, false;
    return true;
  };
  auto read = calls_.for_each({.pk = journal_pk(name_space_, id)}, [&](const Item& item) {
    parts.push_back(erase(key_of(item)));
    const Value* const operations = wire::aws::find(item, "operations");
    if (operations == nullptr) return true;
    for (const Value& operation : operations->list) {
      const Value* const put_one = operation.find("put");
      const Value* const erase_one = operation.find("del");
      if (put_one != nullptr) batch.push_back(put(put_one->members));
      if (erase_one != nullptr) batch.push_back(erase(key_of(erase_one->members)));
      size += wire::aws::size_of(operation);
      if ((batch.size() == most_in_transaction - 1 || size > largest_transaction) && !send_batch())
        return false;
    }
    return true;
  });
  if (!read) return read.error();
  if (!failed && !finished_by_others) send_batch();
  if (failed) return *failed;
  if (!finished_by_others) {
    ItemWrite done{.kind = ItemWrite::Kind::update, .key = head_key(name_space_)};
    const std::string pending = done.expression.name("pending");
    done.expression.condition(join(pending, "=", done.expression.value(Value::of(id))));
    done.expression.remove("pending");
    const auto ended = calls_.ask(single_write(context_.table, done), true);
    if (!ended.ok() && ended.failure->kind != aws::DynamoFailure::Kind::condition)
      return aws::error_of(*ended.failure);
    return calls_.write_all(parts);
  }
  // Another process works on the same journal. If the head still names it, the rest has to be done here.
  if (auto head = read_head(); !head) return head;
  return pending_ == id && ++attempts_ < most_attempts ? roll_forward(id) : Result<void>();
}

}  // namespace weir::dynamodb
