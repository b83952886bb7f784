// Clients that are charged under the name in the metadata of their entity.
#include <openssl/sha.h>

#include <array>

#include "app/open_store.h"
#include "base/hex.h"
#include "gateway/rig.h"
#include "support/eventually.h"
#include "support/folder.h"
#include "support/redis_server.h"

namespace weir::gateway {
namespace {

/// The entity of a key.
std::string entity_of(std::string_view key) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return "h:" + base::hex(digest);
}

/// A gateway with one route, of two requests a day for each client, and what its store holds.
class AliasRig : public Rig {
 public:
  explicit AliasRig(const std::string& url, const std::string& more = "limit_by: bearer",
                    const std::shared_ptr<store::Store>& store = nullptr)
      : Rig(Rig::route(url, "name: api, limits: {rpm: 2/day}, " + more), store) {}

  limiter::Core& core() const { return gateway->decider()->core; }
  /// Puts the entity with this alias; without one where it is empty.
  void name(const std::string& entity, const std::string& alias) const {
    Entity record{.id = entity};
    if (!alias.empty()) record.metadata["alias"] = alias;
    const auto put = core().put_entity(record);
    ASSERT_TRUE(put) << put.error().message;
  }
  int status(std::string_view key) const {
    return get("/", "Authorization: Bearer " + std::string(key) + "\r\n").status;
  }
  /// What the entity's bucket has been charged; empty: it has none.
  std::string charged(std::string_view entity, std::string_view limit = "rpm") const {
    const auto page = core().buckets(entity, {});
    EXPECT_TRUE(page);
    for (const Bucket& bucket : page->items) {
      for (const BucketLimit& found : bucket.limits)
        if (found.name == limit) return found.consumed.to_string();
    }
    return {};
  }
};

class Aliases : public testing::Test {
 public:
  Upstream upstream{mirror};
};

TEST_F(Aliases, AreChargedInPlaceOfTheKey) {
  const AliasRig rig(upstream.url());
  rig.name(entity_of("key"), "acme-prod");
  EXPECT_EQ(rig.status("key"), 200);
  EXPECT_EQ(rig.charged("acme-prod"), "1");
  EXPECT_EQ(rig.charged(entity_of("key")), "");
}

TEST_F(Aliases, HaveTheLimitsAndTheParentThatHold) {
  const AliasRig rig(upstream.url());
  rig.name(entity_of("key"), "acme-prod");
  ASSERT_TRUE(rig.core().put_entity({.id = "acme-prod", .parent = "acme", .cascade = true}));
  for (const auto& [entity, limit] : {std::pair("acme-prod", "3/day"), std::pair("acme", "9/day")})
    ASSERT_TRUE(rig.core().set_limits(Level::entity_default(entity), *parse_limits({{"rpm", limit}}), {}));
  for (const int status : {200, 200, 200, 429}) EXPECT_EQ(rig.status("key"), status);
  EXPECT_EQ(rig.charged("acme"), "3");
}

TEST_F(Aliases, GiveTwoKeysOneBucket) {
  const AliasRig rig(upstream.url());
  rig.name(entity_of("old"), "acme-prod");
  rig.name(entity_of("new"), "acme-prod");
  EXPECT_EQ(rig.status("old"), 200);
  EXPECT_EQ(rig.status("new"), 200);
  EXPECT_EQ(rig.status("old"), 429);
  EXPECT_EQ(rig.status("new"), 429);
  EXPECT_EQ(rig.status("another"), 200);
}

TEST_F(Aliases, OfClientsThatWereSeenBeforeHoldForTheNextRequest) {
  const AliasRig rig(upstream.url());
  const std::string own = entity_of("key");
  EXPECT_EQ(rig.status("key"), 200);
  EXPECT_EQ(rig.charged(own), "1");
  for (const char* alias : {"acme-prod", "acme-test"}) {
    rig.name(own, alias);
    EXPECT_EQ(rig.status("key"), 200);
    EXPECT_EQ(rig.charged(alias), "1");
  }
  rig.name(own, "");
  EXPECT_EQ(rig.status("key"), 200);
  EXPECT_EQ(rig.charged(own), "2") << "its record has no alias any more";
  rig.name(own, "acme-last");
  EXPECT_EQ(rig.status("key"), 200);
  EXPECT_EQ(rig.charged("acme-last"), "1");
  ASSERT_TRUE(rig.core().delete_entity(own));
  EXPECT_EQ(rig.status("key"), 200);
  EXPECT_EQ(rig.charged(own), "1") << "the record and its bucket are gone";
}

TEST_F(Aliases, OfAnAliasAreNotFollowed) {
  const AliasRig rig(upstream.url());
  rig.name(entity_of("key"), "acme-prod");
  rig.name("acme-prod", "acme");
  EXPECT_EQ(rig.status("key"), 200);
  EXPECT_EQ(rig.charged("acme-prod"), "1");
  EXPECT_EQ(rig.charged("acme"), "");
}

TEST_F(Aliases, DoNotUndoABlockOfTheKey) {
  const AliasRig rig(upstream.url());
  const std::string own = entity_of("key");
  rig.name(own, "acme-prod");
  const AccessRule elsewhere{.access = Access::blocked, .resource = "other", .reason = "abuse"};
  ASSERT_TRUE(rig.core().set_access(own, elsewhere));
  EXPECT_EQ(rig.status("key"), 200);
  EXPECT_EQ(rig.charged("acme-prod"), "1") << "the block does not hold on this route";
  const AccessRule everywhere{.access = Access::blocked, .until = rig.clock.now() + 1000, .reason = "abuse"};
  ASSERT_TRUE(rig.core().set_access(own, everywhere));
  EXPECT_EQ(rig.status("key"), 429);
  EXPECT_EQ(rig.charged("acme-prod"), "1");
  rig.name(own, "acme-test");
  EXPECT_EQ(rig.status("key"), 429) << "nor does a change of the alias";
}

TEST_F(Aliases, HoldAgainWhenABlockOfTheKeyIsOver) {
  AliasRig rig(upstream.url());
  const std::string own = entity_of("key");
  rig.name(own, "acme-prod");
  const AccessRule block{.access = Access::blocked, .until = rig.clock.now() + 1000, .reason = "abuse"};
  ASSERT_TRUE(rig.core().set_access(own, block));
  EXPECT_EQ(rig.status("key"), 429);
  rig.clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(rig.status("key"), 200);
  EXPECT_EQ(rig.charged("acme-prod"), "1");
}

TEST_F(Aliases, AreRefusedWhereTheyAreBlocked) {
  const AliasRig rig(upstream.url());
  rig.name(entity_of("key"), "acme-prod");
  EXPECT_EQ(rig.status("key"), 200);
  ASSERT_TRUE(rig.core().set_access("acme-prod", {.access = Access::blocked, .reason = "unpaid"}));
  EXPECT_EQ(rig.status("key"), 429);
}

TEST_F(Aliases, MakeAClientKnown) {
  for (const char* unknown : {"refuse", "share"}) {
    const AliasRig rig(upstream.url(), std::string("limit_by: bearer, unknown_clients: ") + unknown);
    rig.name(entity_of("key"), "acme-prod");
    EXPECT_EQ(rig.status("key"), 200);
    EXPECT_EQ(rig.charged("acme-prod"), "1") << "although no record has this name";
  }
  const AliasRig rig(upstream.url(), "limit_by: bearer, unknown_clients: refuse");
  EXPECT_EQ(rig.status("key"), 403);
}

TEST_F(Aliases, AreNotForTheValueOfAHeader) {
  const AliasRig rig(upstream.url(), "limit_by: header:X-Key");
  rig.name("key-1", "acme-prod");
  EXPECT_EQ(rig.get("/", "X-Key: key-1\r\n").status, 200);
  EXPECT_EQ(rig.charged("acme-prod"), "");
  EXPECT_EQ(rig.charged("key-1"), "1");
}

TEST_F(Aliases, AreNotForAddresses) {
  const AliasRig rig(upstream.url(), "limit_by: client_ip");
  rig.name("ip:127.0.0.1", "acme-prod");
  EXPECT_EQ(rig.get("/").status, 200);
  EXPECT_EQ(rig.charged("acme-prod"), "");
}

TEST_F(Aliases, AreChargedForCallsToModels) {
  Upstream vendor([](Peer& peer, unsigned) {
    for (std::string head; !(head = peer.read_until("\r\n\r\n{\"model\":\"m\"}")).empty();)
      peer.answer(R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}})",
                  "Content-Type: application/json\r\n");
  });
  const AliasRig rig(vendor.url(), "llm: auto, limit_by: bearer");
  rig.name(entity_of("customer-1"), "acme-prod");
  rig.name(entity_of("customer-2"), "acme-prod");
  const auto status = [&](std::string_view field) {
    return rig.client().ask(net::post("/v1/chat/completions", R"({"model":"m"})", field)).status;
  };
  EXPECT_EQ(status("Authorization: Bearer customer-1\r\n"), 200);
  EXPECT_EQ(status("x-api-key: customer-2\r\n"), 200);
  EXPECT_EQ(status("Authorization: Bearer customer-1\r\n"), 429);
  EXPECT_EQ(rig.charged("acme-prod"), "2");
}

