// Calls to language models that the gateway refuses: for the limits, the client, the size or the model.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#include "gateway/llm_rig.h"

namespace weir::gateway {
namespace {

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
  Upstream upstream([](Peer& peer, unsigned) {
    while (read_request(peer)) peer.answer("{}");
  });
  LlmRig rig(upstream.url(), "limits: {rpm: 1000/day}", 40'000);
  const auto body_of = [](std::size_t size) {
    return R"({"model":"m","x":")" + std::string(size, 'x') + R"("})";
  };
  const std::string request = call(chat, body_of(30'000));
  const std::string body = body_of(12'000);
  net::Client first = rig.client();
  first.send(head_of_call(body.size(), "x-api-key: k\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(first.receive().status, 100);
  first.send(body.substr(0, body.size() - 1));
  EXPECT_EQ(rig.get("/v1/models").status, 200) << "meanwhile the one thread has read what came";
  const auto refused = rig.client().ask(request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.has("Retry-After: ")) << refused.head;
  EXPECT_TRUE(has(refused.body, "too many bodies of calls")) << refused.body;
  first.send(body.substr(body.size() - 1));
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(rig.client().ask(request).status, 200) << "its bytes are free again";
}

TEST(LlmGateway, CallsThatWaitForTheirAnswersLeaveRoomForTheBodiesOfOthers) {
  for (const std::size_t size : {std::size_t{30'000}, maxima::llm_body - 100, 3 * maxima::llm_body}) {
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
    bool go_on = false;
    Upstream upstream([&](Peer& peer, unsigned) {
      while (read_request(peer)) {
        std::unique_lock lock(mutex);
        ++arrived;
        changed.notify_all();
        EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return go_on; }));
        peer.answer("{}");
      }
    });
    const std::size_t kept = std::min(size + 100, 2 * maxima::llm_body);
    LlmRig rig(upstream.url(), "limits: {rpm: 1000/day}", kept + kept / 2);
    const std::string request = call(chat, R"({"model":"m","x":")" + std::string(size, 'x') + R"("})");
    std::vector<net::Client> clients;
    for (int i = 1; i <= 5; ++i) {
      clients.push_back(rig.client());
      EXPECT_TRUE(clients.back().send(request));
      std::unique_lock lock(mutex);
      if (!changed.wait_for(lock, std::chrono::seconds(60), [&] { return arrived == i; })) break;
    }
    {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(arrived, 5) << "calls of " << size << " bytes wait for their answers";
      go_on = true;
      changed.notify_all();
    }
    for (net::Client& client : clients) EXPECT_EQ(client.receive().status, 200) << size;
  }
}

TEST(LlmGateway, ACallWhoseUpstreamIsDownReachesTheNextOneWithItsBody) {
  std::string body;
  Upstream upstream([&](Peer& peer, unsigned) {
    while (read_request(peer, nullptr, &body)) peer.answer("{}");
  });
  const std::string down = "http://127.0.0.1:" + std::to_string(closed_port());
  for (const std::string& urls : {down + "\", \"" + upstream.url(), upstream.url() + "\", \"" + down}) {
    Rig rig("routes: [{path: /, llm: auto, limits: {rpm: 1000/day}, upstream: [\"" + urls + "\"]}]");
    const std::string sent = R"({"model":"m","x":")" + std::string(100'000, 'x') + R"("})";
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(rig.client().ask(call(chat, sent)).status, 200);
      EXPECT_EQ(std::exchange(body, {}), sent);
    }
  }
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
  EXPECT_EQ(tried, maxima::new_models_of_address - 1) << "beside the one that was answered";
  EXPECT_EQ(ask("gpt-5-pro").status, 429);
  EXPECT_EQ(ask("gpt-4o").status, 200) << "the vendor has answered for it before";
  EXPECT_EQ(rig.consumed("rpm", "models"), -1) << "no call is charged to the resource of the route";
}

TEST(LlmGateway, NamesThatAnUpstreamAnswersWhateverTheyAreStillCountAsInvented) {
  Upstream upstream([](Peer& peer, unsigned) { answer_for_known_models(peer); });
  LlmRig rig(upstream.url());
  net::Client client = rig.client();
  const auto ask = [&](std::size_t number) {
    return client.ask(call(chat, R"({"model":"gpt-)" + std::to_string(number) + R"("})")).status;
  };
  for (std::size_t i = 0; i < maxima::new_models_of_address; ++i) ASSERT_EQ(ask(i), 200) << i;
  EXPECT_EQ(ask(maxima::new_models_of_address), 429) << "each has a bucket with full limits";
  for (std::size_t i = 0; i < maxima::new_models_of_address; ++i) ASSERT_EQ(ask(i), 200) << "again, " << i;
}

TEST(LlmGateway, NamesOfModelsAreNotBoundedWhereTheRouteIsOff) {
  Upstream upstream([](Peer& peer, unsigned) { answer_for_known_models(peer); });
  LlmRig rig(upstream.url(), "mode: off");
  net::Client client = rig.client();
  for (std::size_t i = 0; i <= maxima::new_models_of_address; ++i) {
    const std::string body = R"({"model":"gpt-)" + std::to_string(i) + R"("})";
    ASSERT_EQ(client.ask(call(chat, body)).status, 200) << i;
  }
}

TEST(LlmGateway, AnAnswerThatIsOfNoCallToAModelMakesNoNameKnown) {
  Upstream upstream([](Peer& peer, unsigned) {
    for (std::string head; read_request(peer, &head);) {
      if (has(head, "POST")) {
        peer.send("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}");
      } else {
        peer.answer("{}");
      }
    }
  });
  LlmRig rig(upstream.url());
  net::Client client = rig.client();
  EXPECT_EQ(client.ask(call(chat, R"({"model":"invented"})")).status, 404);
  EXPECT_EQ(client.ask(net::get("/v1/models", "x-api-key: k\r\n")).status, 200);
  for (const char* model : {"", "invented"})
    EXPECT_EQ(rig.gateway->model_names().admit(rig.gateway->hash_of(model), 1, std::chrono::hours(1)),
              ModelNames::Verdict::fresh)
        << model;
}

}  // namespace
}  // namespace weir::gateway
