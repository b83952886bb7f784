// The destination of a command: a store that it opens, or a service.
#pragma once

#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/world.h"
#include "client/remote.h"
#include "weir/result.h"

namespace weir::cli {

/// Whether a command works through a service.
enum class Reach { anywhere, here };

struct Destination {
  std::string store = "sqlite:weir.db";
  /// The service instead of a store, if one was given. Without a namespace.
  std::optional<client::RemoteOptions> server = {};
};

/// The option, else the environment variable; an empty variable counts as unset.
std::optional<std::string> said(const std::optional<std::string>& option, const World& world,
                                const char* variable);

/// An option wins over a variable. A store and a service that are both given by options, or both by
/// variables, are a mistake: commands that change limits must not guess.
Result<Destination> read_destination(const Common& common, const World& world, Reach reach);

}  // namespace weir::cli
