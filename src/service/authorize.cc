// The check that proxies make before they pass a request on (nginx auth_request, forward auth of Traefik and
// Caddy).
#include "service/calls.h"
#include "service/query.h"

namespace weir::service {

std::optional<Reply> read_authorize(const wire::http::RequestHead& request, AcquireBody& body, int& refused) {
  const Query query(request.query(), {"entity", "resource", "consume", "status"});
  if (!query.error().empty()) return problem(400, "malformed", query.error());
  // Clients may send these fields too, and some proxies pass them on: so the query, which the proxy
  // configures, wins.
  const auto said = [&](const char* parameter, std::string_view field) {
    if (query.has(parameter)) return query.get(parameter);
    return std::string(request.fields().find(field).value_or(""));
  };
  for (const std::string_view field : {"weir-entity", "weir-resource", "weir-consume"}) {
    if (request.fields().count(field) > 1)
      return problem(400, "malformed", base::join("the header ", field, " is there twice; send it once"));
  }
  if (query.has("status") && query.get("status") != "403" && query.get("status") != "429")
    return problem(400, "malformed", "status is what a refusal is answered with: 403 or 429");
  if (query.get("status") == "429") refused = 429;
  body.entity = said("entity", "weir-entity");
  body.resource = said("resource", "weir-resource");
  auto consume = parse_consume_list(said("consume", "weir-consume"));
  if (!consume.ok()) return bad_body(consume);
  body.consume = std::move(consume.value);
  return std::nullopt;
}

}  // namespace weir::service
