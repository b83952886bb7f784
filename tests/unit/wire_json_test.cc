#include <gtest/gtest.h>

#include "wire/json_reader.h"

namespace weir::wire::json {
namespace {

/// The document as it was read, with every text in brackets; "wrong" where it is none.
std::string retell(Reader& reader) {
  std::string text;
  std::string_view number;
  bool flag = false;
  switch (reader.peek()) {
    case Reader::Kind::object: {
      std::string all = "{";
      for (reader.object(); reader.member(text);) {
        all += "[" + text + "]:";
        all += retell(reader) + ",";
      }
      return all + "}";
    }
    case Reader::Kind::array: {
      std::string all = "(";
      for (reader.array(); reader.element();) all += retell(reader) + ",";
      return all + ")";
    }
    case Reader::Kind::string:
      reader.string(text);
      return "[" + text + "]";
    case Reader::Kind::number:
      reader.number(number);
      return std::string(number);
    case Reader::Kind::boolean:
      reader.boolean(flag);
      return flag ? "yes" : "no";
    case Reader::Kind::null:
      reader.null();
      return "nothing";
    default:
      reader.skip();
      return "wrong";
  }
}

std::string retold(std::string_view text) {
  Reader reader(text);
  const std::string all = retell(reader);
  Reader skipping(text);
  skipping.skip();
  const bool well = reader.end();
  EXPECT_EQ(skipping.end(), well) << text;
  return well ? all : "wrong";
}

TEST(JsonReader, ReadsEveryKindOfValue) {
  EXPECT_EQ(retold(R"( {"a":1,"b":[true,false,null,-0.5e+3],"c":{}, "d":[ ] ,"e":"x"} )"),
            "{[a]:1,[b]:(yes,no,nothing,-0.5e+3,),[c]:{},[d]:(),[e]:[x],}");
  EXPECT_EQ(retold("0"), "0");
  EXPECT_EQ(retold("[[],[[]],{\"\":[]}]"), "((),((),),{[]:(),},)");
}

TEST(JsonReader, ReadsEscapes) {
  EXPECT_EQ(retold(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00")"),
            "[\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80]");
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  for (const char* bad : {"",
                          " ",
                          "{",
                          "}",
                          "[",
                          "]",
                          "[1",
                          "[1,]",
                          "[,1]",
                          "{\"a\"}",
                          "{\"a\":}",
                          "{\"a\":1,}",
                          "{a:1}",
                          "{\"a\" 1}",
                          "1 2",
                          "[1 2]",
                          "01",
                          "1.",
                          ".5",
                          "-",
                          "1e",
                          "+1",
                          "tru",
                          "nul",
                          "True",
                          "\"",
                          "\"\\x\"",
                          "\"\\u12\"",
                          "\"\\ud83d\"",
                          "\"\\ude00\"",
                          "\"\\ud83dx\"",
                          "\"a\nb\"",
                          "\"\xff\"",
                          "'a'",
                          "{\"a\":1}}",
                          "[1]]",
                          "{1:2}"})
    EXPECT_EQ(retold(bad), "wrong") << bad;
}

TEST(JsonReader, GivesAValueAsItIsWritten) {
  Reader reader(R"({"a": {"b" : [1,2] } , "c":"d"})");
  std::string name;
  std::string_view raw;
  reader.object();
  ASSERT_TRUE(reader.member(name) && reader.raw(raw));
  EXPECT_EQ(raw, R"({"b" : [1,2] })");
  ASSERT_TRUE(reader.member(name) && reader.raw(raw));
  EXPECT_EQ(raw, "\"d\"");
  EXPECT_FALSE(reader.member(name));
  EXPECT_TRUE(reader.end());
  EXPECT_FALSE(Reader("[1").raw(raw));
}

TEST(JsonReader, GoesOnlySoDeep) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NE(retold(nested(Reader::deepest)), "wrong");
  EXPECT_EQ(retold(nested(Reader::deepest + 1)), "wrong");
  EXPECT_EQ(retold(std::string(1'000'000, '[')), "wrong");
}

}  // namespace
}  // namespace weir::wire::json
