// Tells a service manager how far the service is: the protocol of sd_notify(3), without its library.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weir::server {

/// Sends lines to the socket that NOTIFY_SOCKET names; does nothing where there is none. What cannot be sent
/// is lost without a word: nobody but the manager would read it, and it notices by itself. Not movable.
class Notifier {
 public:
  /// From NOTIFY_SOCKET: a path, or an abstract name that starts with @. The variable is removed, so that
  /// no program started from here speaks for this one. To be made before any thread.
  static std::string take_address();

  explicit Notifier(std::string_view address);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void ready(std::string_view status) const;
  /// What is answered from here on is decided anew when ready() comes. `now`: of the monotonic clock.
  void reloading(std::chrono::microseconds now) const;
  void stopping(std::string_view status) const;

 private:
  void send(const std::string& lines) const;

  int socket_ = -1;
};

}  // namespace weir::server
