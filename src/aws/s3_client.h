// The client of S3, and of servers with the same API: reads whole objects, and replaces them under a
// condition. Calls block.
//
// A request that was certainly not carried out is retried until the deadline, with exponential backoff; so is
// a read, whatever became of it. A write that may have been carried out is not: the caller decides.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "aws/credentials.h"
#include "net/http_client.h"
#include "weir/clock.h"
#include "wire/sigv4.h"

namespace weir::aws {

/// Where the bucket is named.
enum class S3Style : unsigned char {
  path,  ///< https://s3.eu-central-1.amazonaws.com/BUCKET/KEY
  host,  ///< https://BUCKET.s3.eu-central-1.amazonaws.com/KEY
};

struct S3Options {
  std::string region;  ///< "eu-central-1"
  std::string bucket;
  Url endpoint;  ///< without the bucket
  S3Style style = S3Style::host;
  std::string ca_file = {};          ///< with TLS: the trusted CA certificates; empty: those of the system
  std::uint64_t largest_object = 0;  ///< in bytes; a larger one is not read
  int most_attempts = 3;
  /// The pause before a retry, doubled each time.
  std::chrono::milliseconds first_pause{100};
};

/// AWS's own endpoint of S3 in a region.
Url s3_endpoint(std::string_view region);

struct S3Object {
  std::string bytes;
  std::string tag;  ///< ETag as it was sent, with its quotes
};

struct S3Failure {
  enum class Kind : unsigned char {
    absent,     ///< there is no such object
    condition,  ///< the object is not the one that the condition names
    too_large,  ///< the object is larger than the options allow
    unknown,    ///< the write may or may not have been carried out
    failed,     ///< nothing was changed; the message has the cause and the remedy
  };
  Kind kind = Kind::failed;
  std::string message = {};
};

/// Not safe for use by several threads at once.
class S3Client {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// The clock gives the time of signatures; it must outlive the client.
  S3Client(S3Options options, std::unique_ptr<CredentialsKeeper> keeper, const Clock& clock);

  std::variant<S3Object, S3Failure> get(std::string_view key, Deadline ends);
  /// Writes the object if its tag is still `expected`; empty: if there is none. Returns the new tag.
  std::variant<std::string, S3Failure> put(std::string_view key, std::string_view bytes,
                                           std::string_view expected, Deadline ends);

  const S3Options& options() const { return options_; }

 private:
  struct Request;
  using Answered = std::variant<net::HttpAnswer, S3Failure>;
  Answered ask(const Request& request, Deadline ends);
  std::variant<net::HttpAnswer, net::HttpFailure> send(const Request& request, const Credentials& credentials,
                                                       std::chrono::milliseconds within);
  Result<CredentialsKeeper::Shared> credentials(Deadline ends);
  /// Whether the same request can succeed with other credentials or another time.
  bool corrected(const net::HttpAnswer& answer, const CredentialsKeeper::Shared& used);
  S3Failure failure_of(const net::HttpFailure& failure, const Request& request) const;
  S3Failure failure_of(const net::HttpAnswer& answer, const Request& request) const;

  const S3Options options_;
  const std::string host_;         ///< as in the field Host
  const std::string path_prefix_;  ///< before the key, from "/" to "/"
  const Clock& clock_;
  Time correction_ = 0;  ///< added to the time of signatures
  wire::aws::Signer signer_;
  net::HttpClient http_;
  std::unique_ptr<CredentialsKeeper> keeper_;
};

}  // namespace weir::aws
