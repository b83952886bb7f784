// Refusals of the gateway have an id that explains them, and its log has the id of every request.
#include <fstream>

#include "decision_log/entry_json.h"
#include "gateway/admin.h"
#include "gateway/rig.h"
#include "support/eventually.h"
#include "support/folder.h"

namespace weir::gateway {
namespace {

using decision_log::EntryKind;
using decision_log::EntryOutcome;
using decision_log::Keeps;

void pass_all(Peer& peer, unsigned /*number*/) {
  while (!peer.read_head().empty()) peer.answer("passed");
}

std::string field_of(const net::Response& response, std::string_view name) {
  const std::string start = "\r\n" + std::string(name) + ": ";
  const std::size_t at = response.head.find(start);
  if (at == std::string::npos) return "none";
  return response.head.substr(at + start.size(),
                              response.head.find("\r\n", at + start.size()) - at - start.size());
}

class GatewayDecisions : public testing::Test {
 protected:
  std::unique_ptr<Rig> rig(const std::string& more, Keeps keeps = Keeps::refusals,
                           telemetry::AccessLog* access = nullptr) {
    return std::make_unique<Rig>(Rig::route(upstream.url(), more), nullptr, 1, true, NewClientBounds{},
                                 std::chrono::minutes(1), keeps, access);
  }
  Upstream upstream{pass_all};
};

TEST_F(GatewayDecisions, ARefusalHasAnIdThatExplainsIt) {
  const auto gateway = rig("name: api, limits: {rpm: 1/min}, limit_by: \"header:x-key\"");
  ASSERT_EQ(gateway->get("/", "x-key: key-7\r\n").status, 200);
  const net::Response refused = gateway->get("/", "x-key: key-7\r\nX-Request-Id: abc\r\n");
  ASSERT_EQ(refused.status, 429);
  const std::string id = field_of(refused, "Weir-Decision");
  EXPECT_TRUE(has(refused.body, "\"decision\":\"" + id + "\"")) << refused.body;
  const auto entry = gateway->decisions->find(id, "default");
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_EQ(entry->outcome, EntryOutcome::refused);
  EXPECT_EQ(entry->entity, "key-7");
  EXPECT_EQ(entry->resource, "api");
  EXPECT_EQ(entry->request_id, "abc");
  EXPECT_EQ(entry->every, Amount(1));
  EXPECT_EQ(decision_log::asked_by(*entry).front().first, "rpm");
  ASSERT_EQ(entry->sent_limits.size(), 1U);
  EXPECT_EQ(entry->report[0].source, Source::request);
  const net::Response text = gateway->get("/", "x-key: key-7\r\nAccept: text/plain\r\n");
  EXPECT_TRUE(has(text.body, "(decision " + field_of(text, "Weir-Decision") + ")")) << text.body;
  const net::Response admitted = gateway->get("/", "x-key: key-8\r\n");
  EXPECT_EQ(field_of(admitted, "Weir-Decision"), "none");
}

TEST_F(GatewayDecisions, ARefusedCallToAModelHasOneToo) {
  struct Form {
    const char* path;
    const char* fields;
  };
  for (const Form form : {Form{"/v1/chat/completions", ""}, Form{"/v1/messages", ""},
                          Form{"/v1beta/models/m:generateContent", ""}}) {
    const auto gateway = rig("name: models, llm: auto, limits: {rpm: 1/day}, limit_by: \"header:x-key\"");
    (void)gateway->client().ask(net::post(form.path, R"({"model":"m","max_tokens":5})", "x-key: k\r\n"));
    const net::Response refused =
        gateway->client().ask(net::post(form.path, R"({"model":"m","max_tokens":5})", "x-key: k\r\n"));
    ASSERT_EQ(refused.status, 429) << form.path;
    const std::string id = field_of(refused, "Weir-Decision");
    EXPECT_TRUE(has(refused.body, ",\"decision\":\"" + id + "\"}")) << refused.body;
    ASSERT_TRUE(gateway->decisions->find(id, "default")) << id;
    EXPECT_EQ(gateway->decisions->find(id, "default")->resource, "m");
  }
}

TEST_F(GatewayDecisions, AllKeepsHowCallsWereSettled) {
  const auto gateway =
      rig("name: api, limits: {calls: \"5:concurrent\", rpm: 5/min}, limit_by: \"header:x-key\"", Keeps::all);
  ASSERT_EQ(gateway->get("/", "x-key: key-7\r\n").status, 200);
  // The lease ends after the answer has left.
  ASSERT_TRUE(tests::eventually([&] { return gateway->decisions->list({}, {})->items.size() == 2; }));
  const auto page = gateway->decisions->list({}, {});
  EXPECT_EQ(page->items[0].kind, EntryKind::settle);
  EXPECT_EQ(page->items[1].kind, EntryKind::acquire);
  EXPECT_EQ(page->items[1].outcome, EntryOutcome::admitted);
  EXPECT_EQ(page->items[0].lease, page->items[1].lease);
  EXPECT_NE(page->items[0].lease, 0U);
}

TEST_F(GatewayDecisions, EveryLineOfTheAccessLogHasARequestId) {
  const tests::Folder folder;
  {
    auto access = telemetry::AccessLog::open(folder.file("access"), {});
    ASSERT_TRUE(access);
    const auto gateway = rig("limits: {rpm: 1/min}", Keeps::refusals, access->get());
    (void)gateway->get("/");
    (void)gateway->get("/", "X-Request-Id: given\r\n");
    (void)gateway->get("/", "X-Request-Id: \r\n");
    (void)gateway->get("/", "X-Request-Id: " + std::string(500, 'x') + "\r\n");
  }
  std::ifstream file(folder.file("access"));
  std::vector<std::string> ids;
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(" request_id=") + 12;
    ids.push_back(line.substr(at, line.find(' ', at) - at));
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"weir-1", "given", "weir-2", "weir-3"}));
}

