// Ways around the tokens of a model that attackers may find: each is refused, or charged as it should be.
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

}  // namespace
}  // namespace weir::gateway
