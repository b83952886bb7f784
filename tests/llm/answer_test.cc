// The usage of answers: every vendor, whole and streamed, in pieces of every size.
#include <gtest/gtest.h>

#include "llm/answer_reader.h"
#include "llm/endpoint.h"
#include "llm/error_body.h"

namespace weir::llm {
namespace {

Observed read_whole(Api api, std::string_view answer, std::size_t piece) {
  Observed observed;
  UsageScanner scanner;
  scanner.start(api);
  for (std::size_t at = 0; at < answer.size(); at += piece) scanner.feed(answer.substr(at, piece), observed);
  return observed;
}

struct Example {
  const char* name;
  Api api;
  const char* answer;
  Usage usage;
};

const Example answers[] = {
    {"chat",
     Api::chat,
     R"({"id":"x","usage_note":{"prompt_tokens":9},"choices":[{"message":{"content":"say \"usage\":{\"prompt_tokens\":7} \\"}}],
       "usage": {"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,
       "prompt_tokens_details":{"cached_tokens":30,"cache_write_tokens":5},"completion_tokens_details":{"reasoning_tokens":20}}})",
     {65, 30, 5, 30, 20}},
    {"responses",
     Api::responses,
     R"({"output":[],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,
       "output_tokens_details":{"reasoning_tokens":3},"total_tokens":17}})",
     {6, 4, 0, 4, 3}},
    {"embeddings",
     Api::embeddings,
     R"({"data":[{"embedding":[0.1,-2]}],"usage":{"prompt_tokens":8,"total_tokens":8}})",
     {8, 0, 0, 0, 0}},
    {"messages",
     Api::messages,
     R"({"content":[{"type":"tool_use","input":{"usage":{"input_tokens":99}}}],"usage":{"input_tokens":10,"output_tokens":5,
       "cache_creation_input_tokens":3,"cache_read_input_tokens":40}})",
     {10, 40, 3, 5, 0}},
    {"gemini",
     Api::gemini,
     R"({"candidates":[],"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":6,"thoughtsTokenCount":4,
       "toolUsePromptTokenCount":2,"cachedContentTokenCount":8,"totalTokenCount":32}})",
     {14, 8, 0, 6, 4}},
    {"gemini as an array",
     Api::gemini,
     R"([{"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":1}},
       {"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":6}}])",
     {20, 0, 0, 6, 0}},
};

TEST(LlmAnswer, HasDisjointFiguresForEveryVendorInPiecesOfEverySize) {
  for (const Example& example : answers) {
    const std::string_view text = example.answer;
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      const Observed observed = read_whole(example.api, text, piece);
      ASSERT_TRUE(observed.any_usage) << example.name << " in pieces of " << piece;
      ASSERT_EQ(observed.usage.disjoint(example.api), example.usage)
          << example.name << " in pieces of " << piece;
    }
  }
}

TEST(LlmAnswer, OfALargeEventIsFoundInPiecesOfEverySize) {
  struct Event {
    Api api;
    std::string_view text;
    Usage usage;
  };
  const Event events[] = {
      {Api::responses,
       "event: response.completed\n"
       R"(data: {"type":"response.completed","usage_":{"output_tokens":9},"response":{"input":"\"usage\":{}",)"
       R"("tools":[{"usage":{"output_tokens":99}}],"response":{"usage":{"output_tokens":98}},)"
       R"("usage":{"input_tokens":4,"output_tokens":2}},"after":{"usage":{"output_tokens":97}}})"
       "\n\n",
       {4, 0, 0, 2, 0}},
      {Api::messages,
       R"(data: {"type":"message_start","message":{"content":[],"usage":{"input_tokens":25,"output_tokens":1}}})"
       "\n\n",
       {25, 0, 0, 1, 0}},
      {Api::gemini,
       R"(data: {"candidates":[{"usageMetadata":{"promptTokenCount":9}}],)"
       R"("usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":6}})"
       "\n\n",
       {4, 0, 0, 6, 0}},
      {Api::chat,
       R"(data: {"choices":[],"response":{"usage":{"prompt_tokens":9}},"usage":{"prompt_tokens":3,"completion_tokens":1}})"
       "\n\n",
       {3, 0, 0, 1, 0}},
  };
  for (const Event& event : events) {
    for (std::size_t piece = 1; piece <= event.text.size(); ++piece) {
      Observed observed;
      UsageScanner scanner;
      scanner.start(event.api, UsageScanner::Text::event);
      for (std::size_t at = 0; at < event.text.size(); at += piece)
        scanner.feed(event.text.substr(at, piece), observed);
      ASSERT_TRUE(observed.any_usage) << event.text;
      ASSERT_EQ(observed.usage.disjoint(event.api), event.usage) << event.text << " in pieces of " << piece;
    }
  }
}

