// Calls to language models through the gateway: what is held, what passes, and what is settled, however a
// call ends.
#include <atomic>

#include "gateway/llm_rig.h"

namespace weir::gateway {
namespace {

using tests::eventually;

constexpr std::string_view stream_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(std::string_view data) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", data.size());
  return std::string(size).append(data).append("\r\n");
}
std::string event(std::string_view json) { return chunk("data: " + std::string(json) + "\n\n"); }
std::string word(std::string_view text) {
  return event(R"({"choices":[{"delta":{"content":")" + std::string(text) + R"("}}],"usage":null})");
}
std::string usage(int input, int output) {
  return event(R"({"choices":[],"usage":{"prompt_tokens":)" + std::to_string(input) +
               R"(,"completion_tokens":)" + std::to_string(output) + "}}");
}
std::string done() { return event("[DONE]") + "0\r\n\r\n"; }

TEST(LlmGateway, SettlesAStreamToWhatTheVendorSaysAndTakesOutTheUsageThatNobodyAskedFor) {
  std::string head;
  std::string body;
  Upstream upstream([&](Peer& peer, unsigned) {
    while (read_request(peer, &head, &body)) {
      peer.send(std::string(stream_head) + word("a") + word("b") + usage(11, 2) + done());
    }
  });
  LlmRig rig(upstream.url());
  const auto answer = rig.client().ask(call(chat, R"({"model":"m","stream":true,"messages":[]})",
                                            "x-api-key: k\r\nAccept-Encoding: gzip\r\n"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(has(answer.body, "\"b\"") && has(answer.body, "[DONE]")) << answer.body;
  EXPECT_FALSE(has(answer.body, "prompt_tokens")) << answer.body;
  EXPECT_TRUE(has(body, R"("stream_options":{"include_usage":true})")) << body;
  EXPECT_TRUE(has(head, "Accept-Encoding: identity\r\n") && !has(head, "gzip")) << head;
  EXPECT_TRUE(rig.becomes("tpm", 13));
  EXPECT_EQ(rig.consumed("rpm"), 1);
  const auto asked = rig.client().ask(
      call(chat, R"({"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[]})"));
  EXPECT_TRUE(has(asked.body, "prompt_tokens"));
  EXPECT_TRUE(rig.becomes("tpm", 26));
}

TEST(LlmGateway, SendsEachEventInTheTurnThatReadIt) {
  std::mutex mutex;
  std::condition_variable changed;
  int received = 0;
  Upstream upstream([&](Peer& peer, unsigned) {
    read_request(peer);
    peer.send(stream_head);
    for (int i = 1; i <= 3; ++i) {
      // In two pieces: the first has no whole event.
      const std::string whole = word(std::to_string(i));
      peer.send(whole.substr(0, 20));
      peer.send(whole.substr(20));
      std::unique_lock lock(mutex);
      // The next event is sent only once the client has this one.
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return received == i; }));
    }
    peer.send(usage(1, 3) + done());
    read_request(peer);
  });
  LlmRig rig(upstream.url());
  net::Client client = rig.client();
  client.send(call(chat, R"({"model":"m","stream":true})"));
  std::string stream;
  for (int i = 1; i <= 3; ++i) {
    while (!has(stream, "\"" + std::to_string(i) + "\"")) stream += client.take(1);
    const std::lock_guard lock(mutex);
    received = i;
    changed.notify_one();
  }
  while (!has(stream, "0\r\n\r\n")) stream += client.take(1);
  EXPECT_TRUE(rig.becomes("tpm", 4));
}

/// A vendor that sends three words, and the rest once the client has left.
struct LeavingClient {
  explicit LeavingClient(bool finish) : finishes(finish) {}

  void serve(Peer& peer) {
    read_request(peer);
    peer.send(std::string(stream_head) + word("a") + word("b") + word("c"));
    {
      std::unique_lock lock(mutex);
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return left; }));
    }
    // The gateway sees that the client has left when it writes.
    if (finishes) {
      for (int i = 0; i < 100; ++i) peer.send(word("x"));
      peer.send(usage(7, 103) + done());
      read_request(peer);
    } else {
      while (peer.send(word("x"))) ++sent;
    }
  }
  void leave() {
    const std::lock_guard lock(mutex);
    left = true;
    changed.notify_one();
  }

  const bool finishes;
  std::mutex mutex;
  std::condition_variable changed;
  bool left = false;
  std::atomic<std::int64_t> sent{0};
};