TEST_F(GatewayDecisions, TheAdminAddressAnswersForThem) {
  const auto gateway = rig("name: api, limits: {rpm: 1/min}, limit_by: \"header:x-key\"");
  (void)gateway->get("/", "x-key: key-7\r\n");
  const std::string id = field_of(gateway->get("/", "x-key: key-7\r\n"), "Weir-Decision");
  Admin admin(*gateway->gateway);
  admin.serve_decisions();
  net::ServerOptions options;
  options.listen = {{.address = "127.0.0.1"}};
  auto server = net::Server::start(options, admin);
  ASSERT_TRUE(server);
  const auto ask = [&](const std::string& path, const std::string& host = "localhost",
                       const std::string& fields = "") {
    return net::Client((*server)->addresses()[0])
        .ask("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n");
  };
  const net::Response one = ask("/v1/decisions/" + id);
  EXPECT_EQ(one.status, 200);
  EXPECT_TRUE(has(one.body, R"("refused_by":[{"entity":"key-7","name":"rpm","source":"request"}])"))
      << one.body;
  EXPECT_TRUE(has(ask("/v1/decisions?entity=key-7").body, id));
  EXPECT_EQ(ask("/v1/decisions?entity=key-8").body, R"({"decisions":[]})");
  EXPECT_EQ(ask("/v1/decisions/00000000-1").status, 404);
  // A web page may ask for them neither by another name of this machine nor by its own.
  for (const char* const path : {"/v1/decisions", "/v1/decisions/00000000-1"}) {
    EXPECT_EQ(ask(path, "evil.example:8001").status, 403) << path;
    EXPECT_EQ(ask(path, "localhost", "Origin: http://evil.example\r\n").status, 403) << path;
    EXPECT_EQ(ask(path, "localhost", "Sec-Fetch-Site: cross-site\r\n").status, 403) << path;
  }
  for (const char* const path : {"/livez", "/readyz", "/metrics"})
    EXPECT_EQ(ask(path, "gateway.internal").status, 200) << path;
  EXPECT_EQ(ask("/metrics", "localhost", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(ask("/livez", "localhost", "Origin: http://evil.example\r\n").status, 200);
}

}  // namespace
}  // namespace weir::gateway
