// Functions that the readers and writers of several kinds of items share (items.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/dynamodb/names.h"
#include "weir/result.h"

namespace weir::dynamodb {

/// The error for an item that weir did not write.
Error damaged(const Item& item, std::string_view what);
/// Fails on an item of a newer weir.
Result<void> check_format(const Item& item);

inline Value number(std::int64_t value) { return Value::of(value); }
inline void add(Item& item, std::string name, Value value) {
  item.push_back({std::move(name), std::move(value)});
}

Value names_value(const std::vector<std::string>& names);
std::vector<std::string> names_in(const Value* value);

}  // namespace weir::dynamodb
