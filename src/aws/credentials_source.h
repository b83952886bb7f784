// The sources of credentials, and the answers of the services that issue them. No sockets: a source returns
// the next request, and is given the answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aws/environment.h"
#include "limits/record.h"
#include "wire/http_message.h"
#include "wire/sigv4.h"

namespace weir::aws {

using wire::aws::Credentials;

/// Credentials and when they expire.
struct Leased {
  Credentials credentials;
  Time expires_at = limits::never;
};

/// An HTTP server, as a URL names it.
struct Server {
  bool tls = false;
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const Server&, const Server&) = default;
};

/// "http://127.0.0.1:8000", "https://dynamodb.eu-central-1.amazonaws.com/"; the rest is the path, from "/"
/// on.
struct Url {
  Server server;
  std::string path = "/";
};
Result<Url> parse_url(std::string_view text);
/// Whether the host is an address of this machine. No name is one: a server for names may say anything.
bool is_loopback(const std::string& host);

/// A request to one of the services below.
struct CredentialsRequest {
  Server server;
  wire::http::Method method = wire::http::Method::get;
  std::string target;
  std::vector<std::pair<std::string, std::string>> fields = {};
};

/// In a container: a service beside it.
struct Container {
  Url url;
  std::string token;       ///< for Authorization; may be empty
  std::string token_file;  ///< the same, read from the file each time
};
/// With a token of a trusted identity provider (Kubernetes): STS exchanges it for credentials of a role.
struct WebIdentity {
  std::string token_file;
  std::string role;
  std::string session;
  std::string region;  ///< of the STS endpoint; empty: the global one
  std::optional<Url> endpoint = {};
};
/// On a virtual machine: its metadata service, version 2.
struct Instance {
  Url url;
};

using Source = std::variant<Credentials, Container, WebIdentity, Instance>;

/// The first source that is configured, in the order of AWS's own tools: keys in the environment, web
/// identity, the profile, a container's service, an instance's. Fails if a configured source cannot be used.
/// The instance's service needs no configuration; nothing if it is switched off.
Result<std::optional<Source>> find_source(const Environment& environment);

/// That no source has credentials: which were looked at, and what to set. `instance`: why the instance's
/// service has none.
Error no_credentials(const Environment& environment, std::string_view instance);

/// The answer of a service: {"AccessKeyId":...,"SecretAccessKey":...,"Token":...,"Expiration":...}.
Result<Leased> read_container_answer(std::string_view body);
/// The answer of STS to AssumeRoleWithWebIdentity.
Result<Leased> read_sts_answer(std::string_view body);
/// "2030-01-02T03:04:05Z", fractions ignored; nothing if it is malformed.
std::optional<Time> parse_moment(std::string_view text);

/// The sequence of requests that fetches credentials.
class Fetch {
 public:
  /// The source must outlive the fetch, and must be one that needs requests: not keys.
  Fetch(const Source& source, const Environment& environment) : source_(source), environment_(environment) {}
  /// The first request.
  Result<CredentialsRequest> start();
  /// An answer: the next request, or the credentials.
  Result<std::variant<CredentialsRequest, Leased>> answered(int status, std::string_view body);

 private:
  Result<CredentialsRequest> start(const Container& container);
  Result<CredentialsRequest> start(const WebIdentity& identity);
  Result<std::variant<CredentialsRequest, Leased>> instance_answered(const Instance& instance, int status,
                                                                     std::string_view body);

  const Source& source_;
  const Environment& environment_;
  int step_ = 0;
  std::string token_;
};

}  // namespace weir::aws