TEST(LlmGateway, ChargesWhatWasSeenOfAStreamWhoseClientLeft) {
  for (const bool finish : {false, true}) {
    LeavingClient leaving(finish);
    {
      Upstream upstream([&](Peer& peer, unsigned) { leaving.serve(peer); });
      LlmRig rig(upstream.url(), std::string("limits: {rpm: 1000/day, tpm: 1000000/day}, on_disconnect: ") +
                                     (finish ? "finish" : "stop"));
      {
        net::Client client = rig.client();
        client.send(call(chat, R"({"model":"m","stream":true,"max_tokens":50})"));
        std::string stream;
        while (!has(stream, "\"c\"")) stream += client.take(1);
        EXPECT_EQ(rig.consumed("tpm"), 11 + 50) << "held: 43 bytes of body, and max_tokens";
      }
      leaving.leave();
      rig.gateway->call_leases().wait();
      if (finish) {
        EXPECT_EQ(rig.consumed("tpm"), 7 + 103);
        continue;
      }
      const std::int64_t seen = rig.consumed("tpm");
      EXPECT_GE(seen, 11 + 3);
      EXPECT_TRUE(eventually([&] { return seen <= 11 + 3 + leaving.sent; }))
          << "no more than the vendor has sent";
    }
  }
}

TEST(LlmGateway, GivesBackWhatTheVendorDidNotDo) {
  for (const std::string_view status :
       {"400 Bad Request", "429 Too Many Requests", "500 Internal Server Error"}) {
    Upstream upstream([&](Peer& peer, unsigned) {
      read_request(peer);
      peer.send("HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 2\r\nretry-after: 9\r\n\r\n{}");
    });
    LlmRig rig(upstream.url());
    const auto answer = rig.client().ask(call(chat, R"({"model":"m"})"));
    EXPECT_TRUE(answer.has(status) && answer.has("retry-after: 9")) << answer.head;
    EXPECT_TRUE(rig.becomes("tpm", 0));
    EXPECT_TRUE(rig.becomes("rpm", 0));
  }
  LlmRig rig("http://127.0.0.1:" + std::to_string(closed_port()));
  const auto answer = rig.client().ask(call(chat, R"({"model":"m"})"));
  EXPECT_EQ(answer.status, 502);
  EXPECT_TRUE(has(answer.body, R"("type":"server_error")")) << answer.body;
  EXPECT_TRUE(rig.becomes("tpm", 0));
}

TEST(LlmGateway, KeepsTheHoldWhereTheVendorMayHaveWorked) {
  Upstream upstream([&](Peer& peer, unsigned) { read_request(peer); });
  LlmRig rig(upstream.url());
  EXPECT_EQ(rig.client().ask(call(chat, R"({"model":"m","max_tokens":50})")).status, 502);
  EXPECT_TRUE(rig.becomes("tpm", 8 + 50)) << rig.consumed("tpm");
  Upstream silent([&](Peer& peer, unsigned) {
    while (read_request(peer)) peer.answer("{}", "Content-Type: application/json\r\n");
  });
  LlmRig untold(silent.url());
  EXPECT_EQ(untold.client().ask(call(chat, R"({"model":"m","max_tokens":50})")).status, 200);
  EXPECT_TRUE(untold.becomes("tpm", 8 + 50)) << "an answer without usage";
}

TEST(LlmGateway, HoldsMoreWhileAnAnswerOutgrowsItsEstimate) {
  std::mutex mutex;
  std::condition_variable changed;
  bool go_on = false;
  Upstream upstream([&](Peer& peer, unsigned) {
    read_request(peer);
    peer.send(stream_head);
    for (int i = 0; i < 30; ++i) peer.send(word("x"));
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return go_on; }));
    peer.send(usage(5, 30) + done());
    read_request(peer);
  });
  LlmRig rig(upstream.url());
  net::Client client = rig.client();
  client.send(call(chat, R"({"model":"m","stream":true,"max_tokens":20})"));
  EXPECT_TRUE(eventually([&] { return rig.consumed("tpm") >= 11 + 30; })) << "while the stream is open";
  EXPECT_LE(rig.consumed("tpm"), 11 + 30 + 10) << "in steps of a quarter";
  {
    const std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_one();
  }
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(rig.becomes("tpm", 35));
}

