// Whether a client is refused whatever it asks for: the check before the body of a call to a language model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/catalog.h"

namespace weir::gateway {

/// What the catalog says about a client, without the resource of its request.
struct ClientStanding {
  bool known = false;
  bool blocked = false;  ///< for every resource, with its chain
};

/// Walks from an entity to the end of its chain. Charges nothing and reads no bucket; the decision that
/// follows has the last word. Must not be moved or destroyed from start() until the completion was called.
class ClientCheck {
 public:
  /// `takes_alias`: the entity that the client's alias names takes its place.
  void start(store::Catalog& catalog, std::string_view name_space, std::string_view entity,
             std::string_view resource, bool takes_alias, store::Completion<ClientStanding> done);

 private:
  void ask();
  void found(Result<store::Found>&& found);
  /// Whether a rule of the chain so far refuses every request.
  bool is_blocked() const;

  store::Catalog* catalog_ = nullptr;
  std::string name_space_;
  std::string resource_;
  bool takes_alias_ = false;
  ClientStanding standing_;
  std::vector<std::string> names_;  ///< of the chain so far, with the one that is asked for
  std::vector<store::Found> links_;
  std::optional<store::Completion<ClientStanding>> done_;
};

}  // namespace weir::gateway
