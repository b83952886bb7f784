#include "wire/attribute_value.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"

namespace weir::wire::aws {
namespace {

using Type = Value::Type;

struct TypeName {
  Type type;
  std::string_view name;
};
constexpr std::array<TypeName, 10> type_names = {{{Type::string, "S"},
                                                  {Type::number, "N"},
                                                  {Type::binary, "B"},
                                                  {Type::boolean, "BOOL"},
                                                  {Type::null, "NULL"},
                                                  {Type::list, "L"},
                                                  {Type::map, "M"},
                                                  {Type::string_set, "SS"},
                                                  {Type::number_set, "NS"},
                                                  {Type::binary_set, "BS"}}};

std::string_view name_of(Type type) {
  for (const TypeName& named : type_names) {
    if (named.type == type) return named.name;
  }
  return {};
}

bool is_set(Type type) {
  return type == Type::string_set || type == Type::number_set || type == Type::binary_set;
}

Type element_of(Type set) {
  if (set == Type::string_set) return Type::string;
  return set == Type::number_set ? Type::number : Type::binary;
}

void append_text(std::string& out, const Value& value) {
  base::append_json_string(out, value.is(Type::binary) ? base::to_base64(value.text) : value.text);
}

/// "123", "-1.50", "1E+3": the numbers of DynamoDB.
bool is_number(std::string_view text) {
  json::Reader reader(text);
  std::string_view number;
  return !text.empty() && text.size() <= 64 && text.front() > ' ' && reader.number(number) && reader.end() &&
         number.size() == text.size();
}

bool read_text(json::Reader& reader, Value& value) {
  if (!reader.string(value.text)) return false;
  if (value.is(Type::number)) return is_number(value.text);
  if (!value.is(Type::binary)) return true;
  auto bytes = base::from_base64(value.text);
  if (!bytes) return false;
  value.text = *std::move(bytes);
  return true;
}

bool read_list(json::Reader& reader, Value& value, unsigned depth) {
  for (reader.array(); reader.element();) {
    Value& element = value.list.emplace_back();
    if (!is_set(value.type)) {
      if (!read(reader, element, depth + 1)) return false;
      continue;
    }
    element.type = element_of(value.type);
    if (!read_text(reader, element)) return false;
  }
  return !reader.failed();
}

bool read_body(json::Reader& reader, Value& value, unsigned depth) {
  switch (value.type) {
    case Type::string:
    case Type::number:
    case Type::binary:
      return read_text(reader, value);
    case Type::boolean:
      return reader.boolean(value.flag);
    case Type::null: {
      bool is_null = false;
      return reader.boolean(is_null) && is_null;
    }
    case Type::map:
      return read(reader, value.members, depth + 1);
    default:
      return read_list(reader, value, depth);
  }
}

/// Significant digits at two for a byte, one more for the rest, one for the sign.
std::size_t size_of_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string digits;
  for (const char c : text.substr(0, text.find_first_of("eE"))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return (digits.size() + 1) / 2 + 1 + (negative ? 1 : 0);
}

}  // namespace

Value Value::of(std::string_view text) { return {.type = Type::string, .text = std::string(text)}; }
Value Value::of(std::int64_t number) { return {.type = Type::number, .text = std::to_string(number)}; }
Value Value::of_unsigned(std::uint64_t number) {
  return {.type = Type::number, .text = std::to_string(number)};
}
Value Value::of_flag(bool flag) { return {.type = Type::boolean, .flag = flag}; }
Value Value::of_list(std::vector<Value> list) { return {.type = Type::list, .list = std::move(list)}; }
Value Value::of_map(std::vector<Attribute> members) {
  return {.type = Type::map, .members = std::move(members)};
}
Value Value::of_bytes(std::string_view bytes) { return {.type = Type::binary, .text = std::string(bytes)}; }

namespace {

template <class Number>
std::optional<Number> parse(const Value& value) {
  if (!value.is(Type::number)) return std::nullopt;
  Number number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto parsed = std::from_chars(value.text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> Value::integer() const { return parse<std::int64_t>(*this); }
std::optional<std::uint64_t> Value::natural() const { return parse<std::uint64_t>(*this); }

const Value* Value::find(std::string_view name) const { return aws::find(members, name); }

bool operator==(const Value& a, const Value& b) {
  return a.type == b.type && a.flag == b.flag && a.text == b.text && a.list == b.list &&
         a.members == b.members;
}
bool operator==(const Attribute& a, const Attribute& b) { return a.name == b.name && a.value == b.value; }

const Value* find(const Item& item, std::string_view name) {
  for (const Attribute& attribute : item) {
    if (attribute.name == name) return &attribute.value;
  }
  return nullptr;
}

std::optional<std::int64_t> integer_of(const Item& item, std::string_view name) {
  const Value* const value = find(item, name);
  return value == nullptr ? std::nullopt : value->integer();
}

std::string_view text_of(const Item& item, std::string_view name) {
  const Value* const value = find(item, name);
  return value != nullptr && value->is(Type::string) ? std::string_view(value->text) : std::string_view();
}

void append_json(std::string& out, const Value& value) {
  out += base::join("{\"", name_of(value.type), "\":");
  switch (value.type) {
    case Type::string:
    case Type::number:
    case Type::binary:
      append_text(out, value);
      break;
    case Type::boolean:
      out += value.flag ? "true" : "false";
      break;
    case Type::null:
      out += "true";
      break;
    case Type::map:
      append_json(out, value.members);
      break;
    default:
      out += '[';
      for (std::size_t i = 0; i < value.list.size(); ++i) {
        if (i > 0) out += ',';
        is_set(value.type) ? append_text(out, value.list[i]) : append_json(out, value.list[i]);
      }
      out += ']';
  }
  out += '}';
}

void append_json(std::string& out, const Item& item) {
  out += '{';
  for (std::size_t i = 0; i < item.size(); ++i) {
    if (i > 0) out += ',';
    base::append_json_string(out, item[i].name);
    out += ':';
    append_json(out, item[i].value);
  }
  out += '}';
}

bool read(json::Reader& reader, Value& value, unsigned depth) {
  std::string name;
  if (depth > deepest_value || !reader.object() || !reader.member(name)) return false;
  const auto* const named = std::find_if(type_names.begin(), type_names.end(),
                                         [&](const TypeName& one) { return one.name == name; });
  if (named == type_names.end()) return false;
  value.type = named->type;
  // A value has exactly one type.
  return read_body(reader, value, depth) && !reader.member(name) && !reader.failed();
}

bool read(json::Reader& reader, Item& item, unsigned depth) {
  std::string name;
  for (reader.object(); reader.member(name);) {
    Attribute& attribute = item.emplace_back();
    attribute.name = name;
    if (!read(reader, attribute.value, depth)) return false;
  }
  return !reader.failed();
}

std::size_t size_of(const Value& value) {
  switch (value.type) {
    case Type::string:
    case Type::binary:
      return value.text.size();
    case Type::number:
      return size_of_number(value.text);
    case Type::boolean:
    case Type::null:
      return 1;
    case Type::map: {
      return 3 + value.members.size() + size_of(value.members);
    }
    default: {
      std::size_t size = is_set(value.type) ? 0 : 3 + value.list.size();
      for (const Value& element : value.list) size += size_of(element);
      return size;
    }
  }
}

std::size_t size_of(const Item& item) {
  std::size_t size = 0;
  for (const Attribute& attribute : item) size += attribute.name.size() + size_of(attribute.value);
  return size;
}

}  // namespace weir::wire::aws