TEST(LlmGateway, EndsAStreamInTheWordsOfTheVendorWhereNoMoreIsLeft) {
  struct Form {
    std::string_view path;
    std::string_view word;
    std::string_view mark;
  };
  const Form forms[] = {
      {chat, R"({"choices":[{"delta":{"content":"x"}}]})", R"("finish_reason":"length")"},
      {"/v1/messages", R"({"type":"content_block_delta","delta":{"text":"x"}})",
       R"("stop_reason":"max_tokens")"},
      {"/v1/responses", R"({"type":"response.output_text.delta","delta":"x"})",
       R"("reason":"max_output_tokens")"},
      {"/v1beta/models/m:streamGenerateContent", R"({"candidates":[{"content":{"parts":[{"text":"x"}]}}]})",
       R"("finishReason":"MAX_TOKENS")"},
  };
  for (const Form& form : forms) {
    Upstream upstream([&](Peer& peer, unsigned) {
      read_request(peer);
      peer.send(stream_head);
      while (peer.send(event(form.word))) {
      }
    });
    LlmRig rig(upstream.url(), "limits: {tpm: 100/day}, on_exhausted: end");
    const auto answer = rig.client().ask(call(form.path, R"({"model":"m","stream":true})"));
    EXPECT_TRUE(answer.whole);
    EXPECT_TRUE(has(answer.body, form.mark))
        << answer.body.substr(answer.body.size() - std::min<std::size_t>(answer.body.size(), 300));
    EXPECT_TRUE(answer.body.ends_with("\n\n"));
    rig.gateway->call_leases().wait();
    std::int64_t words = 0;
    for (std::size_t at = 0; (at = answer.body.find(form.word, at)) != std::string::npos; ++at) ++words;
    EXPECT_EQ(rig.consumed("tpm"), words + 7) << "what was sent is charged, into debt if need be";
    EXPECT_EQ(rig.client().ask(call(form.path, R"({"model":"m","stream":true})")).status, 429);
  }
}

TEST(LlmGateway, RefusesInTheWordsOfTheVendor) {
  Upstream upstream(mirror);
  LlmRig rig(upstream.url(), "limits: {tpm: {capacity: 100, refill_amount: 100, refill_period_ms: 60000}}");
  const auto large = rig.client().ask(call("/v1/messages", R"({"model":"m","max_tokens":500})"));
  EXPECT_EQ(large.status, 429);
  EXPECT_TRUE(large.has("x-should-retry: false\r\n") && !large.has("Retry-After")) << large.head;
  EXPECT_TRUE(large.has("anthropic-ratelimit-tokens-limit: 100\r\n")) << large.head;
  EXPECT_TRUE(has(large.body, R"({"type":"error","error":{"type":"rate_limit_error")") &&
              has(large.body, "up to 500 of output"))
      << large.body;
  EXPECT_EQ(rig.client().ask(call(chat, R"({"model":"m"})")).status, 200)
      << "the gateway's own guess of 256 tokens is lowered to what fits";
  const auto again = rig.client().ask(call(chat, R"({"model":"m","max_tokens":90})"));
  EXPECT_EQ(again.status, 429);
  EXPECT_TRUE(again.has("retry-after-ms: ") && again.has("x-ratelimit-remaining-tokens: ")) << again.head;
  EXPECT_TRUE(has(again.body, R"("code":"rate_limit_exceeded")")) << again.body;
  const auto gemini = rig.client().ask(
      call("/v1beta/models/m:generateContent", R"({"generationConfig":{"maxOutputTokens":500}})"));
  EXPECT_TRUE(has(gemini.body, R"("status":"RESOURCE_EXHAUSTED")")) << gemini.body;
}

