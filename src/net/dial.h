// Finding the addresses of a name, and starting to connect to one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/address.h"
#include "net/failure.h"

namespace weir::net {

/// The addresses of a host.
using LookedUp = std::variant<std::vector<Address>, Failure>;
/// The addresses of a name, or the literal address that it is. `localhost` is this machine. Waits for them.
LookedUp find_addresses(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout);
/// Finds them without blocking: calls `done` once, before it returns for literals and this machine, else on
/// another thread, however long the system takes.
void look_up(const std::string& host, std::uint16_t port, std::function<void(LookedUp)> done);

/// A socket that does not block and is on its way to the address: once it can be written, problem_of() tells
/// whether it got there. The caller's to close. Or why not.
std::variant<int, Failure> start_connecting(const Address& address);
/// Why a connection could not be made, or nothing if it was.
std::optional<Failure> problem_of(int socket);

}  // namespace weir::net
