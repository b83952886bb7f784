#include "aws/endpoint.h"

#include "base/text.h"

namespace weir::aws {
namespace {

/// Whether the server is on this machine. The name localhost is resolved without asking a server for names.
bool is_here(const Server& server) { return server.host == "localhost" || is_loopback(server.host); }

}  // namespace

std::string_view domain_of(std::string_view region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

Result<Url> check_endpoint(std::string_view endpoint, const EndpointCheck& check) {
  auto url = parse_url(endpoint);
  if (!url || url->server.tls || check.insecure || is_here(url->server)) return url;
  return base::invalid("the endpoint of ", check.service, " ", base::quoted(endpoint),
                       " is on another machine and has no TLS; use https://, or add insecure=true to the URL "
                       "of ",
                       check.owner, " if the network can be trusted");
}

Result<std::unique_ptr<CredentialsKeeper>> find_credentials(const Server& server, const std::string& ca_file,
                                                            const Environment& machine) {
  CredentialsOptions how;
  how.ca_file = ca_file;
  auto source = find_source(machine);
  if (!source) return source.error();
  const bool by_chance = !*source || std::holds_alternative<Instance>(**source);
  if (by_chance && is_here(server))
    return std::make_unique<CredentialsKeeper>(Source(Credentials{"local", "local"}), machine, how);
  if (!*source) return no_credentials(machine, "AWS_EC2_METADATA_DISABLED is true");
  return std::make_unique<CredentialsKeeper>(**std::move(source), machine, how);
}

}  // namespace weir::aws