TEST_F(Aliases, ThatAreBlockedDoNotRefuseCallsOfAnExemptKey) {
  Upstream vendor([](Peer& peer, unsigned) {
    while (!peer.read_until("\r\n\r\n{\"model\":\"m\"}").empty()) peer.answer("{}");
  });
  for (const char* resource : {"", "m"}) {
    AliasRig rig(vendor.url(), "llm: auto, limit_by: bearer");
    const std::string own = entity_of("key");
    rig.name(own, "acme-prod");
    ASSERT_TRUE(rig.core().set_access("acme-prod", {.access = Access::blocked, .reason = "unpaid"}));
    const auto status = [&] {
      return rig.client()
          .ask(net::post("/v1/chat/completions", R"({"model":"m"})", "Authorization: Bearer key\r\n"))
          .status;
    };
    EXPECT_EQ(status(), 429);
    const AccessRule exempt{
        .access = Access::exempt, .resource = resource, .until = rig.clock.now() + 1000, .reason = "our own"};
    ASSERT_TRUE(rig.core().set_access(own, exempt));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(status(), 200) << resource;
    rig.clock.advance(std::chrono::seconds(1));
    EXPECT_EQ(status(), 429) << "the exemption is over";
  }
}

TEST_F(Aliases, HoldOnAFileAndOnRedis) {
  const tests::Folder folder;
  const tests::RedisServer server;
  for (const std::string& url : {"sqlite:" + folder.file("w.db"), server.patient_url()}) {
    const auto clock = std::make_shared<FakeClock>(1'800'000'000'000);
    base::SystemEntropy entropy;
    const auto store = app::open_store(url, {}, clock, entropy);
    ASSERT_TRUE(store) << store.error().message;
    const AliasRig rig(upstream.url(), "limit_by: bearer", *store);
    EXPECT_EQ(rig.status("key"), 200) << url;
    rig.name(entity_of("key"), "acme-prod");
    EXPECT_EQ(rig.status("key"), 200) << url;
    EXPECT_EQ(rig.charged("acme-prod"), "1") << url;
    EXPECT_EQ(rig.status("key"), 200) << url;
    EXPECT_EQ(rig.status("key"), 429) << url;
    rig.name(entity_of("key"), "");
    EXPECT_EQ(rig.status("key"), 200) << url;
    EXPECT_EQ(rig.charged(entity_of("key")), "2") << url;
  }
}

