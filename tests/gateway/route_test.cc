// Which route a request takes.
#include <gtest/gtest.h>

#include "gateway/route_table.h"

namespace weir::gateway {
namespace {

RouteTable table(const std::vector<std::pair<std::string, std::string>>& hosts_and_paths) {
  std::vector<RouteSettings> routes;
  for (const auto& [host, path] : hosts_and_paths)
    routes.push_back({.name = path, .path = path, .host = host});
  return RouteTable(routes);
}

TEST(Routes, TheLongestPathWins) {
  const RouteTable routes = table({{"", "/"}, {"", "/api"}, {"", "/api/v2/"}, {"", "/api/v2/users"}});
  EXPECT_EQ(routes.find("a", "/"), 0U);
  EXPECT_EQ(routes.find("a", "/other"), 0U);
  EXPECT_EQ(routes.find("a", "/api"), 1U);
  EXPECT_EQ(routes.find("a", "/api/"), 1U);
  EXPECT_EQ(routes.find("a", "/api/v1"), 1U);
  EXPECT_EQ(routes.find("a", "/api/v2"), 1U) << "the route is for what is below it";
  EXPECT_EQ(routes.find("a", "/api/v2/"), 2U);
  EXPECT_EQ(routes.find("a", "/api/v2/users/7"), 3U);
}

TEST(Routes, ANameThatOnlyBeginsLikeTheRoutesIsAnother) {
  const RouteTable routes = table({{"", "/api"}});
  EXPECT_EQ(routes.find("a", "/apis"), RouteTable::none);
  EXPECT_EQ(routes.find("a", "/ap"), RouteTable::none);
  EXPECT_EQ(routes.find("a", "*"), RouteTable::none);
}

TEST(Routes, RoutesForTheHostGoFirst) {
  const RouteTable routes = table({{"", "/api"}, {"a.example", "/"}, {"b.example", "/api"}});
  EXPECT_EQ(routes.find("a.example", "/api"), 1U);
  EXPECT_EQ(routes.find("A.Example:8080", "/"), 1U);
  EXPECT_EQ(routes.find("a.example.", "/"), 1U);
  EXPECT_EQ(routes.find("b.example", "/"), RouteTable::none);
  EXPECT_EQ(routes.find("c.example", "/api/1"), 0U);
  EXPECT_EQ(routes.find("[::1]:80", "/api/1"), 0U);
}

TEST(Routes, NoWayOfWritingAPathSlipsPast) {
  const RouteTable routes = table({{"", "/"}, {"", "/admin"}});
  for (const char* path :
       {"/admin", "/admin/x", "/%61dmin", "//admin", "/./admin", "/a/../admin", "/a/%2e%2e/admin/x",
        "/a/..%2fadmin", "/.%2Fadmin", "/a\\..\\admin", "/admin%2f", "/../admin"}) {
    EXPECT_EQ(routes.find("a", path), 1U) << path;
  }
  for (const char* path : {"/admin/..", "/admin/../x", "/%61dmi", "/%zz/admin", "/a/admin"}) {
    EXPECT_EQ(routes.find("a", path), 0U) << path;
  }
}

TEST(Routes, APathIsNormalizedAsServersDo) {
  EXPECT_EQ(normalized_path("/a/b/../c"), "/a/c");
  EXPECT_EQ(normalized_path("/a/b/.."), "/a/");
  EXPECT_EQ(normalized_path("/a//b/"), "/a/b/");
  EXPECT_EQ(normalized_path("/.."), "/");
  EXPECT_EQ(normalized_path(""), "/");
  EXPECT_EQ(normalized_path("/%2541"), "/%41") << "once";
  EXPECT_EQ(normalized_path("/a%"), "/a%");
}

}  // namespace
}  // namespace weir::gateway
