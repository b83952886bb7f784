// A service in this process, on a free port of 127.0.0.1, for commands that talk to one.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "app/open_store.h"
#include "net/server.h"
#include "service/service.h"
#include "weir/clock.h"

namespace weir::cli {

class Served {
 public:
  /// The clock must outlive it.
  Served(const std::string& store_url, const Clock& clock, service::ServiceOptions options = {},
         std::optional<net::TlsFiles> tls = {}) {
    const std::shared_ptr<const Clock> shared(std::shared_ptr<const Clock>(), &clock);
    auto store = app::open_store(store_url, {}, shared, *entropy_);
    EXPECT_TRUE(store) << store.error().message;
    options.principal = "tester";
    service.emplace(limiter::Foundation{shared, entropy_, *store}, std::move(options));
    net::ServerOptions listen;
    listen.listen = {{.address = "127.0.0.1", .tls = tls.has_value()}};
    listen.tls = std::move(tls);
    auto server = net::Server::start(listen, *service);
    EXPECT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }
  ~Served() { server_.reset(); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  std::string port() const { return std::to_string(server_->addresses().front().port); }
  std::string url() const { return "http://127.0.0.1:" + port(); }

  std::optional<service::Service> service;

 private:
  std::shared_ptr<base::Entropy> entropy_ = std::make_shared<base::SystemEntropy>();
  std::unique_ptr<net::Server> server_;
};

}  // namespace weir::cli
