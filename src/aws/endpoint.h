// What the clients of all services share: which endpoints are allowed, and the credentials for them.
#pragma once

#include <memory>
#include <string_view>

#include "aws/credentials.h"

namespace weir::aws {

/// The domain of AWS's own endpoints in a region.
std::string_view domain_of(std::string_view region);

/// The endpoint of a service as a URL. Fails if requests and their session tokens would leave this machine
/// without TLS, unless that is allowed by `insecure`. `service` and `owner` are for the message: "DynamoDB",
/// "the store".
struct EndpointCheck {
  std::string_view service;
  std::string_view owner;
  bool insecure = false;
};
Result<Url> check_endpoint(std::string_view endpoint, const EndpointCheck& check);

/// The credentials by the environment `machine`. A server on this machine, such as DynamoDB Local, requires
/// credentials but does not check them: it gets made-up ones where none are configured.
Result<std::unique_ptr<CredentialsKeeper>> find_credentials(const Server& server, const std::string& ca_file,
                                                            const Environment& machine);

}  // namespace weir::aws
