// Many connections at once: exactly what the limits allow is admitted.
#include <vector>

#include "service/api.h"

namespace weir::service {
namespace {

WEIR_API_TESTS(Exactness);

constexpr int connections = 64;
constexpr int rounds = 4;

struct Count {
  int admitted = 0;
  int refused = 0;
};

/// Every connection sends before any is listened to, again and again.
template <class BodyOf>
Count hammer(const net::Address& address, BodyOf&& body_of) {
  std::vector<Connection> clients;
  for (int i = 0; i < connections; ++i) clients.emplace_back(address);
  Count count;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < connections; ++i)
      clients[static_cast<std::size_t>(i)].send("POST", "/v1/acquire", body_of(i));
    for (Connection& client : clients) {
      const Seen seen = client.receive();
      EXPECT_TRUE(seen.status == 200 || seen.status == 429) << seen.body;
      ++(seen.status == 200 ? count.admitted : count.refused);
    }
  }
  return count;
}

TEST_P(Exactness, SixtyFourConnectionsAdmitExactlyTheCapacity) {
  set_system(R"("rpm":"100/min","tpm":"1000000/min")");
  const Count count = hammer(address(), [](int) {
    return std::string(R"({"entity":"one","resource":"gpt-4","consume":{"rpm":1,"tpm":2}})");
  });
  EXPECT_EQ(count.admitted, 100);
  EXPECT_EQ(count.refused, connections * rounds - 100);
  const Seen seen = get("/v1/entities/one/buckets");
  EXPECT_EQ(seen.at("/buckets/0/limits/0/consumed"), "100");
  EXPECT_EQ(seen.at("/buckets/0/limits/1/consumed"), "200");
}

TEST_P(Exactness, SixtyFourConnectionsAdmitExactlyTheCapacityOfACascade) {
  set_system(R"("rpm":"1000/min")");
  ASSERT_EQ(put("/v1/limits/entity/project/_default_", R"({"limits":{"rpm":"100/min"}})").status, 200);
  for (int key = 0; key < 4; ++key) {
    ASSERT_EQ(put("/v1/entities/key-" + std::to_string(key), R"({"parent":"project","cascade":true})").status,
              200);
  }
  const Count count = hammer(address(), [](int i) {
    return R"({"entity":"key-)" + std::to_string(i % 4) + R"(","resource":"gpt-4","consume":{"rpm":1}})";
  });
  EXPECT_EQ(count.admitted, 100);
  EXPECT_EQ(get("/v1/entities/project/buckets").at("/buckets/0/limits/0/consumed"), "100");
  int charged = 0;
  for (int key = 0; key < 4; ++key) {
    const Seen seen = get("/v1/entities/key-" + std::to_string(key) + "/buckets");
    charged += std::stoi(seen.at("/buckets/0/limits/0/consumed"));
  }
  EXPECT_EQ(charged, 100);
}

TEST_P(Exactness, PipelinedRequestsAreAnsweredInOrder) {
  set_system(R"("rpm":"10/min")");
  std::string all;
  for (int i = 0; i < 16; ++i) {
    all += request_text("POST", "/v1/acquire", R"({"entity":"e","resource":"gpt-4","consume":{"rpm":1}})",
                        "X-Request-Id: r" + std::to_string(i) + "\r\n");
  }
  net::Client client(address());
  ASSERT_TRUE(client.send(all));
  int admitted = 0;
  for (int i = 0; i < 16; ++i) {
    const net::Response response = client.receive();
    EXPECT_TRUE(response.has("X-Request-Id: r" + std::to_string(i) + "\r\n")) << response.head;
    admitted += response.status == 200 ? 1 : 0;
  }
  EXPECT_EQ(admitted, 10);
}

}  // namespace
}  // namespace weir::service
