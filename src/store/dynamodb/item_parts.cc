#include "store/dynamodb/item_parts.h"

#include "base/text.h"
#include "store/dynamodb/items.h"

namespace weir::dynamodb {

Error damaged(const Item& item, std::string_view what) {
  const Key key = key_of(item);
  return base::error(ErrorCode::unavailable, "the item ", base::quoted(key.pk), " ", base::quoted(key.sk),
                     " has ", what, "; something else than weir wrote it: repair or delete it");
}

Result<void> check_format(const Item& item) {
  if (wire::aws::integer_of(item, "fv").value_or(1) <= item_format) return {};
  const Key key = key_of(item);
  return base::error(ErrorCode::unavailable, "the item ", base::quoted(key.pk), " ", base::quoted(key.sk),
                     " was written by a newer weir; use that one");
}

Value names_value(const std::vector<std::string>& names) {
  std::vector<Value> list;
  for (const std::string& name : names) list.push_back(Value::of(name));
  return Value::of_list(std::move(list));
}

std::vector<std::string> names_in(const Value* value) {
  std::vector<std::string> names;
  if (value == nullptr) return names;
  for (const Value& one : value->list) names.push_back(one.text);
  return names;
}

}  // namespace weir::dynamodb