TEST(LlmGateway, RefusesWhatItCannotCharge) {
  Upstream upstream(mirror);
  LlmRig rig(upstream.url(), "models: {m: m, n: m}, limits: {tpm: 1000/min}");
  const auto status = [&](std::string_view body, std::string_view fields = "x-api-key: k\r\n") {
    return rig.client().ask(call(chat, body, fields)).status;
  };
  EXPECT_EQ(status(R"({"model":"other"})"), 404);
  EXPECT_EQ(status(R"({"messages":[]})"), 400);
  EXPECT_EQ(status(R"({"model":"m","model":"n"})"), 400);
  EXPECT_EQ(status("not JSON"), 400);
  EXPECT_EQ(status(""), 400);
  EXPECT_EQ(status(R"({"model":"m"})", "x-api-key: k\r\nAuthorization: Bearer k\r\n"), 400);
  EXPECT_EQ(status(R"({"model":"m"})", "x-api-key: k\r\nContent-Encoding: gzip\r\n"), 415);
  EXPECT_EQ(upstream.accepted(), 0U);
  EXPECT_EQ(rig.consumed("tpm"), -1);
}

TEST(LlmGateway, StreamsALargeBodyThroughWithAnEstimateFromItsLength) {
  std::string head;
  std::string body;
  Upstream upstream([&](Peer& peer, unsigned) {
    read_request(peer, &head, &body);
    peer.answer(R"({"usage":{"prompt_tokens":123456,"completion_tokens":4}})",
                "Content-Type: application/json\r\n");
    read_request(peer);
  });
  LlmRig rig(upstream.url(), "limits: {tpm: 10000000/day}");
  const std::string request = R"({"model":"m","max_tokens":50,"messages":[{"content":")" +
                              std::string(3 * maxima::llm_body, 'x') + R"("}]})";
  net::Client client = rig.client();
  const std::string whole = call(chat, request, "x-api-key: k\r\nExpect: 100-continue\r\n");
  client.send(whole.substr(0, whole.size() - request.size()));
  EXPECT_EQ(client.receive().status, 100);
  client.send(request);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(body == request) << body.size() << " of " << request.size();
  EXPECT_FALSE(has(head, "Expect")) << head;
  EXPECT_TRUE(rig.becomes("tpm", 123'460)) << rig.consumed("tpm");
}

TEST(LlmGateway, SettlesEveryFormOfAnswer) {
  struct Form {
    std::string_view path;
    std::string_view request;
    std::string answer;
    std::int64_t tokens;
  };
  const auto json = [](std::string_view body) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  };
  const Form forms[] = {
      {"/v1/embeddings", R"({"model":"m","input":"x"})",
       json(R"({"data":[],"usage":{"prompt_tokens":5,"total_tokens":5}})"), 5},
      {"/v1/responses", R"({"model":"m"})", json(R"({"usage":{"input_tokens":5,"output_tokens":6}})"), 11},
      {"/v1/responses", R"({"model":"m","stream":true})",
       std::string(stream_head) +
           event(
               R"({"type":"response.completed","response":{"usage":{"input_tokens":5,"output_tokens":7}}})") +
           "0\r\n\r\n",
       12},
      // The end of a stream repeats the instructions.
      {"/v1/responses", R"({"model":"m","stream":true})",
       std::string(stream_head) +
           event(
               R"({"type":"response.completed","response":{"instructions":")" + std::string(300'000, 'x') +
               R"(","tools":[{"usage":{"output_tokens":1}}],"usage":{"input_tokens":75000,"output_tokens":7}}})") +
           "0\r\n\r\n",
       75'007},
      {"/v1beta/models/m:streamGenerateContent?alt=sse", "{}",
       std::string(stream_head) +
           event(R"({"candidates":[{"content":{"parts":[{"inlineData":{"data":")" +
                 std::string(300'000, 'x') +
                 R"("}}]}}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1290}})") +
           "0\r\n\r\n",
       1295},
      {"/v1/messages", R"({"model":"m","max_tokens":9})",
       json(
           R"({"usage":{"input_tokens":5,"output_tokens":8,"cache_read_input_tokens":100,"cache_creation_input_tokens":1}})"),
       114},
      {"/v1/messages", R"({"model":"m","max_tokens":9,"stream":true})",
       std::string(stream_head) +
           event(R"({"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}})") +
           event(R"({"type":"message_delta","usage":{"output_tokens":9}})") +
           event(R"({"type":"message_stop"})") + "0\r\n\r\n",
       14},
      {"/v1beta/models/m:streamGenerateContent?alt=sse", "{}",
       std::string(stream_head) + event(R"({"usageMetadata":{"promptTokenCount":5}})") +
           event(
               R"({"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3,"thoughtsTokenCount":2}})") +
           "0\r\n\r\n",
       10},
  };
  for (const Form& form : forms) {
    Upstream upstream([&](Peer& peer, unsigned) {
      while (read_request(peer)) peer.send(form.answer);
    });
    LlmRig rig(upstream.url());
    EXPECT_EQ(rig.client().ask(call(form.path, form.request)).status, 200);
    EXPECT_TRUE(rig.becomes("tpm", form.tokens)) << form.path << ": " << rig.consumed("tpm");
    EXPECT_EQ(rig.client().ask(call(form.path, form.request)).status, 200);
    EXPECT_TRUE(rig.becomes("tpm", 2 * form.tokens)) << "the second time, on the same bucket";
  }
}

