// docs/openapi.yaml, as the service gives it out, against the routes that the service has.
#include "service/openapi.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "service/routes.h"
#include "wire/http_text.h"

namespace weir::service {
namespace {

using wire::http::Method;

/// A method and a path, with `*` for its parameters.
using Operation = std::pair<std::string, std::string>;

struct Described {
  std::string role;   ///< of x-weir-role; empty: none
  bool free = false;  ///< needs no token
};

std::string with_stars(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (c == '{') text += '*';
    if (text.empty() || text.back() != '*' || c == '/') text += c;
  }
  return text;
}

std::map<Operation, Described> described() {
  std::map<Operation, Described> operations;
  simdjson::dom::parser parser;
  const simdjson::padded_string json(openapi_json());
  simdjson::dom::object paths;
  EXPECT_EQ(parser.parse(json)["paths"].get(paths), simdjson::SUCCESS);
  for (const auto& [path, item] : paths) {
    for (const auto& [method, operation] : item.get_object()) {
      if (method == "parameters") continue;
      Described& entry = operations[{std::string(method), with_stars(path)}];
      std::string_view role;
      if (operation["x-weir-role"].get(role) == simdjson::SUCCESS) entry.role = role;
      simdjson::dom::array security;
      entry.free = operation["security"].get(security) == simdjson::SUCCESS && security.size() == 0;
    }
  }
  return operations;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

Method method_of(std::string_view name) {
  static const std::map<std::string_view, Method> methods = {
      {"get", Method::get}, {"put", Method::put}, {"post", Method::post}, {"delete", Method::delete_}};
  return methods.at(name);
}

/// Each method of each route, but for HEAD, which every GET brings along.
std::map<Operation, Call> served() {
  std::map<Operation, Call> operations;
  for (const Pattern& pattern : all_patterns()) {
    wire::http::ListElements methods(pattern.allow);
    for (std::string_view method; methods.next(method);) {
      if (method != "HEAD") operations[{lower(method), std::string(pattern.path)}] = pattern.call;
    }
  }
  return operations;
}

TEST(OpenApi, DescribesEveryRoute) {
  const auto in_document = described();
  for (const auto& [operation, call] : served()) {
    EXPECT_TRUE(in_document.contains(operation))
        << operation.first << " " << operation.second << " is not in docs/openapi.yaml";
  }
}

TEST(OpenApi, DescribesNothingElse) {
  const auto in_service = served();
  for (const auto& [operation, entry] : described()) {
    EXPECT_TRUE(in_service.contains(operation))
        << operation.first << " " << operation.second << " of docs/openapi.yaml is no route";
  }
}

TEST(OpenApi, SaysWhichRoleACallNeeds) {
  const std::map<Role, std::string> names = {
      {Role::acquire, "acquire"}, {Role::read, "read"}, {Role::admin, "admin"}};
  const auto in_service = served();
  for (const auto& [operation, entry] : described()) {
    const auto found = in_service.find(operation);
    if (found == in_service.end()) continue;  // another test says so
    const bool token = needs_token(found->second);
    const std::string role = token ? names.at(role_for(found->second, method_of(operation.first))) : "";
    EXPECT_EQ(entry.role, role) << operation.first << " " << operation.second;
    EXPECT_EQ(entry.free, !token) << operation.first << " " << operation.second;
  }
}

}  // namespace
}  // namespace weir::service
