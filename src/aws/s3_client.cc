#include "aws/s3_client.h"

#include <algorithm>
#include <thread>

#include "aws/endpoint.h"
#include "aws/xml.h"
#include "base/lock.h"
#include "base/text.h"
#include "wire/buffer.h"
#include "wire/http_text.h"
#include "wire/http_write.h"
#include "wire/url.h"

namespace weir::aws {
namespace {

using base::join;
using net::HttpAnswer;
using net::HttpFailure;
using std::chrono::milliseconds;
using S3Kind = S3Failure::Kind;
using Steady = std::chrono::steady_clock;
using wire::http::Method;

constexpr std::string_view s3_content_type = "application/json";

std::string host_of(const S3Options& options) {
  const bool in_host = options.style == S3Style::host;
  return join(in_host ? options.bucket : "", in_host ? "." : "", options.endpoint.server.host);
}

std::string path_prefix_of(const S3Options& options) {
  std::string path = options.endpoint.path;
  if (!path.ends_with('/')) path += '/';
  if (options.style == S3Style::path) path += join(options.bucket, "/");
  return path;
}

/// Credentials that are fetched on another thread, and a caller who may leave earlier.
struct Fetched {
  base::Mutex mutex;
  base::Condition ready;
  std::optional<Result<CredentialsKeeper::Shared>> result WEIR_GUARDED_BY(mutex);
};

/// "403 AccessDenied: "Access Denied"". The texts come from the server: quoted, and shortened.
std::string description(const HttpAnswer& answer, std::string_view code) {
  std::string text = std::to_string(answer.status);
  if (code.empty()) return join(text, " ", base::quoted(answer.reason), " without a code of S3");
  const bool is_word = std::all_of(code.begin(), code.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
  text += join(" ", is_word && code.size() <= 64 ? std::string(code) : base::quoted(code));
  if (const std::string_view message = element_of(answer.body, "Message"); !message.empty())
    text += join(": ", base::quoted(message));
  return text;
}

/// Errors of the credentials themselves, not of their rights.
bool is_about_keys(std::string_view code) {
  return code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" || code == "InvalidToken" ||
         code == "ExpiredToken";
}

/// Certainly not carried out, and the server asks for a pause.
bool is_throttled(const HttpAnswer& answer) {
  const std::string_view code = element_of(answer.body, "Code");
  return answer.status == 429 || code == "SlowDown";
}

bool may_pass(HttpFailure::Kind kind) {
  using Net = HttpFailure::Kind;
  return kind != Net::tls && kind != Net::not_http && kind != Net::too_large;
}

}  // namespace

struct S3Client::Request {
  Method method = Method::get;
  std::string_view key;
  std::string_view bytes = {};
  std::string_view condition = {};  ///< a field in lower case; empty: none
  std::string_view expected = {};   ///< its value
  std::string body_hash;

