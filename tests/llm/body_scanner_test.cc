// The bodies of requests that pass in pieces.
#include "llm/body_scanner.h"

#include <gtest/gtest.h>

#include "llm/request.h"

namespace weir::llm {
namespace {

/// Why the body is refused that comes in two pieces and then byte by byte; empty: it is not.
std::string why(Api api, std::string_view body, std::size_t border) {
  BodyScanner scanner;
  scanner.start(api);
  scanner.feed(body.substr(0, border));
  for (const char c : body.substr(border)) scanner.feed({&c, 1});
  const auto problem = scanner.end();
  return problem ? std::string(problem->why) : "";
}

TEST(BodyScanner, PassesWhatIsReadAsAWhole) {
  for (
      const std::string_view body :
      {R"({})", R"( { "model" : "m" , "messages" : [ { "model" : "x", "a" : [ ] } , { } ] } )",
       R"({"model":"m","n":1,"x":-1.5e+7,"y":[0,1.5,true,false,null,"\\\"\u00e9\ud83d\ude00"],"stream":true})",
       R"({"model":"model","max_tokens":1,"max_completion_tokens":2,"":{"":{"":[[[[]]]]}}})"}) {
    CallRequest request;
    ASSERT_FALSE(read_request({.api = Api::chat}, body, true, request)) << body;
    for (std::size_t i = 0; i <= body.size(); ++i) EXPECT_EQ(why(Api::chat, body, i), "") << body;
  }
}

TEST(BodyScanner, SeesSecondMembersAtEveryBorder) {
  for (const std::string_view body :
       {R"({"model":"a","x":{"y":[1,2,{"z":"}"}]},"model":"b"})", R"({"model":"a","mod\u0065l":"b"})",
        R"({"max_tokens":1,"x":"\\","max_tokens":2})", R"({"model":"a","Model":"b"})",
        R"({"x":[],"sTream":true})"}) {
    for (std::size_t i = 0; i <= body.size(); ++i)
      EXPECT_TRUE(why(Api::chat, body, i).starts_with("the body has a member")) << body;
  }
  EXPECT_EQ(why(Api::messages, R"({"n":1,"n":2})", 0), "");
  EXPECT_NE(why(Api::gemini, R"({"generationConfig":{},"generation_config":{}})", 0), "");
}

TEST(BodyScanner, SeesEveryMistakeInJson) {
  const std::string deep(maxima::json_depth + 1, '[');
  for (const std::string& body : {std::string(""),
                                  std::string("[]"),
                                  std::string("{"),
                                  std::string(R"({"a")"),
                                  std::string(R"({"a":1)"),
                                  std::string(R"({"a":1}})"),
                                  std::string(R"({"a":1} {})"),
                                  std::string(R"({"a":1,})"),
                                  std::string(R"({a:1})"),
                                  std::string(R"({'a':1})"),
                                  std::string(R"({"a":NaN})"),
                                  std::string(R"({"a":01})"),
                                  std::string(R"({"a":1 2})"),
                                  std::string(R"({"a":truefalse})"),
                                  std::string(R"({"a":[1,]})"),
                                  std::string(R"({"a":[1})"),
                                  std::string(R"({"a":{"b"}})"),
                                  std::string(R"({"a"::1})"),
                                  std::string(R"({"a":1/**/})"),
                                  std::string(R"({"a":"\x"})"),
                                  std::string(R"({"a":"\u00g0"})"),
                                  std::string("{\"a\":\"\n\"}"),
                                  std::string(R"({,"a":1})"),
                                  std::string(R"({"a":-})"),
                                  std::string(R"({"\ud800":1})"),
                                  "{\"a\":" + deep,
                                  "{\"a\":1" + std::string(1000, '0') + "x}"}) {
    CallRequest request;
    EXPECT_TRUE(read_request({.api = Api::chat}, body, true, request)) << body;
    for (std::size_t i = 0; i <= body.size(); ++i) EXPECT_NE(why(Api::chat, body, i), "") << body;
  }
  EXPECT_EQ(why(Api::chat, "{\"a\":1" + std::string(1000, '0') + "}", 0), "");
}

TEST(BodyScanner, TakesTheDepthThatARequestMayHave) {
  const std::size_t levels = maxima::json_depth - 1;
  const std::string body = "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
  CallRequest request;
  EXPECT_FALSE(read_request({.api = Api::chat}, body, true, request));
  EXPECT_EQ(why(Api::chat, body, 3), "");
}

}  // namespace
}  // namespace weir::llm