TEST(LlmGateway, OfAHostileVendorNeverGivesBackMoreThanWasHeldAndStaysInBounds) {
  const std::string streams[] = {
      usage(-5, -100) + done(),
      event(R"({"choices":[],"usage":{"prompt_tokens":1e400,"completion_tokens":NaN}})") + done(),
      word("a") + usage(6, 1) + usage(2, 0) + event("[DONE]") + usage(100'000, 100'000) + "0\r\n\r\n",
      chunk("data: " + std::string(600'000, 'x')) + chunk("\n\n") + usage(6, 1) + done(),
  };
  const std::int64_t wanted[] = {11, 11, 7, 7};
  for (std::size_t i = 0; i < std::size(streams); ++i) {
    Upstream upstream([&](Peer& peer, unsigned) {
      while (read_request(peer)) peer.send(std::string(stream_head) + streams[i]);
    });
    LlmRig rig(upstream.url());
    EXPECT_EQ(rig.client().ask(call(chat, R"({"model":"m","stream":true,"max_tokens":20})")).status, 200);
    EXPECT_TRUE(rig.becomes("tpm", wanted[i])) << i << ": " << rig.consumed("tpm");
    EXPECT_GE(rig.consumed("tpm"), 0);
  }
}

TEST(LlmGateway, OtherCallsAreOneRequest) {
  Upstream upstream(mirror);
  LlmRig rig(upstream.url());
  EXPECT_EQ(rig.get("/v1/models", "x-api-key: k\r\n").status, 200);
  EXPECT_EQ(rig.consumed("rpm", "models"), 1);
  EXPECT_EQ(rig.consumed("tpm", "models"), 0);
}

/// The head of a call whose body has this many bytes.
std::string head_of_call(std::size_t bytes, std::string_view fields) {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(bytes) +
         "\r\n" + std::string(fields) + "\r\n";
}

TEST(LlmGateway, RefusesUnknownAndBlockedClientsBeforeTheBodyOfTheirCall) {
  Upstream upstream(mirror);
  LlmRig rig(upstream.url(), "limits: {rpm: 1000/day}, unknown_clients: refuse");
  limiter::Core& core = rig.gateway->decider()->core;
  ASSERT_TRUE(core.put_entity({.id = "known"}));
  ASSERT_TRUE(core.put_entity({.id = "acme"}));
  for (const char* id : {"child", "blocked"}) ASSERT_TRUE(core.put_entity({.id = id, .parent = "acme"}));
  ASSERT_TRUE(core.set_limits(Level::entity_default("limited"), *parse_limits({{"rpm", "3/min"}}), {}));
  ASSERT_TRUE(core.set_access("blocked", {.access = Access::blocked, .reason = "abuse"}));
  ASSERT_TRUE(core.set_access("known", {.access = Access::blocked, .resource = "other", .reason = "abuse"}));
  const auto status = [&](const std::string& key, std::string_view more) {
    net::Client client = rig.client();
    client.send(head_of_call(1'000'000, "x-api-key: " + key + "\r\n" + std::string(more)));
    return client.receive().status;
  };
  constexpr std::string_view asks = "Expect: 100-continue\r\n";
  for (const std::string_view more : {std::string_view(), asks}) {
    EXPECT_EQ(status("invented", more), 403);
    EXPECT_EQ(status("blocked", more), 429);
  }
  for (const char* key : {"known", "limited", "child"}) EXPECT_EQ(status(key, asks), 100) << key;
  ASSERT_TRUE(core.set_access("acme", {.access = Access::blocked, .reason = "unpaid"}));
  EXPECT_EQ(status("child", {}), 429) << "with its parent";
  EXPECT_EQ(upstream.accepted(), 0U);
}

TEST(LlmGateway, GivesUpACallWhoseBodyComesByteByByte) {
  Upstream upstream(mirror);
  LlmRig rig(upstream.url());
  net::Client client = rig.client();
  client.send(head_of_call(100, "x-api-key: k\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.receive().status, 100);
  client.send("{");
  rig.clock.advance(std::chrono::seconds(31));
  client.send(" ");
  const auto answer = client.receive();
  EXPECT_EQ(answer.status, 408);
  EXPECT_TRUE(has(answer.body, "send it faster")) << "and not for the silence that follows: " << answer.body;
  EXPECT_EQ(upstream.accepted(), 0U);
}

TEST(LlmGateway, KeepsOnlySoManyBytesOfAllCallsTogether) {
  std::mutex mutex;
  std::condition_variable changed;
  bool arrived = false;
  bool go_on = false;
  Upstream upstream([&](Peer& peer, unsigned) {
    while (read_request(peer)) {
      std::unique_lock lock(mutex);
      arrived = true;
      changed.notify_all();
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return go_on; }));
      peer.answer("{}");
    }
  });
  LlmRig rig(upstream.url(), "limits: {rpm: 1000/day}", 40'000);
  const std::string request = call(chat, R"({"model":"m","x":")" + std::string(30'000, 'x') + R"("})");
  net::Client first = rig.client();
  first.send(request);
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return arrived; }));
  }
  const auto refused = rig.client().ask(request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.has("Retry-After: ")) << refused.head;
  EXPECT_TRUE(has(refused.body, "too many bodies of calls")) << refused.body;
  {
    const std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_all();
  }
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(rig.client().ask(request).status, 200) << "the first one's bytes are free again";
}