TEST_F(Aliases, ThatCannotBeReadLeaveTheRequestToThePolicyForOutages) {
  tests::RedisServer server;
  const auto clock = std::make_shared<FakeClock>(1'800'000'000'000);
  base::SystemEntropy entropy;
  const auto store = app::open_store(server.patient_url() + "&cache_ms=1", {}, clock, entropy);
  ASSERT_TRUE(store) << store.error().message;
  const std::string denies = ", limit_by: bearer, name: shut, on_unavailable: deny}, ";
  const AliasRig rig(upstream.url(), "limit_by: bearer", *store);
  rig.load("routes: [{path: /shut, upstream: \"" + upstream.url() + "\"" + denies + "{path: /, upstream: \"" +
           upstream.url() + "\", limit_by: bearer, on_unavailable: allow}, " + "{path: /off, upstream: \"" +
           upstream.url() +
           "\", limit_by: bearer, mode: off, unknown_clients: share, on_unavailable: deny}]");
  rig.name(entity_of("key"), "acme-prod");
  server.kill();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const std::string field = "Authorization: Bearer key\r\n";
  const auto passed = rig.get("/", field);
  EXPECT_EQ(passed.status, 200);
  EXPECT_TRUE(passed.has("Weir-Degraded: true\r\n")) << passed.head;
  EXPECT_EQ(rig.get("/shut", field).status, 503);
  EXPECT_EQ(rig.get("/off", field).status, 200);
}

/// A gateway on Redis hears of a change by another process.
TEST_F(Aliases, OfAnotherProcessHoldOnceTheyAreHeardOf) {
  const tests::RedisServer server;
  const auto clock = std::make_shared<FakeClock>(1'800'000'000'000);
  base::SystemEntropy entropy;
  const auto store = app::open_store(server.patient_url(), {}, clock, entropy);
  ASSERT_TRUE(store) << store.error().message;
  const AliasRig rig(upstream.url(), "limit_by: bearer", *store);
  const auto other = app::open_store(server.patient_url(), {}, clock, entropy);
  ASSERT_TRUE(other) << other.error().message;
  limiter::Core elsewhere({clock, std::make_shared<base::SystemEntropy>(), *other}, {});
  EXPECT_EQ(rig.status("key"), 200);
  ASSERT_TRUE(elsewhere.put_entity({.id = entity_of("key"), .metadata = {{"alias", "acme-prod"}}}));
  EXPECT_TRUE(tests::eventually([&] {
    rig.status("key");
    return !rig.charged("acme-prod").empty();
  }));
}

}  // namespace
}  // namespace weir::gateway
