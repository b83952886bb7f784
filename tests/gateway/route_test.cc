// Which route a request takes.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <tuple>

#include "gateway/route_table.h"
#include "wire/http_chars.h"
#include "wire/http_text.h"

namespace weir::gateway {
namespace {

RouteTable table(const std::vector<std::pair<std::string, std::string>>& hosts_and_paths) {
  std::vector<RouteSettings> routes;
  for (const auto& [host, path] : hosts_and_paths)
    routes.push_back({.name = path, .path = path, .host = host});
  return RouteTable(routes);
}

RouteTable::Match find(const RouteTable& routes, std::string_view host, std::string_view path) {
  PathForms forms;
  forms.set(path);
  return routes.find(host, forms);
}

TEST(Routes, TheLongestPathWins) {
  const RouteTable routes = table({{"", "/"}, {"", "/api"}, {"", "/api/v2/"}, {"", "/api/v2/users"}});
  EXPECT_EQ(find(routes, "a", "/").route, 0U);
  EXPECT_EQ(find(routes, "a", "/other").route, 0U);
  EXPECT_EQ(find(routes, "a", "/api").route, 1U);
  EXPECT_EQ(find(routes, "a", "/api/").route, 1U);
  EXPECT_EQ(find(routes, "a", "/api/v1").route, 1U);
  EXPECT_EQ(find(routes, "a", "/api/v2").route, 1U) << "the route is for what is below it";
  EXPECT_EQ(find(routes, "a", "/api/v2/").route, 2U);
  EXPECT_EQ(find(routes, "a", "/api/v2/users/7").route, 3U);
}

TEST(Routes, ANameThatOnlyBeginsLikeTheRoutesIsAnother) {
  const RouteTable routes = table({{"", "/api"}});
  EXPECT_EQ(find(routes, "a", "/apis").route, RouteTable::none);
  EXPECT_EQ(find(routes, "a", "/ap").route, RouteTable::none);
  EXPECT_EQ(find(routes, "a", "*").route, RouteTable::none);
}

TEST(Routes, RoutesForTheHostGoFirst) {
  const RouteTable routes = table({{"", "/api"}, {"a.example", "/"}, {"b.example", "/api"}});
  EXPECT_EQ(find(routes, "a.example", "/api").route, 1U);
  EXPECT_EQ(find(routes, "A.Example:8080", "/").route, 1U);
  EXPECT_EQ(find(routes, "a.example.", "/").route, 1U);
  EXPECT_EQ(find(routes, "b.example", "/").route, RouteTable::none);
  EXPECT_EQ(find(routes, "c.example", "/api/1").route, 0U);
  EXPECT_EQ(find(routes, "[::1]:80", "/api/1").route, 0U);
}

/// The index of the route; none if the request is refused.
std::size_t passes(const RouteTable& routes, std::string_view path) {
  const RouteTable::Match match = find(routes, "a", path);
  return match.refused.empty() ? match.route : RouteTable::none;
}

TEST(Routes, NoSpellingOfAPathBypassesARoute) {
  const RouteTable routes = table({{"", "/"}, {"", "/admin"}});
  for (const char* path : {"/admin", "/admin/x", "/admin/", "/admin/%41"})
    EXPECT_EQ(passes(routes, path), 1U) << path;
  for (const char* path :
       {"/x", "/apis", "/x/Y", "/x;y/z", "/x//y", "/%41", "/adminx", "/admin-x", "/a/admin"})
    EXPECT_EQ(passes(routes, path), 0U) << path;
  for (const char* path : {"/%61dmin",
                           "//admin",
                           "/./admin",
                           "/a/../admin",
                           "/a/%2e%2e/admin/x",
                           "/a/..%2fadmin",
                           "/.%2Fadmin",
                           "/a\\..\\admin",
                           "/admin%2f",
                           "/../admin",
                           "/admin/..",
                           "/admin/../x",
                           "/admin/%2e%2e/x",
                           "/admin/x/..%5c..%5cy",
                           "/ADMIN",
                           "/Admin/x",
                           "/admin;x",
                           "/admin%3Bx",
                           "/admin;/x",
                           "/;x/admin",
                           "/x/..;/admin",
                           "/x/..;a=b/admin",
                           "/%zz/admin",
                           "/a%",
                           "/a%0",
                           "/a%00b",
                           "/x/%2e/y",
                           "/%41DMIN;x//.",
                           "//ADMIN;y"}) {
    EXPECT_EQ(passes(routes, path), RouteTable::none) << path;
  }
}

TEST(Routes, ARouteMayForwardTheCanonicalForm) {
  std::vector<RouteSettings> settings{{.name = "a", .path = "/"}, {.name = "b", .path = "/api"}};
  for (RouteSettings& route : settings) route.paths = PathRule::canonical;
  const RouteTable routes(settings);
  const std::tuple<const char*, std::size_t, const char*> cases[] = {
      {"/api/../x", 0, "/x"},   {"/x/../api/y", 1, "/api/y"},  {"//api", 1, "/api"},
      {"/%61pi", 1, "/api"},    {"/api/%2e%2e/x", 0, "/x"},    {"/api/a%2fb", 1, "/api/a/b"},
      {"/api\\x", 1, "/api/x"}, {"/x/%3f%20", 0, "/x/%3F%20"}, {"/x;y", 0, "/x;y"}};
  for (const auto& [path, route, forwarded] : cases) {
    PathForms forms;
    forms.set(path);
    const RouteTable::Match match = routes.find("a", forms);
    EXPECT_EQ(match.refused, "") << path;
    EXPECT_EQ(match.route, route) << path;
    EXPECT_TRUE(match.rewrite);
    EXPECT_EQ(forms.canonical(), forwarded) << path;
  }
  for (const char* path : {"/API", "/api;x", "/a%", "/%00", "/x/..;/API", "/%5c/%2%45/api", "/x%2f%0a"})
    EXPECT_EQ(passes(routes, path), RouteTable::none) << path;
}

TEST(Routes, ARouteMaySayThatCaseAndParametersMatterOrDoNot) {
  std::vector<RouteSettings> settings{{.name = "a", .path = "/"}, {.name = "b", .path = "/api"}};
  settings[1].path_case = settings[1].path_parameters = PathRespect::different;
  const RouteTable different(settings);
  EXPECT_EQ(passes(different, "/API"), 0U);
  EXPECT_EQ(passes(different, "/api;x"), 0U);
  settings[1].path_case = settings[1].path_parameters = PathRespect::same;
  const RouteTable same(settings);
  for (const char* path : {"/API", "/api;x", "/Api;x=1/y", "/;x/API"})
    EXPECT_EQ(passes(same, path), 1U) << path;
}

TEST(Routes, ARouteWithUpperCaseIsGuardedToo) {
  const RouteTable routes = table({{"", "/"}, {"", "/Api"}});
  EXPECT_EQ(passes(routes, "/Api/x"), 1U);
  EXPECT_EQ(passes(routes, "/api/x"), RouteTable::none);
  EXPECT_EQ(passes(routes, "/b"), 0U);
}

/// Every spelling of a path from a small alphabet: whatever reading a server chooses, if it leads to the
/// guarded route, the gateway has chosen that route or has refused.
TEST(Routes, NoReadingOfAnySpellingLeadsElsewhere) {
  const RouteTable routes = table({{"", "/"}, {"", "/a"}});
  constexpr std::array<std::string_view, 12> parts{"/", "a",   "A",   ".",   "b",   "\\",
                                                   ";", "%2f", "%61", "%2E", "%5c", "%3b"};
  std::size_t tried = 0;
  std::size_t guarded = 0;
  PathForms forms;
  for (std::size_t code = 0; code < parts.size() * parts.size() * parts.size() * parts.size() * parts.size();
       ++code) {
    std::string path = "/";
    for (std::size_t rest = code, i = 0; i < 5; ++i, rest /= parts.size()) path += parts[rest % parts.size()];
    forms.set(path);
    const RouteTable::Match match = routes.find("h", forms);
    ++tried;
    // A server that decodes everything, then cuts parameters, resolves dots and ignores case.
    std::string decoded;
    wire::http::percent_decode(path, decoded);
    std::vector<std::string> segments;
    std::string segment;
    for (const char c : decoded + "/") {
      if (c != '/' && c != '\\') {
        segment += wire::http::lower(c);
        continue;
      }
      segment.resize(std::min(segment.find(';'), segment.size()));
      if (segment == "..") {
        if (!segments.empty()) segments.pop_back();
      } else if (!segment.empty() && segment != ".") {
        segments.push_back(segment);
      }
      segment.clear();
    }
    const bool reaches = !segments.empty() && segments.front() == "a";
    if (reaches) ++guarded;
    if (!match.refused.empty()) continue;
    EXPECT_EQ(match.route, reaches ? 1U : 0U) << path;
  }
  std::printf("%zu spellings, %zu lead to the guarded route\n", tried, guarded);
  EXPECT_GT(guarded, 10'000U);
}

TEST(Routes, APathIsCanonicalAsServersMakeIt) {
  const auto canonical = [](std::string_view path) {
    PathForms forms;
    forms.set(path);
    return std::string(forms.canonical());
  };
  EXPECT_EQ(canonical("/a/b/../c"), "/a/c");
  EXPECT_EQ(canonical("/a/b/.."), "/a/");
  EXPECT_EQ(canonical("/a//b/"), "/a/b/");
  EXPECT_EQ(canonical("/.."), "/");
  EXPECT_EQ(canonical("/%2541"), "/%2541") << "a percent sign is not decoded";
  EXPECT_EQ(canonical("/a%20%7e%c3%bc"), "/a%20~%C3%BC");
}

}  // namespace
}  // namespace weir::gateway