/// What a vendor answers that knows the models that begin with "gpt".
void answer_for_known_models(Peer& peer) {
  for (std::string body; read_request(peer, nullptr, &body);) {
    if (has(body, R"("model":"gpt)")) {
      peer.answer(R"({"usage":{"prompt_tokens":1,"completion_tokens":1}})",
                  "Content-Type: application/json\r\n");
    } else {
      peer.send("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}");
    }
  }
}

TEST(LlmGateway, NamesOfModelsThatClientsInventDoNotSwitchOffTheLimitOfAnother) {
  Upstream upstream([](Peer& peer, unsigned) { answer_for_known_models(peer); });
  LlmRig rig(upstream.url());
  const NamedLimit none[] = {{"rpm", *Limit::parse("0")}};
  ASSERT_TRUE(rig.gateway->decider()->core.set_limits(Level::resource("gpt-5-pro"), none, {}));
  net::Client client = rig.client();
  const auto ask = [&](const std::string& model) {
    return client.ask(call(chat, R"({"model":")" + model + R"("})"));
  };
  EXPECT_EQ(ask("gpt-4o").status, 200);
  std::size_t tried = 0;
  for (int i = 1; i <= 1001; ++i) {
    const auto answer = ask("x" + std::to_string(i));
    if (answer.status == 404) {
      ++tried;
      continue;
    }
    EXPECT_EQ(answer.status, 429);
    EXPECT_TRUE(answer.has("Retry-After: ") && has(answer.body, "too many new names of models"))
        << answer.body;
  }
  EXPECT_EQ(tried, maxima::new_models_of_address);
  EXPECT_EQ(ask("gpt-5-pro").status, 429);
  EXPECT_EQ(ask("gpt-4o").status, 200) << "the vendor has answered for it before";
  EXPECT_EQ(rig.consumed("rpm", "models"), -1) << "no call is charged to the resource of the route";
}

TEST(LlmGateway, ModelsThatTheVendorAnswersForAreNotCountedAsInvented) {
  Upstream upstream([](Peer& peer, unsigned) { answer_for_known_models(peer); });
  LlmRig rig(upstream.url());
  net::Client client = rig.client();
  for (std::size_t i = 0; i <= 2 * maxima::new_models_of_address; ++i) {
    const std::string model = "gpt-" + std::to_string(i);
    ASSERT_EQ(client.ask(call(chat, R"({"model":")" + model + R"("})")).status, 200) << i;
  }
}