  bool writes() const { return method == Method::put; }
  std::string_view verb() const { return writes() ? "PUT" : "GET"; }
};

Url s3_endpoint(std::string_view region) {
  return {{true, join("s3.", region, ".", domain_of(region)), 443}, "/"};
}

S3Client::S3Client(S3Options options, std::unique_ptr<CredentialsKeeper> keeper, const Clock& clock)
    : options_(std::move(options)),
      host_(wire::authority_of({host_of(options_), options_.endpoint.server.port},
                               options_.endpoint.server.tls)),
      path_prefix_(path_prefix_of(options_)),
      clock_(clock),
      signer_({options_.region, "s3"}),
      http_({.host = host_of(options_),
             .port = options_.endpoint.server.port,
             .tls = options_.endpoint.server.tls,
             .ca_file = options_.ca_file,
             .timeout = std::chrono::hours(1),  // each request has its deadline
             .largest_body = options_.largest_object}),
      keeper_(std::move(keeper)) {}

std::variant<S3Object, S3Failure> S3Client::get(std::string_view key, Deadline ends) {
  const Request request{.method = Method::get, .key = key, .body_hash = wire::aws::sha256_hex({})};
  auto answered = ask(request, ends);
  if (auto* const failure = std::get_if<S3Failure>(&answered)) return std::move(*failure);
  auto& answer = std::get<HttpAnswer>(answered);
  if (answer.status != 200) return failure_of(answer, request);
  if (answer.wanted_field.empty())
    return S3Failure{.message = join("S3 at ", host_, " gives an object without an ETag")};
  return S3Object{std::move(answer.body), std::move(answer.wanted_field)};
}

std::variant<std::string, S3Failure> S3Client::put(std::string_view key, std::string_view bytes,
                                                   std::string_view expected, Deadline ends) {
  const Request request{.method = Method::put,
                        .key = key,
                        .bytes = bytes,
                        .condition = expected.empty() ? "if-none-match" : "if-match",
                        .expected = expected.empty() ? "*" : expected,
                        .body_hash = wire::aws::sha256_hex(bytes)};
  auto answered = ask(request, ends);
  if (auto* const failure = std::get_if<S3Failure>(&answered)) return std::move(*failure);
  auto& answer = std::get<HttpAnswer>(answered);
  if (answer.status != 200) return failure_of(answer, request);
  // It is stored; reading it tells its tag.
  if (answer.wanted_field.empty())
    return S3Failure{S3Kind::unknown, join("S3 at ", host_, " answers a write without an ETag")};
  return std::move(answer.wanted_field);
}

S3Client::Answered S3Client::ask(const Request& request, Deadline ends) {
  milliseconds pause = options_.first_pause;
  bool was_corrected = false;
  for (int attempt = 1;; ++attempt) {
    auto keys = credentials(ends);
    if (!keys) return S3Failure{.message = keys.error().message};
    const auto left = std::chrono::ceil<milliseconds>(ends - Steady::now());
    auto answered = send(request, **keys, std::max(left, milliseconds(1)));
    auto* const answer = std::get_if<HttpAnswer>(&answered);
    if (answer != nullptr && !was_corrected && corrected(*answer, *keys)) {
      was_corrected = true;
      continue;
    }
    const auto* const failure = std::get_if<HttpFailure>(&answered);
    const bool repeatable =
        failure != nullptr
            ? may_pass(failure->kind) && !(failure->sent && request.writes())
            : is_throttled(*answer) || (answer->status >= 500 && answer->status != 501 && !request.writes());
    if (!repeatable || attempt >= options_.most_attempts || Steady::now() + pause >= ends) {
      if (failure != nullptr) return failure_of(*failure, request);
      return std::move(*answer);
    }
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
}

Result<CredentialsKeeper::Shared> S3Client::credentials(Deadline ends) {
  const auto fetched = std::make_shared<Fetched>();
  keeper_->get(clock_.now() + correction_, [fetched](const Result<CredentialsKeeper::Shared>& result) {
    const base::Guard guard(fetched->mutex);
    fetched->result = result;
    fetched->ready.notify_one();
  });
  const base::Guard guard(fetched->mutex);
  while (!fetched->result && fetched->ready.wait_until(fetched->mutex, ends)) {
  }
  if (fetched->result) return *std::move(fetched->result);
  return base::error(ErrorCode::unavailable, "AWS credentials cannot be fetched in time");
}

std::variant<HttpAnswer, HttpFailure> S3Client::send(const Request& request, const Credentials& credentials,
                                                     milliseconds within) {
  const std::string path = join(path_prefix_, wire::http::percent_encode(request.key, "/"));
  wire::aws::UnsignedRequest to_sign{.method = request.verb(),
                                     .path = path,
                                     .fields = {{"x-amz-content-sha256", request.body_hash}},
                                     .body_hash = request.body_hash,
                                     .path_form = wire::aws::PathForm::as_sent};
  if (request.writes()) to_sign.fields.push_back({"content-type", s3_content_type});
  if (!request.condition.empty()) to_sign.fields.push_back({request.condition, request.expected});
  wire::Buffer lines;
  bool fits = true;
  for (const wire::http::Field& field : to_sign.fields)
    fits = fits && wire::http::write_field(lines, field.name, field.value);
  to_sign.fields.push_back({"host", host_});
  const auto signature = signer_.sign(to_sign, credentials, clock_.now() + correction_);
  fits = fits &&
         wire::http::write_field(lines, "x-amz-date", {signature.date.data(), signature.date.size()}) &&
         (credentials.session_token.empty() ||
          wire::http::write_field(lines, "x-amz-security-token", credentials.session_token)) &&
         wire::http::write_field(lines, "authorization", signature.authorization);
  if (!fits)
    return HttpFailure{HttpFailure::Kind::not_http, "a tag or a key has a character that cannot be sent"};
  return http_.ask({.method = request.method,
                    .target = path,
                    .fields = std::string(lines.view()),
                    .body = request.bytes,
                    .repeatable = !request.writes(),
                    .within = within,
                    .wanted_field = "etag"});
}

bool S3Client::corrected(const HttpAnswer& answer, const CredentialsKeeper::Shared& used) {
  if (answer.status != 403 && answer.status != 400) return false;
  const std::string_view code = element_of(answer.body, "Code");
  if (code == "RequestTimeTooSkewed") {
    const auto server = parse_moment(element_of(answer.body, "ServerTime"));
    if (server) correction_ = *server - clock_.now();
    return server.has_value();
  }
  if (!is_about_keys(code)) return false;
  keeper_->distrust(used);
  return true;
}

S3Failure S3Client::failure_of(const HttpFailure& failure, const Request& request) const {
  using Net = HttpFailure::Kind;
  const std::string who = join("S3 at ", host_);
  if (failure.kind == Net::too_large) return {S3Kind::too_large, join(who, " gives too large an answer")};
  if (failure.sent && request.writes()) {
    return {S3Kind::unknown,
            join(who, " may or may not have stored ", base::quoted(request.key), ": ", failure.detail)};
  }
  const std::string_view advice =
      failure.kind == Net::tls ? "; if it has a certificate of your own, add cacert=FILE to the URL"
      : failure.kind == Net::no_such_host
          ? "; check the bucket, the region and the endpoint in the URL, or use style=path"
          : "";
  return {S3Kind::failed, join(who, " is unavailable: ", failure.detail, advice)};
}

S3Failure S3Client::failure_of(const HttpAnswer& answer, const Request& request) const {
  const std::string_view code = element_of(answer.body, "Code");
  const std::string who = join("S3 at ", host_);
  const std::string what = join("(", description(answer, code), ")");
  const std::string bucket = join("bucket ", base::quoted(options_.bucket));
  if (code == "NoSuchKey") {
    // A write under If-Match finds nothing to compare with.
    return {request.writes() ? S3Kind::condition : S3Kind::absent, join(who, " has no such object ", what)};
  }
  if (answer.status == 412 || code == "ConditionalRequestConflict")
    return {S3Kind::condition, join(who, " has another object there ", what)};
  if (answer.status == 501 && request.writes()) {
    return {S3Kind::failed,
            join(who, " does not know conditional writes ", what,
                 ", without which two processes could overwrite each other's object; use AWS, "
                 "or a server that honours If-Match and If-None-Match of PutObject")};
  }
  if (code == "NoSuchBucket") {
    return {S3Kind::failed, join(who, " has no ", bucket, " ", what,
                                 "; create it, or check the bucket, the region and the endpoint in the URL")};
  }
  if (is_about_keys(code)) {
    return {S3Kind::failed,
            join(who, " does not accept the credentials ", what,
                 "; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile or role")};
  }
  if (answer.status == 403) {
    return {S3Kind::failed,
            join(who, " does not allow ", request.verb(), " of ", base::quoted(request.key), " in ", bucket,
                 " ", what,
                 "; allow s3:GetObject and s3:PutObject on it, and s3:ListBucket on the bucket, "
                 "without which an object that is not there yet is refused")};
  }
  if (code == "AuthorizationHeaderMalformed" || code == "PermanentRedirect" || code == "TemporaryRedirect" ||
      code == "IllegalLocationConstraintException") {
    const std::string_view region = element_of(answer.body, "Region");
    return {S3Kind::failed,
            join(who, " says that the ", bucket, " is in another region ", what, region.empty() ? "" : ": ",
                 region.empty() ? "" : base::quoted(region), "; write region=... into the URL")};
  }
  // Other refusals change nothing; an error of the server may come after the write.
  const bool in_doubt =
      request.writes() && (answer.status >= 500 || answer.status < 400) && !is_throttled(answer);
  return {in_doubt ? S3Kind::unknown : S3Kind::failed, join(who, " answers ", what)};
}

}  // namespace weir::aws
