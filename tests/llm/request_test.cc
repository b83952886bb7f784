// The bodies of requests to models.
#include "llm/request.h"

#include <gtest/gtest.h>

#include "wire/json_reader.h"

namespace weir::llm {
namespace {

CallRequest read(Api api, std::string_view body, bool whole = true) {
  CallRequest request;
  const auto unreadable = read_request({.vendor = Vendor::openai, .api = api}, body, whole, request);
  EXPECT_FALSE(unreadable) << unreadable->why << ": " << body;
  return request;
}

TEST(LlmRequest, HasModelAndBound) {
  const CallRequest chat = read(
      Api::chat,
      R"({"messages":[{"content":"\"model\":\"x\""}],"model":"gpt-4o","max_tokens":7,"n":3,"stream":true})");
  EXPECT_EQ(chat.model, "gpt-4o");
  EXPECT_EQ(chat.max_output, 21);
  EXPECT_TRUE(chat.streams);
  EXPECT_FALSE(chat.asks_for_usage);
  EXPECT_EQ(read(Api::chat, R"({"model":"m","max_completion_tokens":9})").max_output, 9);
  EXPECT_EQ(read(Api::responses, R"({"model":"m","max_output_tokens":11})").max_output, 11);
  EXPECT_EQ(read(Api::messages, R"({"model":"m","max_tokens":12})").max_output, 12);
  EXPECT_FALSE(read(Api::messages, R"({"model":"m"})").max_output);
  EXPECT_FALSE(read(Api::messages, R"({"model":"m","max_tokens":-1})").max_output);
  EXPECT_FALSE(read(Api::messages, R"({"model":"m","max_tokens":null})").max_output);
  EXPECT_EQ(read(Api::gemini, R"({"generationConfig":{"maxOutputTokens":5,"candidateCount":2}})").max_output,
            10);
}

TEST(LlmRequest, IsReadAsFarAsItGoes) {
  EXPECT_EQ(read(Api::chat, R"({"model":"gpt-4o","messages":[{"content":"cut)", false).model, "gpt-4o");
  EXPECT_EQ(read(Api::chat, R"({"messages":[],"model":"gpt-)", false).model, "");
}

TEST(LlmRequest, IsRefusedWhereProgramsReadItDifferently) {
  CallRequest request;
  for (const std::string_view body :
       {R"({"model":"a","model":"b"})", R"({"max_tokens":1,"model":"m","max_tokens":2})",
        R"({"mod\u0065l":"a","model":"b"})", R"([])", R"()", R"({"model":"a"} x)", R"({"model":"a")",
        "{\"model\":\"\x01\"}"}) {
    EXPECT_TRUE(read_request({.vendor = Vendor::openai, .api = Api::chat}, body, true, request)) << body;
  }
}

TEST(LlmRequest, IsRefusedWhereProgramsThatIgnoreCaseReadItDifferently) {
  const auto is_refused = [](Api api, std::string_view body) {
    CallRequest request;
    return read_request({.vendor = Vendor::openai, .api = api}, body, true, request).has_value();
  };
  for (const std::string_view body :
       {R"({"model":"cheap","Model":"expensive"})", R"({"MODEL":"m"})", R"({"model":"m","max_Tokens":9})",
        R"({"model":"m","N":9})", R"({"model":"m","max_to\u212Aens":9})",
        R"({"model":"m","\u017Ftream":true})",
        "{\"model\":\"m\",\"max_to\xE2\x84\xAA"
        "ens\":9}",
        R"({"model":"m","stream_options":{"Include_Usage":false}})"})
    EXPECT_TRUE(is_refused(Api::chat, body)) << body;
  EXPECT_TRUE(is_refused(Api::gemini, R"({"GenerationConfig":{}})"));
  EXPECT_TRUE(is_refused(Api::gemini, R"({"generationConfig":{"maxoutputtokens":9}})"));
  EXPECT_FALSE(is_refused(Api::gemini, R"({"Model":"m"})")) << "Gemini's model is in the path";
  EXPECT_FALSE(is_refused(Api::chat, R"({"model":"m","tools":[{"Model":"m"}],"models":[],"MaxTokens":1})"));
}

TEST(LlmRequest, DoesNotTakeTheBeginOfANumberForTheWhole) {
  EXPECT_FALSE(read(Api::chat, R"({"model":"m","max_tokens":1)", false).max_output);
  EXPECT_EQ(read(Api::chat, R"({"model":"m","max_tokens":1 )", false).max_output, 1);
}

TEST(LlmRequest, IsRefusedWhereItsUsageWouldNotBeSeen) {
  const auto is_refused = [&](Api api, std::string_view body, bool whole = true) {
    CallRequest request;
    return read_request({.vendor = Vendor::openai, .api = api}, body, whole, request).has_value();
  };
  for (const std::string_view stream : {"1", "0", R"("true")", "[]", "{}"}) {
    const std::string body = R"({"model":"m","stream":)" + std::string(stream) + "}";
    EXPECT_TRUE(is_refused(Api::chat, body)) << body << ": lax programs may read it as true";
    EXPECT_TRUE(is_refused(Api::messages, body)) << body;
  }
  EXPECT_FALSE(is_refused(Api::chat, R"({"model":"m","stream":null})"));
  for (const std::string_view background : {"true", "1", R"("yes")"}) {
    const std::string body = R"({"model":"m","background":)" + std::string(background) + "}";
    EXPECT_TRUE(is_refused(Api::responses, body)) << body;
    EXPECT_FALSE(is_refused(Api::chat, body)) << "it has no such member";
  }
  EXPECT_FALSE(is_refused(Api::responses, R"({"model":"m","background":false})"));
  EXPECT_FALSE(is_refused(Api::responses, R"({"model":"m","background":null})"));
  for (const std::string_view cut : {R"({"model":"m","background":)", R"({"model":"m","background": t)"})
    EXPECT_TRUE(is_refused(Api::responses, cut, false)) << cut << ": the rest may be true";
}

TEST(LlmRequest, AsksForUsageWhereTheClientDidNot) {
  for (const std::string_view body :
       {R"({"model":"m","stream":true})", R"({"stream":true,"stream_options":{}})",
        R"( { "stream" : true , "stream_options" : { } } )",
        R"({"stream":true,"stream_options":{"include_usage":false,"x":{"a":[1]}},"model":"m"})",
        R"({"stream":true,"stream_options":null})",
        R"({"stream_options" : {"include_obfuscation":false} ,"stream":true})"}) {
    std::string changed(body);
    CallRequest request = read(Api::chat, body);
    ASSERT_FALSE(request.asks_for_usage);
    ask_for_usage(changed, request);
    request = read(Api::chat, changed);
    EXPECT_TRUE(request.asks_for_usage) << changed;
    EXPECT_TRUE(request.streams);
  }
}

}  // namespace
}  // namespace weir::llm
