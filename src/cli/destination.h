// Where a command does its work: on a store that it opens, or through a service.
#pragma once

#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/world.h"
#include "client/remote.h"
#include "weir/result.h"

namespace weir::cli {

/// Whether a command can be done through a service.
enum class Reach { anywhere, here };

struct Destination {
  std::string store = "sqlite:weir.db";
  /// Instead of the store, if somebody said so. Without a namespace.
  std::optional<client::RemoteOptions> server = {};
};

/// What was said, else what the environment says; an empty variable says nothing.
std::optional<std::string> said(const std::optional<std::string>& option, const World& world,
                                const char* variable);

/// An option counts more than a variable. A store and a service that are both named in the same way are a
/// mistake: commands that change limits must not guess where.
Result<Destination> read_destination(const Common& common, const World& world, Reach reach);

}  // namespace weir::cli