TEST(LlmGateway, HoldsAConcurrentLimitForTheLengthOfTheCall) {
  std::mutex mutex;
  std::condition_variable changed;
  bool go_on = false;
  Upstream upstream([&](Peer& peer, unsigned number) {
    while (read_request(peer)) {
      std::unique_lock lock(mutex);
      if (number == 0) {
        EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return go_on; }));
      }
      peer.answer(R"({"usage":{"prompt_tokens":1,"completion_tokens":1}})",
                  "Content-Type: application/json\r\n");
    }
  });
  LlmRig rig(upstream.url(), "limits: {tpm: 100000/day, concurrent: {kind: concurrent, capacity: 1}}");
  net::Client first = rig.client();
  first.send(call(chat, R"({"model":"m"})"));
  EXPECT_TRUE(eventually([&] { return rig.consumed("tpm") > 0; }));
  EXPECT_EQ(rig.client().ask(call(chat, R"({"model":"m"})")).status, 429);
  {
    const std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_one();
  }
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_TRUE(rig.becomes("tpm", 2));
  EXPECT_EQ(rig.client().ask(call(chat, R"({"model":"m"})")).status, 200);
}

/// What the bucket of an entity holds of a limit now, in whole tokens.
std::int64_t held(LlmRig& rig, std::string_view entity, std::string_view limit) {
  const auto look = rig.gateway->decider()->core.available(entity, "m", {}, {});
  if (!look) return -1;
  for (const LimitStatus status : look->limits()) {
    if (status.entity == entity && status.name == limit) return status.remaining.millitokens() / 1000;
  }
  return -1;
}

TEST(LlmGateway, LowersTheBucketOfTheUpstreamToWhatTheVendorHasLeft) {
  std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  std::string fields;
  Upstream upstream([&](Peer& peer, unsigned) {
    const std::string body = R"({"usage":{"prompt_tokens":10,"completion_tokens":2}})";
    while (read_request(peer))
      peer.send(head + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  LlmRig rig(upstream.url(),
             "upstream_entity: vendor, upstream_key: \"env:KEY\", limits: {rpm: 1000/day, tpm: 100000/day}");
  limiter::Core& core = rig.gateway->decider()->core;
  const NamedLimit limits[] = {{"rpm", *Limit::parse("1000/day")}, {"tpm", *Limit::parse("100000/day")}};
  ASSERT_TRUE(core.set_limits(Level::entity_default("vendor"), limits, {}));
  ASSERT_TRUE(core.put_entity({.id = "k", .parent = "vendor", .cascade = true}));
  const std::string request = call(chat, R"({"model":"m","max_tokens":5,"messages":[]})");

  fields = "x-ratelimit-remaining-requests: 7\r\nx-ratelimit-remaining-tokens: 900\r\n";
  EXPECT_EQ(rig.client().ask(request).status, 200);
  EXPECT_TRUE(eventually([&] { return held(rig, "vendor", "rpm") == 7; })) << held(rig, "vendor", "rpm");
  EXPECT_TRUE(eventually([&] { return held(rig, "vendor", "tpm") < 1000; }));
  EXPECT_TRUE(rig.becomes("tpm", 12)) << "it counts as no consumption";

  fields = "x-ratelimit-remaining-requests: 1000000\r\nx-ratelimit-remaining-tokens: -5\r\n";
  EXPECT_EQ(rig.client().ask(request).status, 200);
  EXPECT_TRUE(rig.becomes("tpm", 24));
  EXPECT_EQ(held(rig, "vendor", "rpm"), 6) << "it is never raised, and nonsense is ignored";

  fields = {};
  head = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(rig.client().ask(request).status, 429);
  EXPECT_TRUE(eventually([&] { return held(rig, "vendor", "rpm") == 0; })) << held(rig, "vendor", "rpm");
  const auto refused = rig.client().ask(request);
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(has(refused.body, "weir: over the limit")) << refused.body;
}

}  // namespace
}  // namespace weir::gateway
