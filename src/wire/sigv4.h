// AWS Signature Version 4: authenticates the sender of a request and protects its integrity. The secret
// itself is never sent. Pure: the time is passed in.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "weir/clock.h"
#include "wire/http_message.h"

namespace weir::wire::aws {

/// Keys of an account, or temporary keys of a role, which have a token.
struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token = {};
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// The region and the service that a signature is valid for.
struct Scope {
  std::string region;   ///< "eu-central-1"
  std::string service;  ///< "dynamodb"
};

/// How the canonical request writes the escaped path of the request.
enum class PathForm : unsigned char {
  escaped_again,  ///< all services but S3
  as_sent,        ///< S3
};

/// A request as it will be sent.
struct UnsignedRequest {
  std::string_view method = "POST";
  std::string_view path = "/";  ///< escaped
  std::string_view query = {};  ///< escaped, without "?"
  /// The fields to sign besides the date and the token: at least Host. Names in lower case, each once.
  std::vector<http::Field> fields;
  std::string_view body = {};
  std::string_view body_hash = {};  ///< sha256_hex(body), if it is known; then the body is not read
  PathForm path_form = PathForm::escaped_again;
};

/// "20150830T123600Z".
using DateTime = std::array<char, 16>;
DateTime format_date_time(Time now);

/// The fields to add to the request.
struct Signature {
  DateTime date;              ///< X-Amz-Date
  std::string authorization;  ///< Authorization
};

/// Makes signatures under one scope. Caches the key of the day, which takes four hashes to derive. Not safe
/// for use by several threads at once.
class Signer {
 public:
  explicit Signer(Scope scope) : scope_(std::move(scope)) {}

  /// The field X-Amz-Security-Token is signed too where there is a token; the caller sends it.
  Signature sign(const UnsignedRequest& request, const Credentials& credentials, Time now);

  const Scope& scope() const { return scope_; }

 private:
  using Digest = std::array<unsigned char, 32>;
  const Digest& key_of(std::string_view day, const std::string& secret);

  const Scope scope_;
  std::string key_day_;
  std::string key_secret_;
  Digest key_{};
};

/// The hash of a body in lower-case hex digits; S3 expects it as X-Amz-Content-Sha256, too.
std::string sha256_hex(std::string_view text);

/// The text that is hashed and signed, line by line; for tests and error messages.
std::string canonical_request(const UnsignedRequest& request);

}  // namespace weir::wire::aws
