#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/attribute_value.h"

namespace weir::wire::aws {
namespace {

std::string written(const Item& item) {
  std::string text;
  append_json(text, item);
  return text;
}

std::optional<Item> read_back(std::string_view text) {
  json::Reader reader(text);
  Item item;
  if (!read(reader, item) || !reader.end()) return std::nullopt;
  return item;
}

Value value_from(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 8 : 5);
  switch (kind) {
    case 0:
      return Value::of(std::string_view(*rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127))));
    case 1:
      return Value::of(*rc::gen::arbitrary<std::int64_t>());
    case 2:
      return Value::of_bytes(*rc::gen::arbitrary<std::string>());
    case 3:
      return Value::of_flag(*rc::gen::arbitrary<bool>());
    case 4:
      return {};
    case 5: {
      std::vector<Value> list;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) list.push_back(value_from(depth - 1));
      return Value::of_list(std::move(list));
    }
    case 6: {
      Item members;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
        members.push_back({"m" + std::to_string(i), value_from(depth - 1)});
      return Value::of_map(std::move(members));
    }
    default: {
      Value set{.type = Value::Type::number_set};
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) set.list.push_back(Value::of(std::int64_t{i}));
      return set;
    }
  }
}

RC_GTEST_PROP(AttributeValue, ComesBackAsItWasWritten, ()) {
  Item item;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) item.push_back({"a" + std::to_string(i), value_from(3)});
  const auto back = read_back(written(item));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == item);
}

TEST(AttributeValue, IsWrittenAsDynamoDBHasIt) {
  EXPECT_EQ(written({{"rf", Value::of(std::int64_t{1706000000})},
                     {"resource", Value::of("gpt-4")},
                     {"raw", Value::of_bytes("\x01\x02")},
                     {"on", Value::of_flag(true)},
                     {"none", {}},
                     {"list", Value::of_list({Value::of("a\"b")})},
                     {"map", Value::of_map({{"k", Value::of(std::int64_t{-1})}})}}),
            R"({"rf":{"N":"1706000000"},"resource":{"S":"gpt-4"},"raw":{"B":"AQI="},"on":{"BOOL":true},)"
            R"("none":{"NULL":true},"list":{"L":[{"S":"a\"b"}]},"map":{"M":{"k":{"N":"-1"}}}})");
}

TEST(AttributeValue, IsRefusedWhereItIsNone) {
  for (const char* bad :
       {"{}x", "[]", R"({"a":1})", R"({"a":{}})", R"({"a":{"X":"1"}})", R"({"a":{"S":1}})",
        R"({"a":{"N":1}})", R"({"a":{"N":"one"}})", R"({"a":{"N":""}})", R"({"a":{"N":" 1"}})",
        R"({"a":{"N":"1 "}})", R"({"a":{"S":"x","N":"1"}})", R"({"a":{"B":"A"}})", R"({"a":{"NULL":false}})",
        R"({"a":{"SS":[1]}})", R"({"a":{"NS":["x"]}})", R"({"a":{"M":[]}})", R"({"a":{"L":{}}})",
        R"({"a":{"BOOL":"true"}})"})
    EXPECT_FALSE(read_back(bad).has_value()) << bad;
}

TEST(AttributeValue, GoesOnlySoDeep) {
  const auto nested = [](unsigned depth) {
    std::string text = R"({"a":)";
    for (unsigned i = 0; i < depth; ++i) text += R"({"L":[)";
    text += R"({"S":"x"})";
    for (unsigned i = 0; i < depth; ++i) text += "]}";
    return text + "}";
  };
  EXPECT_TRUE(read_back(nested(20)).has_value());
  EXPECT_FALSE(read_back(nested(40)).has_value());
  EXPECT_FALSE(read_back(nested(100'000)).has_value());
}

TEST(AttributeValue, TellsNumbersFromTexts) {
  EXPECT_EQ(Value::of(std::int64_t{-5}).integer(), -5);
  EXPECT_EQ(Value::of("5").integer(), std::nullopt);
  EXPECT_EQ((Value{.type = Value::Type::number, .text = "1.5"}).integer(), std::nullopt);
  EXPECT_EQ((Value{.type = Value::Type::number, .text = "9223372036854775808"}).integer(), std::nullopt);
  EXPECT_EQ((Value{.type = Value::Type::number, .text = "18446744073709551615"}).natural(),
            std::numeric_limits<std::uint64_t>::max());
}

TEST(AttributeValue, IsCountedAsDynamoDBCounts) {
  // Names and texts by their bytes; a number about a byte for two digits, and one more.
  EXPECT_EQ(size_of({{"id", Value::of("abc")}}), 5U);
  EXPECT_EQ(size_of({{"n", Value::of(std::int64_t{1234})}}), 1U + 3U);
  EXPECT_EQ(size_of({{"n", Value::of(std::int64_t{-12345})}}), 1U + 5U);
  EXPECT_EQ(size_of({{"n", Value::of(std::int64_t{100000})}}), 1U + 2U);
  EXPECT_EQ(size_of({{"f", Value::of_flag(false)}}), 2U);
  EXPECT_EQ(size_of({{"l", Value::of_list({Value::of("ab")})}}), 1U + 3U + 1U + 2U);
}

}  // namespace
}  // namespace weir::wire::aws
