// Streams of language models through the gateway, and what is settled for every form of answer.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

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

}  // namespace
}  // namespace weir::gateway
