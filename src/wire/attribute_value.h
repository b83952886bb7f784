// Attribute values of DynamoDB and the items made of them, as the JSON of its API has them:
// {"rf":{"N":"1706000000"},"resource":{"S":"gpt-4"}}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/maxima.h"
#include "wire/json_reader.h"

namespace weir::wire::aws {

struct Attribute;

/// One value. The type selects which field is used.
struct Value {
  enum class Type : unsigned char {
    string,   ///< S: text
    number,   ///< N: text, as written
    binary,   ///< B: text, the bytes themselves
    boolean,  ///< BOOL: flag
    null,     ///< NULL
    list,     ///< L
    map,      ///< M: members
    string_set,
    number_set,
    binary_set,  ///< SS, NS, BS: list, of strings, numbers or binaries
  };
  Type type = Type::null;
  bool flag = false;
  std::string text = {};
  std::vector<Value> list;
  std::vector<Attribute> members;

  static Value of(std::string_view text);
  static Value of(std::int64_t number);
  static Value of_unsigned(std::uint64_t number);
  static Value of_flag(bool flag);
  static Value of_list(std::vector<Value> list);
  static Value of_map(std::vector<Attribute> members);
  static Value of_bytes(std::string_view bytes);

  /// The value as an integer; nothing if it is not a number, not whole, or out of range.
  std::optional<std::int64_t> integer() const;
  std::optional<std::uint64_t> natural() const;
  bool is(Type wanted) const { return type == wanted; }
  /// A member of a map; null where there is none.
  const Value* find(std::string_view name) const;
};

struct Attribute {
  std::string name;
  Value value;
};

bool operator==(const Value& a, const Value& b);
bool operator==(const Attribute& a, const Attribute& b);

/// An item: its attributes in no particular order, each name once.
using Item = std::vector<Attribute>;

/// The value of an attribute; null where there is none.
const Value* find(const Item& item, std::string_view name);
/// Its number or text; nothing or empty where it is missing or of another type.
std::optional<std::int64_t> integer_of(const Item& item, std::string_view name);
std::string_view text_of(const Item& item, std::string_view name);

/// Deeper values are neither read nor made; the same limit as DynamoDB's.
inline constexpr unsigned deepest_value = maxima::attribute_depth;

/// Appends `{"S":"..."}`.
void append_json(std::string& out, const Value& value);
/// Appends `{"name":{"S":"..."},...}`.
void append_json(std::string& out, const Item& item);

/// Reads what append_json() writes. False, with the reader failed, on anything else.
bool read(json::Reader& reader, Value& value, unsigned depth = 0);
bool read(json::Reader& reader, Item& item, unsigned depth = 0);

/// The size of an item by the rules of DynamoDB, in bytes: names and values, numbers at about a byte for two
/// digits.
std::size_t size_of(const Item& item);
std::size_t size_of(const Value& value);

}  // namespace weir::wire::aws
