// Connecting to a name or address within a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/address.h"
#include "net/http_client.h"

namespace weir::net {

/// A moment by which something must be over.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds in) : at_(std::chrono::steady_clock::now() + in) {}
  /// What is left, in whole milliseconds; 0 once it has passed.
  int left() const;
  bool passed() const { return left() == 0; }

 private:
  std::chrono::steady_clock::time_point at_;
};

/// Waits until the socket can be read, or written. False if the deadline passes first.
bool wait_for_socket(int socket, bool to_write, const Deadline& deadline);

/// The addresses of a host.
using LookedUp = std::variant<std::vector<Address>, HttpFailure>;
/// The addresses of a name, or the literal address that it is. `localhost` is this machine.
LookedUp find_addresses(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout);
/// Finds them without blocking: calls `done` once, before it returns for literals and this machine, else on
/// another thread, however long the system takes.
void look_up(const std::string& host, std::uint16_t port, std::function<void(LookedUp)> done);

/// A socket that does not block and is on its way to the address: once it can be written, problem_of() tells
/// whether it got there. The caller's to close. Or why not.
std::variant<int, HttpFailure> start_connecting(const Address& address);
/// Why a connection could not be made, or nothing if it was.
std::optional<HttpFailure> problem_of(int socket);

/// A connected socket that does not block, and that is the caller's to close. Every address of a name is
/// tried, each but the last for its share of the time.
std::variant<int, HttpFailure> dial(const std::string& host, std::uint16_t port,
                                    std::chrono::milliseconds timeout);

}  // namespace weir::net
