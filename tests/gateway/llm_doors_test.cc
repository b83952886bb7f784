// Ways around the tokens of a model that attackers may find: each is refused, or charged as it should be.
#include <atomic>

#include "gateway/llm_rig.h"

namespace weir::gateway {
namespace {

constexpr std::string_view with_key = "upstream_key: \"env:KEY\", limits: {rpm: 1000/day, tpm: 100000/day}";
constexpr std::string_view to_websocket =
    "x-api-key: k\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n";

TEST(LlmDoors, NoTunnelIsOpenedWithTheKeyOfTheGateway) {
  std::string head;
  Upstream upstream([&](Peer& peer, unsigned) {
    while (read_request(peer, &head)) {
      if (has(head, "Upgrade"))
        peer.send("HTTP/1.1 101 \r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
      peer.answer("{}");
    }
  });
  LlmRig rig(upstream.url(), std::string(with_key));
  for (const char* path : {"/v1/responses", "/v1/realtime?model=m", "/v1/chat/completions"}) {
    EXPECT_EQ(rig.get(path, to_websocket).status, 200) << path;
    EXPECT_TRUE(has(head, "gateway-key") && !has(head, "Upgrade") && !has(head, "Connection")) << head;
  }
  LlmRig allowed(upstream.url(), std::string(with_key) + ", upgrade: [websocket]");
  net::Client client = allowed.client();
  client.send(net::get("/v1/realtime", to_websocket));
  EXPECT_TRUE(has(client.take(12), " 101"));
}

std::string with_method(std::string_view method, std::string_view path) {
  return std::string(method) + " " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\nContent-Length: 13\r\n\r\n{\"model\":\"m\"}";
}

TEST(LlmDoors, AnotherSpellingOfACallIsCountedOrRefused) {
  Upstream upstream([](Peer& peer, unsigned) {
    while (read_request(peer)) peer.answer("{}");
  });
  for (const char* more : {"", ", paths: canonical", ", path_parameters: same", ", path_case: same",
                           ", paths: canonical, path_parameters: same, path_case: same"}) {
    int counted = 0;
    for (const char* path :
         {"/v1/chat/%63ompletions", "/v1/chat/completions//", "/v1/chat/completions;x",
          "/v1/chat;x/completions;y", "/v1//chat/completions", "/v1/Chat/Completions", "/v1/%6Dessages",
          "/v1/chat/completions%3Bx", "/v1/chat/completions/%3b", "/v1/x/..//responses", "/v1/RESPONSES/",
          "/v1beta/models/m:generate%43ontent", "/v1beta/models/m%3AgenerateContent",
          "/v1beta/models/m%3agenerateContent", "/v1beta/models/m;x:generateContent",
          "/v1beta/models/m:generateContent;x", "/v1beta/Models/m:GenerateContent/"}) {
      LlmRig rig(upstream.url(), std::string(with_key) + more);
      const int status = rig.client().ask(with_method("POST", path)).status;
      if (status == 400) continue;
      EXPECT_EQ(status, 200) << path;
      EXPECT_GT(rig.consumed("tpm"), 0) << path << more;
      ++counted;
    }
    EXPECT_EQ(counted, has(more, "canonical") ? 11 : 4) << "the others are refused; " << more;
  }
}

TEST(LlmDoors, AMethodInLowerCaseIsRefused) {
  Upstream upstream(mirror);
  LlmRig rig(upstream.url(), std::string(with_key));
  for (const char* method : {"post", "Post", "pOST", "get"}) {
    const net::Response answer = rig.client().ask(with_method(method, chat));
    EXPECT_EQ(answer.status, 400) << method;
    EXPECT_TRUE(has(answer.body, "upper case")) << answer.body;
  }
  EXPECT_EQ(upstream.accepted(), 0U);
}

TEST(LlmDoors, TheApiOfAnotherVendorIsCountedToo) {
  Upstream upstream([](Peer& peer, unsigned) {
    while (read_request(peer)) peer.answer("{}");
  });
  for (const auto& [vendor, path] :
       {std::pair<std::string, std::string>{"gemini", "/v1beta/openai/chat/completions"},
        {"anthropic", "/v1/chat/completions"},
        {"openai", "/v1/messages"}}) {
    Rig rig("routes: [{path: /, name: models, upstream: \"" + upstream.url() +
            "\", limit_by: \"header:x-api-key\", llm: " + vendor + ", models: {other: other}, " +
            std::string(with_key) + "}]");
    EXPECT_EQ(rig.client().ask(with_method("POST", path)).status, 404)
        << vendor << ": the model is not offered";
  }
}

TEST(LlmDoors, NoCheaperModelIsNamedInTheBodyForADeploymentOfAzure) {
  Upstream upstream([](Peer& peer, unsigned) {
    while (read_request(peer)) peer.answer("{}");
  });
  LlmRig rig(upstream.url(), "models: {big: big, small: small}, limits: {tpm: 100000/day}");
  const auto status = [&](std::string_view deployment, std::string_view body) {
    return rig.client()
        .ask(call("/openai/deployments/" + std::string(deployment) + "/chat/completions?api-version=1", body))
        .status;
  };
  EXPECT_EQ(status("big", R"({"model":"small"})"), 200);
  EXPECT_EQ(rig.consumed("tpm", "small"), -1);
  EXPECT_GT(rig.consumed("tpm", "big"), 0);
  EXPECT_EQ(status("small", "{}"), 200) << "the body need not name it";
  EXPECT_GT(rig.consumed("tpm", "small"), 0);
  EXPECT_EQ(status("other", R"({"model":"small"})"), 404);
}

/// Sends a body whose first MiB is that of a small call, and the rest after it.
net::Response send_large(const LlmRig& rig, std::string_view begin, std::string_view rest, bool chunked) {
  std::string body(begin);
  body.resize(body.size() + maxima::llm_body + 100'000, ' ');
  body += rest;
  std::string head = "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\n";
  net::Client client = rig.client();
  if (!chunked)
    return client.ask(head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  head += "Transfer-Encoding: chunked\r\n\r\n";
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", body.size());
  return client.ask(head + size + body + "\r\n0\r\n\r\n");
}

TEST(LlmDoors, TheRestOfALargeBodyCannotChangeWhatIsCharged) {
  std::atomic<int> whole = 0;
  Upstream upstream([&](Peer& peer, unsigned) {
    const std::string head = peer.read_head();
    const std::size_t at = head.find("Content-Length: ");
    const std::size_t length = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
    const bool ended =
        length > 0 ? peer.read(length).size() == length : !peer.read_until("0\r\n\r\n").empty();
    whole += ended ? 1 : 0;
    if (ended) peer.answer("{}");
  });
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  for (const bool chunked : {false, true}) {
    LlmRig rig(upstream.url(), "limits: {tpm: 100000000/day}");
    const std::string begin = R"({"model":"cheap","max_tokens":5,)";
    for (const std::string& rest :
         {std::string(R"("messages":[],"model":"expensive"})"), std::string(R"("mod\u0065l":"expensive"})"),
          std::string(R"("messages":[],"max_tokens":100000})"),
          std::string(R"("messages":[]}{"model":"expensive"})"), std::string(R"('x":"':1,"messages":[]})"),
          "\"messages\":" + deep + "}", std::string(R"("messages":[])")}) {
      const net::Response answer = send_large(rig, begin, rest, chunked);
      EXPECT_EQ(answer.status, 400) << rest << answer.body;
    }
    const net::Response hidden =
        send_large(rig, begin + "\"messages\":" + deep + R"(,"model":"expensive",)", R"("x":1})", chunked);
    EXPECT_EQ(hidden.status, 400) << "behind what is nested too deeply";
    EXPECT_EQ(whole, 0) << "the upstream never has a whole body";
    EXPECT_EQ(send_large(rig, begin, R"("messages":[{"model":"x"}],"n":1})", chunked).status, 200);
    EXPECT_EQ(whole.exchange(0), 1);
    LlmRig passing(upstream.url(), "unknown_models: pass, limits: {tpm: 100000000/day}");
    EXPECT_EQ(send_large(passing, R"({"messages":[],)", R"("model":"expensive"})", chunked).status, 400)
        << "a model that comes late is none that is not known";
    EXPECT_EQ(send_large(passing, R"({"messages":[],)", R"("n":1})", chunked).status, 200);
    EXPECT_EQ(whole.exchange(0), 1);
  }
}

/// Answers each request with its head, as a body.
void answer_heads(Peer& peer, unsigned /*number*/) {
  for (std::string head; read_request(peer, &head);) peer.answer(head);
}

TEST(LlmDoors, NothingOfTheClientStandsBesideTheKeyOfTheGateway) {
  Upstream upstream(answer_heads);
  LlmRig rig(upstream.url(), std::string(with_key));
  const std::string_view fields =
      "x-api-key: k\r\nOpenAI-Organization: client-org\r\nOpenAI-Project: client-project\r\n"
      "openai_project: client-project\r\nx-goog-user-project: client-project\r\n"
      "X-HTTP-Method-Override: DELETE\r\nOpenAI-Beta: kept\r\n";
  const std::string head =
      rig.client()
          .ask(call(
              "/v1/chat/"
              "completions?key=client-1&alt=sse&k%65y=client-2&$key=client-3&access_token=client-4&b=%26",
              R"({"model":"m"})", fields))
          .body;
  EXPECT_TRUE(head.starts_with("POST /v1/chat/completions?alt=sse&b=%26 HTTP/1.1\r\n")) << head;
  EXPECT_TRUE(has(head, "gateway-key") && has(head, "OpenAI-Beta: kept")) << head;
  EXPECT_FALSE(has(head, "client-") || has(head, "DELETE")) << head;
  EXPECT_TRUE(
      rig.get("/v1/models?key=a", "x-api-key: k\r\n").body.starts_with("GET /v1/models HTTP/1.1\r\n"));
}

TEST(LlmDoors, AKeyInTheQueryIsAKeyOfTheClient) {
  Upstream upstream(answer_heads);
  LlmRig rig(upstream.url());
  const auto ask = [&](std::string_view query, std::string_view fields) {
    return rig.client().ask(
        call(std::string("/v1beta/models/m:generateContent") + std::string(query), "{}", fields));
  };
  EXPECT_TRUE(has(ask("?key=a", "").body, "generateContent?key=a HTTP/1.1"));
  EXPECT_TRUE(has(ask("?alt=sse", "x-goog-api-key: k\r\nOpenAI-Project: p\r\n").body, "OpenAI-Project: p"));
  EXPECT_EQ(ask("?key=a", "x-goog-api-key: k\r\n").status, 400);
  EXPECT_EQ(ask("?key=a&%6Bey=b", "").status, 400);
}

constexpr std::string_view generate = "/v1beta/models/m:generateContent";

TEST(LlmDoors, NoAnswerOfGeminiIsAskedForWithoutItsUsage) {
  Upstream upstream(answer_heads);
  for (const char* more :
       {"limits: {tpm: 100000/day}", "upstream_key: \"env:KEY\", limits: {tpm: 100000/day}"}) {
    LlmRig rig(upstream.url(), more);
    const auto ask = [&](std::string_view path, std::string_view query) {
      constexpr std::string_view fields =
          "x-api-key: k\r\nX-Goog-FieldMask: candidates\r\nx_goog_fieldmask: candidates\r\nX-Kept: 1\r\n";
      return rig.client().ask(call(std::string(path).append(query), R"({"model":"m"})", fields));
    };
    for (const std::string_view path : {generate, std::string_view("/v1beta/openai/chat/completions")}) {
      const auto passed = ask(path,
                              "?fields=candidates&%24fields=a&$fi%65lds=a&callback=f&$callback=f&$other=1&"
                              "$httpHeaders=X-Goog-FieldMask%3Aa&$httpMethod=GET&$.xgafv=1&a=%26&alt=json");
      EXPECT_TRUE(passed.body.starts_with("POST " + std::string(path) + "?a=%26&alt=json HTTP/1.1\r\n"))
          << passed.body;
      EXPECT_FALSE(has(passed.body, "candidates")) << passed.body;
      EXPECT_TRUE(has(passed.body, "X-Kept: 1")) << passed.body;
      for (const char* query :
           {"?alt=proto", "?$alt=proto", "?%24a%6Ct=media", "?alt=sse&alt=proto", "?alt"}) {
        const auto refused = ask(path, query);
        EXPECT_EQ(refused.status, 400) << query;
        EXPECT_TRUE(has(refused.body, "alt=json or alt=sse")) << refused.body;
      }
      for (const char* query : {"?alt=sse", "?$alt=json", "?alt=%73se&$alt=sse"})
        EXPECT_TRUE(has(ask(path, query).body, std::string(path) + query + " HTTP/1.1")) << query;
    }
    const auto listed = ask("/v1beta/models", "?fields=name&$httpMethod=POST&alt=proto");
    EXPECT_TRUE(has(listed.body, "/v1beta/models?fields=name&alt=proto HTTP/1.1")) << "it uses no tokens";
    EXPECT_TRUE(has(listed.body, "X-Goog-FieldMask: candidates")) << listed.body;
  }
}

TEST(LlmDoors, CallsThatAreNotCountedCanBeRefusedByRoutes) {
  Upstream upstream(answer_heads);
  const std::string to = "upstream: \"" + upstream.url() + "\", ";
  const std::string refuses = "limit_by: \"path:1\", unknown_clients: refuse, on_unavailable: deny";
  const std::string yaml = "routes: [{path: /v1/messages, " + to + "llm: anthropic, limit_by: bearer}, " +
                           "{path: /v1/messages/batches, " + to + refuses + "}, {path: \"" +
                           std::string(generate) + "\", " + to + "llm: gemini, limit_by: bearer}]";
  const auto status = [](const Rig& rig, std::string_view path) {
    return rig.client().ask(call(path, R"({"model":"m"})", "Authorization: Bearer key\r\n")).status;
  };
  const Rig rig(yaml);
  limiter::Core& core = rig.gateway->decider()->core;
  ASSERT_TRUE(core.set_limits(Level::system(), *parse_limits({{"rpm", "9/min"}}), {}));
  EXPECT_EQ(status(rig, "/v1/messages"), 200);
  EXPECT_EQ(status(rig, generate), 200);
  for (const char* path : {"/v1/messages/batches", "/v1/messages/batches/", "/v1/messages/batches/b/cancel"})
    EXPECT_EQ(status(rig, path), 403) << path;
  for (const char* path :
       {"/v1/messages/Batches", "/v1/messages//batches", "/v1/messages/batches;x", "/v1/messages/%62atches"})
    EXPECT_EQ(status(rig, path), 400) << path;
  for (const char* path : {"/v1beta/models/m:batchGenerateContent", "/v1beta/models/m%3AbatchGenerateContent",
                           "/v1/realtime/client_secrets", "/v1/batches"})
    EXPECT_EQ(status(rig, path), 404) << path;
  const Rig without_store(yaml, nullptr, 1, /*with_store=*/false);
  EXPECT_EQ(status(without_store, "/v1/messages/batches"), 503);
}

TEST(LlmDoors, ATraceDoesNotShowTheKeyOfTheGateway) {
  Upstream upstream(answer_heads);
  LlmRig rig(upstream.url(), std::string(with_key));
  const net::Response answer =
      rig.client().ask("TRACE /v1/models HTTP/1.1\r\nHost: a\r\nx-api-key: k\r\n\r\n");
  EXPECT_EQ(answer.status, 405);
  EXPECT_TRUE(answer.has("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n")) << answer.head;
  EXPECT_EQ(upstream.accepted(), 0U);
}

TEST(LlmDoors, ACanonicalPathIsForwardedInThatForm) {
  Upstream upstream([](Peer& peer, unsigned) {
    std::string head;
    while (read_request(peer, &head)) peer.answer(head);
  });
  LlmRig rig(upstream.url(), std::string(with_key) + ", paths: canonical");
  const net::Response answer = rig.client().ask(with_method("POST", "/v1//chat/%63ompletions?a=%2e"));
  EXPECT_TRUE(answer.body.starts_with("POST /v1/chat/completions?a=%2e HTTP/1.1\r\n")) << answer.body;
}

}  // namespace
}  // namespace weir::gateway
