// Maps requests to calls of the API.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/tokens.h"
#include "wire/http_request.h"

namespace weir::service {

enum class Call : unsigned char {
  acquire,
  authorize,
  adjust,
  settle,
  rollback,
  extend,
  available,
  limits_of_level,  ///< get, put or delete
  list_limits,
  effective,
  entity,  ///< get, put or delete
  list_entities,
  block,   ///< get, put or delete
  exempt,  ///< get, put or delete
  reset,
  grant,
  plan,  ///< get, put or delete
  list_plans,
  members,
  children,
  buckets,
  buckets_on,
  usage,
  audit,
  decision,
  decisions,
  changes,
  check_store,
  namespaces,
  name_space,  ///< put or delete
  restore_namespace,
  livez,
  readyz,
  openapi,
  metrics,
};

/// The names of the calls, by Call, for logs and metrics; one more for requests that are no call.
std::span<const std::string_view> call_names();
inline constexpr std::size_t no_call = static_cast<std::size_t>(Call::metrics) + 1;

/// A path that the service knows: `*` matches one segment of any text.
struct Pattern {
  Call call;
  std::string_view path;
  std::string_view allow;  ///< the methods, as in an Allow field
};

/// All of them. docs/openapi.yaml describes each.
std::span<const Pattern> all_patterns();

struct Route {
  Call call = Call::livez;
  std::vector<std::string> names;  ///< the variable segments, decoded, in order
};

/// The path for several changes at once; its bodies may be larger than others.
inline constexpr std::string_view changes_path = "/v1/changes";

/// Methods that a path knows: `allow` for 405.
struct Match {
  bool found = false;    ///< the path is known
  bool allowed = false;  ///< with this method
  std::string_view allow = {};
  bool malformed = false;  ///< an escape in the path is broken
  Route route = {};
};

Match match(const wire::http::RequestHead& request);

/// The role that a call needs, if it needs a token at all (`needs_token`).
Role role_for(Call call, wire::http::Method method);
bool needs_token(Call call);
/// Whether a call reads the decision log.
constexpr bool is_of_decisions(Call call) { return call == Call::decision || call == Call::decisions; }
/// Whether a call creates, purges or restores a namespace.
constexpr bool changes_namespaces(Call call) {
  return call == Call::name_space || call == Call::restore_namespace;
}
/// Whether a call may read very many records, and gets threads of its own.
bool is_long(Call call);
/// Whether a call has parameters in its query.
bool takes_query(Call call);

}  // namespace weir::service
