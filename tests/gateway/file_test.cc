// The gateway's file: what is read from it, and what is said about mistakes in it.
#include <gtest/gtest.h>

#include "gateway/gateway_file.h"
#include "gateway/run.h"

namespace weir::gateway {
namespace {

std::string mistakes(std::string_view text) {
  const auto read = read_gateway_file(text, "f");
  return read ? "" : read.error().message;
}

TEST(GatewayFile, ReadsEverythingThatItCanSay) {
  const auto read = read_gateway_file(R"(
listen: 0.0.0.0:8080
admin_listen: "[::1]:9090"
admin_tokens: tokens
tls: {cert: cert.pem, key: key.pem, ca: ca.pem}
store: memory
namespace: team-1
threads: 4
on_unavailable: deny
trusted_proxies: [10.0.0.0/8, "2001:db8::/32", 192.0.2.1]
bucket_ttl_refill_multiplier: 3
access_log: "-"
max_connections_per_address: 7
max_new_clients: 8
max_new_clients_per_address: 9
routes:
  - name: api
    path: /api
    host: API.example.com
    upstream: ["http://127.0.0.1:9000", "https://backend.internal"]
    limit_by: header:X-Api-Key
    limits: {rpm: 100/min, rpd: {capacity: 1000, refill_period_ms: 86400000}}
    cost: header:X-Cost
    on_unavailable: allow
    timeout_ms: 1500
    upstream_host: upstream
    upgrade: [WebSocket, chat]
    unknown_clients: share
    paths: canonical
    path_case: same
    path_parameters: different
  - {path: /, upstream: "http://[::1]:81/", cost: 2.5, limit_by: client_ip/64}
)");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->listen, (HostPort{"0.0.0.0", 8080}));
  EXPECT_EQ(read->admin_listen, (HostPort{"::1", 9090}));
  EXPECT_EQ(read->admin_tokens, "tokens");
  EXPECT_EQ(read->tls, (TlsSettings{"cert.pem", "key.pem", "ca.pem"}));
  EXPECT_EQ(read->store, "memory");
  EXPECT_EQ(read->name_space, "team-1");
  EXPECT_EQ(read->threads, 4U);
  EXPECT_EQ(read->on_unavailable, OnUnavailable::deny);
  EXPECT_TRUE(read->trusted_proxies.have(*net::Address::parse("10.255.0.1", 0)));
  EXPECT_TRUE(read->trusted_proxies.have(*net::Address::parse("192.0.2.1", 0)));
  EXPECT_FALSE(read->trusted_proxies.have(*net::Address::parse("192.0.2.2", 0)));
  EXPECT_EQ(read->bucket_ttl_refill_multiplier, 3);
  EXPECT_EQ(read->access_log, "-");
  ASSERT_EQ(read->routes.size(), 2U);
  const RouteSettings& api = read->routes[0];
  EXPECT_EQ(api.name, "api");
  EXPECT_EQ(api.host, "api.example.com");
  ASSERT_EQ(api.upstreams.size(), 2U);
  EXPECT_EQ(api.upstreams[0].text(), "http://127.0.0.1:9000");
  EXPECT_EQ(api.upstreams[1].text(), "https://backend.internal:443");
  EXPECT_EQ(api.limit_by, (LimitBy{LimitBy::Kind::header, "X-Api-Key"}));
  ASSERT_EQ(api.limits.size(), 2U);
  EXPECT_EQ(api.limits[0].name, "rpd");
  EXPECT_EQ(api.cost_header, "X-Cost");
  EXPECT_EQ(api.on_unavailable, OnUnavailable::allow);
  EXPECT_EQ(api.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(api.upstream_host, HostField{HostField::Kind::upstream});
  EXPECT_EQ(api.upstreams[0].authority(), "127.0.0.1:9000");
  EXPECT_EQ(api.upstreams[1].authority(), "backend.internal");
  EXPECT_EQ(read->max_connections_per_address, 7U);
  EXPECT_EQ(read->new_clients.total, 8U);
  EXPECT_EQ(read->new_clients.per_network, 9U);
  EXPECT_EQ(api.upgrade, (std::vector<std::string>{"websocket", "chat"}));
  EXPECT_EQ(api.unknown_clients, UnknownClients::share);
  EXPECT_EQ(api.paths, PathRule::canonical);
  EXPECT_EQ(api.path_case, PathRespect::same);
  EXPECT_EQ(api.path_parameters, PathRespect::different);
  const RouteSettings& rest = read->routes[1];
  EXPECT_EQ(rest.upgrade, std::vector<std::string>{"websocket"});
  EXPECT_EQ(rest.name, "/");
  EXPECT_EQ(rest.upstreams[0].text(), "http://[::1]:81");
  EXPECT_EQ(rest.upstreams[0].authority(), "[::1]:81");
  EXPECT_EQ(rest.upstream_host, HostField{});
  EXPECT_EQ(rest.cost.millitokens(), 2500);
  EXPECT_EQ(rest.limit_by.kind, LimitBy::Kind::client_net);
  EXPECT_EQ(rest.timeout, std::chrono::milliseconds(60'000));
}

TEST(GatewayFile, NeedsOnlyARouteWithAPathAndAnUpstream) {
  const auto read = read_gateway_file("routes: [{path: /, upstream: 'http://127.0.0.1:9000'}]");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->listen, (HostPort{"127.0.0.1", 8080}));
  EXPECT_EQ(read->bucket_ttl_refill_multiplier, 2);
  EXPECT_FALSE(read->admin_listen || read->store || read->name_space || read->on_unavailable);
}

TEST(GatewayFile, SaysWhoMayUseTheApi) {
  const auto may = [](const std::string& admin) {
    const auto read = read_gateway_file(admin + "\nroutes: [{path: /, upstream: 'http://127.0.0.1:9000'}]");
    return read ? std::string(may_serve_api(*read) ? "served" : "not served") : read.error().message;
  };
  EXPECT_EQ(may(""), "not served");
  EXPECT_EQ(may("admin_listen: 127.0.0.1:9000"), "served");
  EXPECT_EQ(may("admin_listen: localhost:9000"), "served");
  EXPECT_EQ(may("admin_listen: '[::1]:9000'"), "served");
  for (const char* const reachable : {"0.0.0.0:9000", "192.0.2.7:9000", "[::]:9000"}) {
    const std::string admin = std::string("admin_listen: '") + reachable + "'";
    EXPECT_EQ(may(admin), "not served") << reachable;
    EXPECT_EQ(may(admin + "\nadmin_tokens: tokens"), "served") << reachable;
  }
  EXPECT_NE(may("admin_tokens: tokens").find("set admin_listen too"), std::string::npos);
}

TEST(GatewayFile, RefusesToServeTheApiToOthersWithoutTokens) {
  const auto checked = [](const std::string& admin, const std::string& store) {
    const auto read = read_gateway_file(admin + "\nroutes: [{path: /, upstream: 'http://127.0.0.1:9000'}]");
    EXPECT_TRUE(read) << read.error().message;
    const auto result = check_admin(*read, store);
    return result ? std::string("starts") : result.error().message;
  };
  for (const char* const store : {"memory", "memory:", "sqlite:weir.db"}) {
    EXPECT_EQ(checked("admin_listen: 0.0.0.0:8001", store),
              "admin_listen 0.0.0.0:8001 can be reached from other machines and no tokens are asked for; set "
              "admin_tokens: FILE, or let it be an address of this machine alone, such as 127.0.0.1:8001");
    EXPECT_NE(checked("admin_listen: '[::]:8001'", store), "starts");
    EXPECT_EQ(checked("admin_listen: 127.0.0.1:8001", store), "starts");
    EXPECT_EQ(checked("admin_listen: 0.0.0.0:8001\nadmin_tokens: tokens", store), "starts");
    EXPECT_EQ(checked("", store), "starts");
  }
  EXPECT_EQ(checked("admin_listen: 0.0.0.0:8001", "redis://127.0.0.1"), "starts")
      << "health and metrics only";
}

TEST(GatewayFile, SaysWhereAMistakeIsAndWhatWasMeant) {
  EXPECT_EQ(mistakes("routes:\n  - {path: /api, upstream: 'http://a:1', limts: {rpm: 1}}"),
            "f:2:42: unknown field \"limts\" of route \"/api\"; did you mean \"limits\"?");
  EXPECT_EQ(mistakes("lisen: 127.0.0.1:1\nroutes: [{path: /, upstream: 'http://a:1'}]"),
            "f:1:1: unknown field \"lisen\" of the file; did you mean \"listen\"?");
  EXPECT_EQ(
      mistakes("routes: [{path: /, upstream: 'http://a:1', limit_by: clientip}]"),
      "f:1:54: limit_by of route \"/\" is \"clientip\"; use client_ip, client_ip/64, header:NAME, path:N or "
      "bearer; did you mean \"client_ip\"?");
}

TEST(GatewayFile, AllowsUpgradesToModelsOnlyWhereTheyAreAskedFor) {
  const auto read = read_gateway_file(
      "routes: [{path: /, upstream: 'http://a:1'}, {path: /m, upstream: 'http://a:1', llm: auto},"
      "{path: /n, upstream: 'http://a:1', llm: auto, upgrade: [websocket]}]");
  ASSERT_TRUE(read);
  const std::vector<std::string> websocket{"websocket"};
  EXPECT_EQ(read->routes[0].upgrade, websocket);
  EXPECT_EQ(read->routes[1].upgrade, std::vector<std::string>());
  EXPECT_EQ(read->routes[2].upgrade, websocket);
}

TEST(GatewayFile, WantsTheKeyWhoseLimitsAnEntityFollows) {
  EXPECT_EQ(
      mistakes("routes: [{path: /, upstream: 'http://a:1', llm: auto, upstream_entity: vendor}]"),
      "f:1:72: upstream_entity of route \"/\" follows the vendor's limits for the gateway's own key; add "
      "upstream_key: env:NAME or file:PATH");
  EXPECT_EQ(
      mistakes("routes: [{path: /, upstream: 'http://a:1', llm: auto, upstream_entity: vendor, upstream_key: "
               "env:KEY}]"),
      "");
}

TEST(GatewayFile, SaysAllMistakesAtOnce) {
  EXPECT_EQ(
      mistakes("threads: 0\non_unavailable: maybe\nroutes:\n  - path: api\n    upstream: 127.0.0.1:80\n"),
      "f:1:10: threads of the file is \"0\"; use a whole number from 1 to 256\n"
      "f:2:17: on_unavailable of the file is \"maybe\"; use allow or deny\n"
      "f:4:11: path of route \"api\" is \"api\"; write a plain path that starts with /, without a query, "
      "escapes, parameters or dot segments, such as /api\n"
      "f:5:15: upstream of route \"api\" is \"127.0.0.1:80\"; write http://HOST:PORT or https://HOST:PORT, "
      "without a path");
}

TEST(GatewayFile, RefusesWhatMakesNoSense) {
  const std::string route = "routes: [{path: /, upstream: 'http://a:1'}]\n";
  EXPECT_NE(mistakes(""), "");
  EXPECT_NE(mistakes("[]"), "");
  EXPECT_EQ(mistakes("listen: 127.0.0.1:80"),
            "f:1:1: the file has no routes; write \"routes: [{path: /api, upstream: "
            "\"http://127.0.0.1:9000\", limits: "
            "{rpm: 100/min}}]\", for example");
  EXPECT_NE(mistakes("routes: []"), "");
  EXPECT_NE(mistakes("routes: [{path: /}]"), "");
  EXPECT_NE(mistakes("routes: [{upstream: 'http://a:1'}]"), "");
  EXPECT_NE(mistakes(route + "listen: example.com:80"), "");
  EXPECT_NE(mistakes(route + "listen: 127.0.0.1:65536"), "");
  EXPECT_NE(mistakes(route + "trusted_proxies: [10.0.0.1/8]"), "");
  EXPECT_NE(mistakes(route + "trusted_proxies: [10.0.0.0/33]"), "");
  EXPECT_NE(mistakes(route + "tls: {cert: a.pem}"), "");
  EXPECT_NE(mistakes(route + "namespace: Team"), "");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'http://a:1/base'}]"), "");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'ftp://a:1'}]"), "");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'http://a:0'}]"), "");
  EXPECT_NE(mistakes("routes: [{path: '/a?b', upstream: 'http://a:1'}]"), "");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: []}]"), "");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'http://a:1', limit_by: 'header:'}]"), "");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'http://a:1', limit_by: 'path:0'}]"), "");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'http://a:1', cost: -1}]"), "");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'http://a:1', timeout_ms: 0}]"), "");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'http://a:1', limits: {rpm: soon}}]"), "");
  EXPECT_EQ(mistakes("routes: [{path: /, upstream: 'http://a:1', upstream_host: 'a b'}]"),
            "f:1:59: upstream_host of route \"/\" is \"a b\"; write client, upstream or a host name, such as "
            "api.example.com");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'http://a:1', upstream_host: 'a:99999'}]"), "");
  EXPECT_EQ(mistakes("routes: [{path: /, upstream: 'http://a:1', upstream_host: 'a.example:99'}]"), "");
  EXPECT_EQ(mistakes("routes: [{path: /, upstream: 'http://a:1', paths: loose}]"),
            "f:1:51: paths of route \"/\" is \"loose\"; use strict or canonical");
  EXPECT_EQ(mistakes("routes: [{path: /, upstream: 'http://a:1', unknown_clients: deny}]"),
            "f:1:61: unknown_clients of route \"/\" is \"deny\"; use limit, share or refuse");
  EXPECT_NE(mistakes("routes: [{path: /, upstream: 'http://a:1', upgrade: [h2c]}]"), "");
  EXPECT_EQ(mistakes("routes: [{path: /, upstream: 'http://a:1', upgrade: []}]"), "");
  EXPECT_NE(mistakes(route + "max_new_clients: 0"), "");
  EXPECT_NE(mistakes("routes: [{path: '/a;b', name: a, upstream: 'http://a:1'}]"), "");
  EXPECT_NE(mistakes("routes: [{path: /~me, upstream: 'http://a:1'}]"), "") << "the path is no name";
  EXPECT_EQ(mistakes("routes: [{path: /~me, name: me, upstream: 'http://a:1'}]"), "");
}

TEST(GatewayFile, RefusesTwoRoutesForTheSameRequests) {
  EXPECT_NE(mistakes("routes: [{path: /a, name: x, upstream: 'http://a:1'}, {path: /a, name: y, upstream: "
                     "'http://a:1'}]"),
            "");
  EXPECT_EQ(mistakes("routes: [{path: /a, upstream: 'http://a:1'}, {path: /a, name: y, host: h, upstream: "
                     "'http://a:1'}]"),
            "");
  EXPECT_NE(mistakes("routes: [{path: /a, name: x, upstream: 'http://a:1', limits: {r: 1}}, "
                     "{path: /b, name: x, upstream: 'http://a:1', limits: {r: 2}}]"),
            "");
}

}  // namespace
}  // namespace weir::gateway
