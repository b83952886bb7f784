// The API as a client sees it: a service on a free port of 127.0.0.1, on a new store and a clock that stands
// still unless the test moves it. Each behaviour runs on each store.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/open_store.h"
#include "net/client.h"
#include "net/server.h"
#include "service/service.h"
#include "support/folder.h"
#include "support/redis_server.h"
#include "weir/clock.h"

namespace weir::service {

/// A response, and what is in it.
struct Seen {
  int status = 0;  ///< 0: the connection ended first
  std::string head;
  std::string body;

  /// The value of a header field; "none" if it is not there.
  std::string field(std::string_view name) const {
    const std::string start = "\r\n" + std::string(name) + ": ";
    const std::size_t at = head.find(start);
    if (at == std::string::npos) return "none";
    const std::size_t from = at + start.size();
    return head.substr(from, head.find("\r\n", from) - from);
  }
  /// The member of the body that a JSON pointer names, as JSON; "none" if it is not there.
  std::string at(std::string_view pointer) const;
  /// The same without the quotes of a string.
  std::string text(std::string_view pointer) const {
    const std::string json = at(pointer);
    return json.size() > 1 && json.front() == '"' ? json.substr(1, json.size() - 2) : json;
  }
};

inline std::string request_text(std::string_view method, std::string_view target, std::string_view body,
                                std::string_view fields) {
  std::string text(method);
  text.append(" ").append(target).append(" HTTP/1.1\r\nHost: 127.0.0.1\r\n").append(fields);
  if (!body.empty() || method == "POST" || method == "PUT")
    text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  return text.append("\r\n").append(body);
}

/// One connection after the other: a new one when the server has closed the last.
class Connection {
 public:
  explicit Connection(const net::Address& to) : to_(to) {}

  void send(std::string_view method, std::string_view target, std::string_view body = {},
            std::string_view fields = {}) {
    if (!client_) client_.emplace(to_);
    ASSERT_TRUE(client_->send(request_text(method, target, body, fields)));
  }
  Seen receive(wire::http::Method method = wire::http::Method::get) {
    net::Response response = client_->receive(method);
    Seen seen{response.status, std::move(response.head), std::move(response.body)};
    if (seen.status == 0 || seen.field("Connection") == "close") client_.reset();
    return seen;
  }

 private:
  net::Address to_;
  std::optional<net::Client> client_;
};

class Api : public testing::TestWithParam<const char*> {
 protected:
  Api() { start(open_store()); }
  ~Api() override { server_.reset(); }

  std::shared_ptr<store::Store> open_store() {
    const std::string kind = GetParam();
    const std::string url = kind == "sqlite" ? "sqlite:" + folder_.file("weir.db") : "memory:";
    if (kind == "redis" && !redis_) redis_.emplace();
    auto store = redis_ ? app::open_store(redis_->patient_url(), {.clock = clock.get()}, clock, *entropy_)
                        : app::open_store(url, {}, clock, *entropy_);
    EXPECT_TRUE(store) << store.error().message;
    return *store;
  }
  /// Serves that store instead of the one before.
  void start(std::shared_ptr<store::Store> store, ServiceOptions options = {}) {
    stop();
    options.store = GetParam();
    service.emplace(limiter::Foundation{clock, entropy_, std::move(store)}, std::move(options));
    net::ServerOptions listen;
    listen.listen = {{.address = "127.0.0.1"}};
    listen.threads = 2;
    listen.max_body = 64 * 1024;
    auto server = net::Server::start(listen, *service);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    caller_.emplace(address());
  }
  void stop() {
    caller_.reset();
    server_.reset();
    service.reset();
  }
  const net::Address& address() const { return server_->addresses().front(); }

  Seen call(std::string_view method, std::string_view target, std::string_view body = {},
            const std::string& fields = {}) {
    caller_->send(method, target, body, fields + headers);
    return caller_->receive(method == "HEAD" ? wire::http::Method::head : wire::http::Method::get);
  }
  Seen get(std::string_view target, const std::string& fields = {}) {
    return call("GET", target, {}, fields);
  }
  Seen put(std::string_view target, std::string_view body) { return call("PUT", target, body); }
  Seen post(std::string_view target, std::string_view body, const std::string& fields = {}) {
    return call("POST", target, body, fields);
  }
  Seen remove(std::string_view target) { return call("DELETE", target); }

  /// Limits for everything: `"rpm":"3/min"`.
  void set_system(const std::string& limits) {
    const Seen seen = put("/v1/limits/system", "{\"limits\":{" + limits + "}}");
    ASSERT_EQ(seen.status, 200) << seen.body;
  }
  /// Acquires of one entity on gpt-4: `"rpm":1`.
  Seen acquire(const std::string& entity, const std::string& consume, const std::string& fields = {}) {
    return post("/v1/acquire",
                R"({"entity":")" + entity + R"(","resource":"gpt-4","consume":{)" + consume + "}}", fields);
  }
  /// What the entity's only bucket holds and has counted, as text.
  std::string bucket(const std::string& entity) {
    return get("/v1/entities/" + entity + "/buckets").at("/buckets/0/limits");
  }

  std::optional<tests::RedisServer> redis_;
  tests::Folder folder_;
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<base::Entropy> entropy_ = std::make_shared<base::SystemEntropy>();
  std::optional<Service> service;
  std::string headers;  ///< sent with every call

 private:
  std::unique_ptr<net::Server> server_;
  std::optional<Connection> caller_;
};

/// Status and type of a problem: `422 unknown-limit`.
inline std::string problem_of(const Seen& seen) {
  if (seen.field("Content-Type") != "application/problem+json") return "no problem: " + seen.body;
  if (seen.at("/status") != std::to_string(seen.status)) return "another status: " + seen.body;
  return std::to_string(seen.status) + " " + seen.text("/type");
}

#define WEIR_API_TESTS(suite)                                                           \
  class suite : public Api {};                                                          \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, testing::Values("memory", "sqlite", "redis"), \
                           [](const auto& parameter) { return std::string(parameter.param); })

}  // namespace weir::service
