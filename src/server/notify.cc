#include "server/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace weir::server {

std::string Notifier::take_address() {
  const char* const given = std::getenv("NOTIFY_SOCKET");
  std::string address = given == nullptr ? "" : given;
  unsetenv("NOTIFY_SOCKET");
  return address;
}

Notifier::Notifier(std::string_view address) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const bool named = address.starts_with('/') || address.starts_with('@');
  if (!named || address.size() < 2 || address.size() >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, address.data(), address.size());
  if (address.front() == '@') to.sun_path[0] = '\0';
  // An abstract name has no terminator: every byte counts.
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() +
                                             (address.front() == '@' ? 0 : 1));
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0 || connect(socket_, reinterpret_cast<const sockaddr*>(&to), length) == 0) return;
  close(socket_);
  socket_ = -1;
}

Notifier::~Notifier() {
  if (socket_ >= 0) close(socket_);
}

void Notifier::ready(std::string_view status) const { send(base::join("READY=1\nSTATUS=", status, "\n")); }

void Notifier::reloading(std::chrono::microseconds now) const {
  send(base::join("RELOADING=1\nMONOTONIC_USEC=", std::to_string(now.count()), "\n"));
}

void Notifier::stopping(std::string_view status) const {
  send(base::join("STOPPING=1\nSTATUS=", status, "\n"));
}

void Notifier::send(const std::string& lines) const {
  if (socket_ < 0) return;
  static_cast<void>(::send(socket_, lines.data(), lines.size(), MSG_NOSIGNAL));
}

}  // namespace weir::server
