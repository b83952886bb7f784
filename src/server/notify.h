// Notifies a service manager of the state of the service: the protocol of sd_notify(3), without its library.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weir::server {

/// Sends lines to the socket that NOTIFY_SOCKET names; does nothing if it is not set. A failed send is
/// ignored: only the manager would need to know, and it has its own timeouts. Not movable.
class Notifier {
 public:
  /// From NOTIFY_SOCKET: a path, or an abstract name that starts with @. The variable is removed, so that
  /// child processes do not inherit it. To be called before any thread starts.
  static std::string take_address();

  explicit Notifier(std::string_view address);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void ready(std::string_view status) const;
  /// A reload begins; ready() ends it. `now`: of the monotonic clock.
  void reloading(std::chrono::microseconds now) const;
  void stopping(std::string_view status) const;

 private:
  void send(const std::string& lines) const;

  int socket_ = -1;
};

}  // namespace weir::server
