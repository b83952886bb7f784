// The entity that is charged: addresses beyond proxies, headers, paths, tokens.
#include "gateway/client.h"

#include <gtest/gtest.h>

namespace weir::gateway {
namespace {

/// A request as it was parsed; keeps its bytes.
struct Parsed {
  explicit Parsed(std::string fields, std::string_view target = "/a/b") {
    bytes = "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n" + std::move(fields) + "\r\n";
    wire::http::RequestParser parser(wire::http::Limits{});
    EXPECT_EQ(parser.parse(bytes, head), wire::http::Progress::complete);
  }
  std::string bytes;
  wire::http::RequestHead head;
};

net::Address at(std::string_view text) { return *net::Address::parse(text, 1234); }

Networks trusted() {
  Networks networks;
  for (const char* text : {"10.0.0.0/8", "2001:db8::/32"}) networks.add(*Network::parse(text));
  return networks;
}

std::string client(std::string_view peer, const std::string& forwarded) {
  const Parsed parsed(forwarded);
  return origin_of(at(peer), parsed.head.fields(), trusted()).client.host();
}

std::string entity(const RouteSettings& route, const std::string& fields, std::string_view target,
                   std::string_view peer = "192.0.2.7") {
  const Parsed parsed(fields, target);
  PathForms path;
  path.set(parsed.head.path());
  std::string name = "before";
  name_client(name, route, origin_of(at(peer), parsed.head.fields(), trusted()), parsed.head, path);
  return name;
}

std::string entity(const LimitBy& by, const std::string& fields, std::string_view target = "/a/b",
                   std::string_view peer = "192.0.2.7") {
  return entity(RouteSettings{.name = "r", .path = "/", .limit_by = by}, fields, target, peer);
}

TEST(Client, IsThePeerUnlessTheProxyIsTrusted) {
  EXPECT_EQ(client("192.0.2.7", ""), "192.0.2.7");
  EXPECT_EQ(client("192.0.2.7", "X-Forwarded-For: 198.51.100.1\r\n"), "192.0.2.7");
  EXPECT_EQ(client("10.0.0.1", "X-Forwarded-For: 198.51.100.1\r\n"), "198.51.100.1");
  EXPECT_EQ(client("10.0.0.1", ""), "10.0.0.1");
}

TEST(Client, IsTheFirstFromTheRightThatIsNotTrusted) {
  EXPECT_EQ(client("10.0.0.1", "X-Forwarded-For: 6.6.6.6, 198.51.100.1, 10.0.0.2\r\n"), "198.51.100.1");
  EXPECT_EQ(client("10.0.0.1", "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 198.51.100.1, 10.0.0.2\r\n"),
            "198.51.100.1");
  EXPECT_EQ(client("10.0.0.1", "X-Forwarded-For: 10.0.0.3, 10.0.0.2\r\n"), "10.0.0.3") << "all are trusted";
  EXPECT_EQ(client("10.0.0.1", "X-Forwarded-For: , 198.51.100.1 , ,\r\n"), "198.51.100.1");
}

TEST(Client, StopsAtWhatIsNoAddress) {
  EXPECT_EQ(client("10.0.0.1", "X-Forwarded-For: 6.6.6.6, unknown, 10.0.0.2\r\n"), "10.0.0.2");
  EXPECT_EQ(client("10.0.0.1", "X-Forwarded-For: _hidden\r\n"), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", "X-Forwarded-For: 1.2.3.4:99999\r\n"), "10.0.0.1");
}

TEST(Client, IsReadWithAPortAndInBrackets) {
  EXPECT_EQ(client("10.0.0.1", "X-Forwarded-For: 198.51.100.1:4711\r\n"), "198.51.100.1");
  EXPECT_EQ(client("2001:db8::1", "X-Forwarded-For: [2001:500::1]:4711\r\n"), "2001:500::1");
  EXPECT_EQ(client("::ffff:10.0.0.1", "X-Forwarded-For: ::ffff:198.51.100.1\r\n"), "198.51.100.1");
}

TEST(Client, IsNamedByItsAddressOrItsNetwork) {
  EXPECT_EQ(entity(LimitBy(), ""), "ip:192.0.2.7");
  EXPECT_EQ(entity({LimitBy::Kind::client_net}, ""), "ip:192.0.2.7");
  EXPECT_EQ(entity({LimitBy::Kind::client_ip}, "", "/", "2001:500:1:2:3:4:5:6"), "ip:2001:500:1:2:3:4:5:6");
  EXPECT_EQ(entity({LimitBy::Kind::client_net}, "", "/", "2001:500:1:2:3:4:5:6"), "ip:2001:500:1:2::/64");
}

TEST(Client, IsNamedByAHeader) {
  const LimitBy by{LimitBy::Kind::header, "X-Api-Key"};
  EXPECT_EQ(entity(by, "x-api-key: key-1\r\n"), "key-1");
  // printf 'two words' | sha256sum
  EXPECT_EQ(entity(by, "X-Api-Key: two words\r\n"),
            "h:a03f1d611645eb53ad16c1af546ca0792dc884505bab57ede80f4dad6b911d3a");
  EXPECT_NE(entity(by, "X-Api-Key: two words\r\n"), entity(by, "X-Api-Key: two  words\r\n"));
  EXPECT_EQ(entity(by, "X-Api-Key: " + std::string(257, 'a') + "\r\n").size(), 66U);
  EXPECT_EQ(entity(by, ""), "ip:192.0.2.7") << "a missing header";
  EXPECT_EQ(entity(by, "", "/", "2001:500:1:2:3:4:5:6"), "ip:2001:500:1:2::/64") << "of the network";
  EXPECT_EQ(entity(by, "X-Api-Key:\r\n"), "ip:192.0.2.7") << "an empty one";
}

TEST(Client, IsNamedByTheHashOfItsToken) {
  const LimitBy by{LimitBy::Kind::bearer};
  // printf secret | sha256sum
  EXPECT_EQ(entity(by, "Authorization: Bearer secret\r\n"),
            "h:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b");
  EXPECT_EQ(entity(by, "authorization: bEARER secret\r\n"),
            "h:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b");
  for (const char* spelling : {"Bearer  secret", "Bearer\tsecret", "BEARER \t secret  "}) {
    EXPECT_EQ(entity(by, "Authorization: " + std::string(spelling) + "\r\n"),
              entity(by, "Authorization: Bearer secret\r\n"))
        << spelling;
  }
  for (const char* other : {"Basic secret", "Bearersecret", "Bearer", "Bearer "})
    EXPECT_EQ(entity(by, "Authorization: " + std::string(other) + "\r\n"), "ip:192.0.2.7") << other;
  EXPECT_EQ(entity(by, ""), "ip:192.0.2.7");
}

TEST(Client, IsNamedByAPartOfThePath) {
  EXPECT_EQ(entity({LimitBy::Kind::path, {}, 2}, "", "/tenants/acme/orders"), "acme");
  EXPECT_EQ(entity({LimitBy::Kind::path, {}, 1}, "", "/tenants"), "tenants");
  EXPECT_EQ(entity({LimitBy::Kind::path, {}, 2}, "", "/tenants"), "ip:192.0.2.7");
  EXPECT_EQ(entity({LimitBy::Kind::path, {}, 1}, "", "/a%20b").size(), 66U);
}

TEST(Client, IsTheSameHoweverItsPartOfThePathIsSpelled) {
  const LimitBy by{LimitBy::Kind::path, {}, 2};
  for (const char* spelling :
       {"/tenants/acme/x", "/tenants/%61cme/x", "/tenants/%61%63%6D%65/x", "//tenants/acme/x",
        "/tenants//acme/x", "/./tenants/acme", "/a/../tenants/acme", "/tenants/x/../acme", "/tenants/acme/.",
        "/%74enants/acme", "/tenants/acme;v=1/x", "/tenants;a/acme", "/tenants/acme%3Bv=1", "/tenants%2Facme",
        "/tenants\\acme", "/tenants/%2e/acme", "/tenants/acme/"}) {
    EXPECT_EQ(entity(by, "", spelling), "acme") << spelling;
  }
  RouteSettings route{.name = "r", .path = "/", .limit_by = by};
  EXPECT_EQ(entity(route, "", "/tenants/ACME"), "ACME") << "unless the route says that case does not matter";
  route.path_case = PathRespect::same;
  EXPECT_EQ(entity(route, "", "/tenants/ACME"), "acme");
  route.path_parameters = PathRespect::different;
  EXPECT_NE(entity(route, "", "/tenants/acme;v=1"), "acme");
}

TEST(Client, AValueIsNeverTakenForAnAddressOrAHash) {
  const LimitBy by{LimitBy::Kind::header, "X-Api-Key"};
  for (const char* key : {"ip:192.0.2.7", "ip:2001:500:1:2::/64", "ip:", "h:",
                          "h:2bb80d537b1da3e38bd30361aa855686"
                          "bde0eacd7162fef6a25fe97bf527a25b"}) {
    const std::string name = entity(by, "X-Api-Key: " + std::string(key) + "\r\n");
    EXPECT_TRUE(name.starts_with("h:") && name.size() == 66) << name;
    EXPECT_NE(name, key);
  }
  EXPECT_EQ(entity(by, "X-Api-Key: 192.0.2.7\r\n"), "192.0.2.7") << "no address is named so";
  EXPECT_EQ(entity(by, "X-Api-Key: IP:1\r\n"), "IP:1");
}

TEST(Client, CannotBeHiddenOrGivenTwice) {
  const auto hidden = [](const std::string& fields) {
    const Parsed parsed(fields);
    return std::string(hidden_client({LimitBy::Kind::header, "X-Api-Key"}, parsed.head));
  };
  for (const char* name : {"X-Api-Key", "x-api-key", "Authorization", "X-Forwarded-For", "x-forwarded-proto",
                           "X-Forwarded-Anything", "Forwarded", "X-Real-IP", "Host"}) {
    EXPECT_NE(hidden("Connection: " + std::string(name) + "\r\n"), "") << name;
    EXPECT_NE(hidden("Connection: close\r\nConnection: keep-alive ,\t" + std::string(name) + "\r\n"), "")
        << name;
  }
  EXPECT_NE(hidden("X-Api-Key: a\r\nX-API-KEY: b\r\n"), "");
  EXPECT_NE(hidden("Authorization: a\r\nX: y\r\nauthorization: a\r\n"), "");
  EXPECT_EQ(hidden("X-Api-Key: a\r\nAuthorization: b\r\nConnection: keep-alive, X-Other\r\nX-Other: 1\r\nX: "
                   "1\r\nX: 2\r\n"),
            "");
}

TEST(Client, HasATokenThatProgramsReadInOneWay) {
  const auto hidden = [](const std::string& value) {
    const Parsed parsed("Authorization: " + value + "\r\n");
    return std::string(hidden_client({LimitBy::Kind::bearer}, parsed.head));
  };
  for (const char* value : {"Bearer a b", "bearer a\tb", "Bearer a, Basic b",
                            "Bearer\xA0"
                            "a",
                            "Bearer \x85"
                            "a",
                            "Bearer a\xA0",
                            "\xA0"
                            "Bearer a"})
    EXPECT_NE(hidden(value), "") << value;
  for (const char* value :
       {"Bearer a", "Bearer \t a ", "Bearera", "Basic YTpi", "Digest a=b, c=d", "Bearer", ""})
    EXPECT_EQ(hidden(value), "") << value;
  const Parsed other("Authorization: Bearer a b\r\n");
  EXPECT_EQ(hidden_client({LimitBy::Kind::client_ip}, other.head), "");
}

TEST(Client, HasOneNameHoweverAProgramReadsBytesThatAreNotUtf8) {
  const LimitBy by{LimitBy::Kind::path, {}, 2};
  const std::string name = entity(by, "", "/tenants/%FF");
  for (const char* spelling : {"/tenants/%fe", "/tenants/%80", "/tenants/%C0%AE", "/tenants/%ED%A0%80",
                               "/tenants/%EF%BF%BD", "/tenants/acme%FF", "/tenants/a%E2%82"})
    EXPECT_EQ(entity(by, "", spelling), name) << spelling;
  EXPECT_NE(entity(by, "", "/tenants/%E2%82%AC"), name) << "a euro sign";
}

TEST(Networks, HaveTheAddressesWithTheirFirstBits) {
  EXPECT_TRUE(Network::parse("10.0.0.0/15")->has(at("10.1.255.255")));
  EXPECT_FALSE(Network::parse("10.0.0.0/15")->has(at("10.2.0.0")));
  EXPECT_TRUE(Network::parse("0.0.0.0/0")->has(at("203.0.113.1")));
  EXPECT_FALSE(Network::parse("0.0.0.0/0")->has(at("::1")));
  EXPECT_TRUE(Network::parse("2001:db8::/127")->has(at("2001:db8::1")));
  EXPECT_FALSE(Network::parse("2001:db8::/127")->has(at("2001:db8::2")));
  EXPECT_FALSE(Network::parse("10.0.0.1/8"));
  EXPECT_FALSE(Network::parse("10.0.0.0/"));
  EXPECT_FALSE(Network::parse("ten"));
}

}  // namespace
}  // namespace weir::gateway
