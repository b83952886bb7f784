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
/// Looks the addresses up without blocking and calls `done` once: inline for literals and localhost, else on
/// another thread, without a timeout.
void look_up(const std::string& host, std::uint16_t port, std::function<void(LookedUp)> done);

/// A non-blocking socket that is connecting to the address, or the failure. Once it is writable, problem_of()
/// returns the result. The caller closes it.
std::variant<int, Failure> start_connecting(const Address& address);
/// Why a connection could not be made, or nothing if it was.
std::optional<Failure> problem_of(int socket);

}  // namespace weir::net