TEST(LlmAnswer, OfAHostileVendorNeverLowersOrLeavesTheRange) {
  Observed observed;
  const auto event = [&](std::string_view data) { read_event(Api::chat, data, observed); };
  event(R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}})");
  event(R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}})");
  event(R"({"choices":[],"usage":{"prompt_tokens":-100,"completion_tokens":-5}})");
  event(R"({"choices":[],"usage":{"prompt_tokens":NaN,"completion_tokens":9}})");
  event(R"({"choices":[],"usage":{"prompt_tokens":1e9,"completion_tokens":"7"}})");
  event(R"({"choices":[],"usage":[1,2]})");
  EXPECT_EQ(observed.usage.disjoint(Api::chat), (Usage{10, 0, 0, 5, 0}));
  event(
      R"({"choices":[],"usage":{"prompt_tokens_details":{"cached_tokens":1000},"completion_tokens_details":{"reasoning_tokens":1000}}})");
  EXPECT_EQ(observed.usage.disjoint(Api::chat), (Usage{0, 10, 0, 0, 5}));
  event(R"({"choices":[],"usage":{"completion_tokens":99999999999999999999999999}})");
  EXPECT_EQ(observed.usage.disjoint(Api::chat).output + observed.usage.disjoint(Api::chat).reasoning,
            most_tokens);
  event("[DONE]");
  event(R"({"choices":[],"usage":{"prompt_tokens":77}})");
  EXPECT_EQ(observed.usage.disjoint(Api::chat).input + observed.usage.disjoint(Api::chat).cached_input, 10);
}

TEST(LlmStream, CountsOutputBeforeUsageComes) {
  Observed observed;
  read_event(Api::chat, R"({"choices":[{"delta":{"role":"assistant"}}],"usage":null})", observed);
  EXPECT_EQ(observed.counted_output(), 0);
  for (int i = 0; i < 3; ++i) read_event(Api::chat, R"({"choices":[{"delta":{"content":"ab"}}]})", observed);
  EXPECT_EQ(observed.counted_output(), 3) << "an event with text has at least a token";
  read_event(
      Api::chat,
      R"({"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"0123456789012345678901"}}]}}]})",
      observed);
  EXPECT_EQ(observed.counted_output(), 7) << "28 bytes";
  EXPECT_FALSE(observed.any_usage);
}

TEST(LlmStream, ReadsEachVendorsEvents) {
  Observed openai;
  EXPECT_FALSE(
      read_event(Api::chat, R"({"choices":[{"delta":{"content":"a"}}],"usage":null})", openai).only_usage);
  EXPECT_TRUE(
      read_event(Api::chat, R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}})", openai)
          .only_usage);
  EXPECT_EQ(openai.usage.disjoint(Api::chat), (Usage{3, 0, 0, 1, 0}));

  Observed responses;
  read_event(Api::responses, R"({"type":"response.output_text.delta","delta":"hello"})", responses);
  EXPECT_EQ(responses.text_bytes, 5);
  read_event(
      Api::responses,
      R"({"type":"response.completed","response":{"output":[{"content":[{"text":"hello"}]}],"usage":{"input_tokens":4,"output_tokens":2}}})",
      responses);
  EXPECT_EQ(responses.text_bytes, 5) << "the end repeats the output";
  EXPECT_EQ(responses.usage.disjoint(Api::responses), (Usage{4, 0, 0, 2, 0}));

  Observed messages;
  read_event(
      Api::messages,
      R"({"type":"message_start","message":{"content":[],"usage":{"input_tokens":25,"output_tokens":1}}})",
      messages);
  read_event(Api::messages, R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"Hello"}})",
             messages);
  EXPECT_EQ(messages.text_bytes, 5);
  read_event(Api::messages,
             R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}})",
             messages);
  read_event(Api::messages, R"({"type":"message_delta","delta":{},"usage":{"output_tokens":20}})", messages);
  EXPECT_EQ(messages.usage.disjoint(Api::messages), (Usage{25, 0, 0, 20, 0})) << "cumulative, not added";

  Observed gemini;
  read_event(
      Api::gemini,
      R"({"candidates":[{"content":{"parts":[{"text":"Hi"}]}}],"usageMetadata":{"promptTokenCount":4}})",
      gemini);
  read_event(Api::gemini,
             R"({"candidates":[],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":9}})", gemini);
  EXPECT_EQ(gemini.usage.disjoint(Api::gemini), (Usage{4, 0, 0, 9, 0}));
}

