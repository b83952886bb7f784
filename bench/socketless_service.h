// The service with a decision log, without sockets: requests as bytes go in, answers as bytes come out, on
// the calling thread.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "app/open_store.h"
#include "decision_log/decision_log.h"
#include "net/session_driver.h"
#include "service/service.h"
#include "weir/clock.h"

namespace weir::bench {

class SocketlessService final : net::SessionShell {
 public:
  /// The store is in memory. The log keeps what `options` say; off: there is none.
  SocketlessService(const std::shared_ptr<const Clock>& clock,
                    const decision_log::DecisionLogOptions& options)
      : clock_(clock),
        log_(open_log(options)),
        service_(limiter::Foundation{clock_, entropy_, open_store()}, {.decisions = log_.get()}),
        worker_({}, service_),
        here_(worker_.worker()),
        session_(worker_.worker(), *this, net::Address(), false) {}
  ~SocketlessService() { session_.gone(); }
  SocketlessService(const SocketlessService&) = delete;
  SocketlessService& operator=(const SocketlessService&) = delete;

  static std::string request(std::string_view method, std::string_view path, std::string_view body) {
    std::string text(method);
    text.append(" ").append(path).append(
        " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
    return text;
  }
  /// Sends a whole request. The answer is valid until the next call.
  std::string_view call(std::string_view request) {
    session_.sent(std::exchange(answered_, 0));
    const std::span<char> room = session_.room();
    if (room.size() < request.size()) std::abort();
    std::memcpy(room.data(), request.data(), request.size());
    session_.received(request.size());
    answered_ = session_.output().size();
    return session_.output();
  }
  /// A change of the catalog, which is answered from another thread.
  void change(std::string_view path, std::string_view body) {
    call(request("PUT", path, body));
    while (session_.output().empty()) worker_.worker().turn(net::Loop::Wait::not_at_all);
    answered_ = session_.output().size();
    if (session_.output().starts_with("HTTP/1.1 20")) return;
    std::fprintf(stderr, "%s\n", std::string(session_.output()).c_str());
    std::abort();
  }
  const decision_log::DecisionLog* log() const { return log_.get(); }
  void flush() {
    if (log_) log_->flush();
  }

 private:
  void wake() override {}
  void cut() override { std::abort(); }

  std::unique_ptr<decision_log::DecisionLog> open_log(const decision_log::DecisionLogOptions& options) {
    if (options.keeps == decision_log::Keeps::off) return nullptr;
    return decision_log::DecisionLog::open(options, *clock_, *entropy_).value();
  }
  std::shared_ptr<store::Store> open_store() {
    return app::open_store("memory:", {}, clock_, *entropy_).value();
  }

  std::shared_ptr<const Clock> clock_;
  std::shared_ptr<base::Entropy> entropy_ = std::make_shared<base::SystemEntropy>();
  std::unique_ptr<decision_log::DecisionLog> log_;
  service::Service service_;
  net::IdleWorker worker_;
  const net::Loop::OnThisThread here_;
  net::Session session_;
  std::size_t answered_ = 0;  ///< bytes of output() that the caller has seen
};

}  // namespace weir::bench
