// Calls to language models through the gateway: what is held, what passes, and what is settled, however a
// call ends.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>

#include "base/text.h"
#include "gateway/llm_rig.h"

namespace weir::gateway {
namespace {

using tests::eventually;

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

TEST(LlmGateway, OtherCallsAreOneRequest) {
  Upstream upstream(mirror);
  LlmRig rig(upstream.url());
  EXPECT_EQ(rig.get("/v1/models", "x-api-key: k\r\n").status, 200);
  EXPECT_EQ(rig.consumed("rpm", "models"), 1);
  EXPECT_EQ(rig.consumed("tpm", "models"), 0);
  const std::string message = R"({"role":"user","content":"hello"})";
  EXPECT_EQ(rig.client().ask(call("/v1/threads/thread_1/messages", message)).status, 200)
      << "of OpenAI's Assistants, and not of Anthropic";
  EXPECT_EQ(rig.consumed("rpm", "models"), 2);
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
      peer.send(base::join(head, fields, "Content-Length: ", std::to_string(body.size()), "\r\n\r\n", body));
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