TEST(LlmEndpoint, IsToldByThePath) {
  const auto api = [](std::string_view path) { return endpoint_of(std::nullopt, path).api; };
  EXPECT_EQ(api("/v1/chat/completions"), Api::chat);
  EXPECT_EQ(api("/openai/v1/responses/"), Api::responses);
  EXPECT_EQ(api("/v1/embeddings"), Api::embeddings);
  EXPECT_EQ(api("/v1/messages"), Api::messages);
  EXPECT_EQ(api("/v1/models"), Api::other);
  EXPECT_EQ(api("/v1/messages/count_tokens"), Api::other);
  const Endpoint gemini =
      endpoint_of(Vendor::gemini, "/v1beta/models/gemini-2.0-flash:streamGenerateContent");
  EXPECT_EQ(gemini.api, Api::gemini);
  EXPECT_EQ(gemini.model, "gemini-2.0-flash");
  EXPECT_TRUE(gemini.streams);
  for (const std::string_view path :
       {"/v1/Chat/Completions", "/V1/CHAT/COMPLETIONS/", "/hf/models/org/m:fast/v1/chat/completions"})
    EXPECT_EQ(api(path), Api::chat) << path;
  for (const std::string_view path :
       {"/v1beta/models/m:GENERATECONTENT", "/v1beta/tunedModels/m:generateContent",
        "/v1/projects/p/locations/l/publishers/google/models/m:generateContent/"}) {
    EXPECT_EQ(api(path), Api::gemini) << path;
    EXPECT_EQ(endpoint_of(std::nullopt, path).model, "m") << path;
  }
  EXPECT_EQ(api("/v1beta/models/m:countTokens"), Api::other);
}

TEST(LlmEndpoint, OfAMessageInAThreadOfAssistantsIsNoCallToAModel) {
  for (const std::string_view path :
       {"/v1/threads/thread_1/messages", "/openai/v1/Threads/thread_1/Messages/"}) {
    EXPECT_EQ(endpoint_of(std::nullopt, path).api, Api::other) << path;
    EXPECT_EQ(endpoint_of(std::nullopt, path).vendor, Vendor::openai) << path;
    EXPECT_EQ(endpoint_of(Vendor::openai, path).api, Api::other) << path;
  }
  for (const std::string_view path :
       {"/threads/v1/x/messages", "/v1/threads/messages", "/messages", "/v1/mythreads/thread_1/messages"})
    EXPECT_EQ(endpoint_of(std::nullopt, path).api, Api::messages) << path;
}

TEST(LlmEndpoint, OfAzureHasTheModelOfItsDeployment) {
  for (const auto& [path, model] :
       {std::pair<std::string_view, std::string_view>{"/openai/deployments/mine/chat/completions", "mine"},
        {"/OpenAI/Deployments/Mine/Embeddings/", "Mine"},
        {"/openai/deployments/chat/completions", "chat"},
        {"/openai/deployments/chat/chat/completions", "chat"},
        {"/openai/deployments/azure/gpt-4/completions", "azure/gpt-4"},
        {"/openai/deployments/completions", ""},
        {"/openai/deployments//completions", ""},
        {"/v1/deployments/x/chat/completions", ""}}) {
    EXPECT_EQ(endpoint_of(Vendor::openai, path).model, model) << path;
    EXPECT_NE(endpoint_of(Vendor::openai, path).api, Api::other) << path;
  }
}

TEST(LlmEndpoint, OfAnotherVendorsApiIsTheSameBehindEveryVendor) {
  for (const Vendor vendor : {Vendor::openai, Vendor::anthropic, Vendor::gemini}) {
    for (const auto& [path, api] :
         {std::pair<std::string_view, Api>{"/v1beta/openai/chat/completions", Api::chat},
          {"/v1/responses", Api::responses},
          {"/v1/messages", Api::messages},
          {"/v1beta/models/m:generateContent", Api::gemini},
          {"/v1/models/ft:m", Api::other}}) {
      const Endpoint endpoint = endpoint_of(vendor, path);
      EXPECT_EQ(endpoint.api, api) << path;
      EXPECT_EQ(endpoint.vendor, vendor) << path << ": errors keep the words of the vendor";
    }
  }
}

TEST(LlmErrors, HaveTheFormOfTheVendor) {
  EXPECT_EQ(
      error_body(Vendor::openai, {.status = 429, .message = "over \"tpm\""}),
      R"({"error":{"message":"over \"tpm\"","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}})");
  EXPECT_EQ(error_body(Vendor::anthropic, {.status = 404, .message = "m"}),
            R"({"type":"error","error":{"type":"not_found_error","message":"m"}})");
  EXPECT_EQ(
      error_body(Vendor::gemini, {.status = 429, .message = "m", .retry_after_ms = 1'050}),
      R"({"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.050s"}]}})");
}

}  // namespace
}  // namespace weir::llm
