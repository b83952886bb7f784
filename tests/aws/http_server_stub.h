// A server that records what it is asked and answers as it is told to.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/server.h"

namespace weir::tests {

struct Asked {
  std::string method;
  std::string target;
  std::map<std::string, std::string> fields;  ///< names in lower case
  std::string body;
};

struct Answer {
  int status = 200;
  std::string body = {};
  std::string fields = {};
};

/// Safe to use from any thread. `answer` is called on the server's thread.
class HttpServerStub final : public net::Handler {
 public:
  explicit HttpServerStub(std::function<Answer(const Asked&)> answer) : answer_(std::move(answer)) {
    net::ServerOptions options;
    options.listen = {{.address = "127.0.0.1"}};
    server_ = *net::Server::start(options, *this);
  }
  ~HttpServerStub() override { server_.reset(); }
  HttpServerStub(const HttpServerStub&) = delete;
  HttpServerStub& operator=(const HttpServerStub&) = delete;

  std::string url() const { return "http://" + server_->addresses()[0].to_string(); }
  std::vector<Asked> asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 private:
  void handle(net::Exchange exchange) override {
    Asked asked{std::string(exchange.request().method_text()),
                std::string(exchange.request().target()),
                {},
                std::string(exchange.body())};
    const auto& fields = exchange.request().fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      std::string name(fields[i].name);
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      asked.fields[name] = fields[i].value;
    }
    {
      const std::scoped_lock lock(mutex_);
      asked_.push_back(asked);
    }
    const Answer told = answer_(asked);
    exchange.answer({.status = told.status, .fields = told.fields, .body = told.body});
  }

  std::function<Answer(const Asked&)> answer_;
  mutable std::mutex mutex_;
  std::vector<Asked> asked_;
  std::unique_ptr<net::Server> server_;
};

}  // namespace weir::tests
