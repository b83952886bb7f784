#include "aws/credentials_source.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "aws/xml.h"
#include "base/file.h"
#include "base/text.h"
#include "wire/http_text.h"
#include "wire/json_reader.h"
#include "wire/url.h"

namespace weir::aws {
namespace {

using base::error;
using base::invalid;
using wire::http::Method;

constexpr std::string_view instance_path = "/latest/meta-data/iam/security-credentials/";
constexpr std::string_view container_host = "http://169.254.170.2";

Error unavailable(std::string_view who, std::string_view what) {
  return error(ErrorCode::unavailable, who, " ", what);
}

std::string trimmed_token(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

/// A value with a line end would inject another field.
bool fits_in_a_field(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; });
}

bool is_plain_address(const Server& server) {
  // The hosts that the SDKs of AWS allow without TLS: loopback, and the addresses of ECS and EKS.
  return is_loopback(server.host) || server.host == "169.254.170.2" || server.host == "169.254.170.23" ||
         server.host == "fd00:ec2::23";
}

std::string value_in(const Profile& profile, std::string_view key) {
  const auto found = profile.find(key);
  return found == profile.end() ? std::string() : found->second;
}

Result<std::optional<Source>> source_of_profile(const Environment& environment) {
  const auto profile = read_profile(environment);
  if (!profile) return profile.error();
  const std::string role = value_in(*profile, "role_arn");
  if (const std::string file = value_in(*profile, "web_identity_token_file");
      !file.empty() && !role.empty()) {
    return std::optional<Source>(WebIdentity{file, role, value_in(*profile, "role_session_name"),
                                             region_of(environment).value_or("")});
  }
  const std::string key = value_in(*profile, "aws_access_key_id");
  const std::string secret = value_in(*profile, "aws_secret_access_key");
  if (key.empty() != secret.empty())
    return invalid("the AWS profile has one of aws_access_key_id and aws_secret_access_key; it needs both");
  if (!key.empty())
    return std::optional<Source>(Credentials{key, secret, value_in(*profile, "aws_session_token")});
  for (const char* const other : {"role_arn", "credential_process", "sso_start_url", "sso_session"}) {
    if (profile->contains(other))
      return invalid(
          "the AWS profile says ", other,
          ", which weir does not follow; give it keys (`aws configure export-credentials`), or run "
          "weir with a role of its own");
  }
  return std::optional<Source>();
}

Result<std::optional<Source>> source_of_container(const Environment& environment) {
  const auto relative = environment.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto full = environment.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative && !full) return std::optional<Source>();
  auto url = parse_url(relative ? base::join(container_host, *relative) : *full);
  if (!url) return url.error();
  if (!url->server.tls && !is_plain_address(url->server))
    return invalid(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or an address of this machine, such as "
        "http://127.0.0.1");
  return std::optional<Source>(
      Container{*std::move(url), environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or(""),
                environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").value_or("")});
}

std::int64_t days_before(std::int64_t year, std::int64_t month, std::int64_t day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

}  // namespace

bool is_loopback(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127;
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

Result<Url> parse_url(std::string_view text) {
  const auto url = wire::parse_http_url(text);
  // It may hold a password.
  const bool shown = text.find('@') == std::string_view::npos;
  if (!url) return invalid(shown ? base::quoted(text) : "the URL", ": ", url.error().message);
  std::string path = url->path.empty() ? "/" : url->path;
  if (text.find('?') != std::string_view::npos) path += base::join("?", url->query);
  if (!fits_in_a_field(path) || path.find(' ') != std::string::npos)
    return invalid(shown ? base::quoted(text) : "the URL", ": its path has a character that must be escaped");
  const wire::HostPort at = url->at();
  return Url{{url->tls(), at.host, at.port}, std::move(path)};
}

Result<std::optional<Source>> find_source(const Environment& environment) {
  const auto key = environment.variable("AWS_ACCESS_KEY_ID");
  const auto secret = environment.variable("AWS_SECRET_ACCESS_KEY");
  if (key.has_value() != secret.has_value())
    return invalid("one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both");
  if (key) {
    return std::optional<Source>(
        Credentials{*key, *secret, environment.variable("AWS_SESSION_TOKEN").value_or("")});
  }
  const auto token_file = environment.variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  const auto role = environment.variable("AWS_ROLE_ARN");
  if (token_file && role) {
    return std::optional<Source>(WebIdentity{*token_file, *role,
                                             environment.variable("AWS_ROLE_SESSION_NAME").value_or(""),
                                             region_of(environment).value_or("")});
  }
  auto of_profile = source_of_profile(environment);
  if (!of_profile || *of_profile) return of_profile;
  auto of_container = source_of_container(environment);
  if (!of_container || *of_container) return of_container;
  if (environment.variable("AWS_EC2_METADATA_DISABLED") == "true") return std::optional<Source>();
  auto url =
      parse_url(environment.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254"));
  if (!url) return url.error();
  return std::optional<Source>(Instance{*std::move(url)});
}

Error no_credentials(const Environment& environment, std::string_view instance) {
  const std::string profile = environment.variable("AWS_PROFILE").value_or("default");
  return error(
      ErrorCode::unavailable,
      "no AWS credentials are found. Looked at: AWS_ACCESS_KEY_ID (not set), AWS_WEB_IDENTITY_TOKEN_FILE "
      "with AWS_ROLE_ARN (not both set), profile ",
      base::quoted(profile), " in ~/.aws/credentials and ~/.aws/config (no keys), ",
      "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI (not set), the metadata service of EC2 (",
      instance, "). Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE");
}

std::optional<Time> parse_moment(std::string_view text) {
  // 2030-01-02T03:04:05
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text.back() != 'Z')
    return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t count) {
    return base::parse_digits(text.substr(at, count)).value_or(-1);
  };
  const std::int64_t year = number(0, 4);
  const std::int64_t month = number(5, 2);
  const std::int64_t day = number(8, 2);
  const std::int64_t hour = number(11, 2);
  const std::int64_t minute = number(14, 2);
  const std::int64_t second = number(17, 2);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 60)
    return std::nullopt;
  return (((days_before(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000;
}

Result<Leased> read_container_answer(std::string_view body) {
  wire::json::Reader reader(body);
  Leased leased;
  std::string key;
  std::string expires;
  std::string code;
  for (reader.object(); reader.member(key);) {
    std::string* const into = key == "AccessKeyId"       ? &leased.credentials.access_key_id
                              : key == "SecretAccessKey" ? &leased.credentials.secret_access_key
                              : key == "Token"           ? &leased.credentials.session_token
                              : key == "Expiration"      ? &expires
                              : key == "Code"            ? &code
                                                         : nullptr;
    into != nullptr&& reader.peek() == wire::json::Reader::Kind::string ? reader.string(*into)
                                                                        : reader.skip();
  }
  if (!reader.end()) return unavailable("what should be credentials", "is not JSON");
  if (!code.empty() && code != "Success") return unavailable("no credentials are given:", base::quoted(code));
  if (leased.credentials.access_key_id.empty() || leased.credentials.secret_access_key.empty())
    return unavailable("what should be credentials", "has no key in it");
  if (expires.empty()) return leased;
  const auto moment = parse_moment(expires);
  if (!moment) return unavailable("the credentials expire at", base::quoted(expires));
  leased.expires_at = *moment;
  return leased;
}

Result<Leased> read_sts_answer(std::string_view body) {
  const std::string_view found = element_of(body, "Credentials");
  Leased leased;
  leased.credentials.access_key_id = element_of(found, "AccessKeyId");
  leased.credentials.secret_access_key = element_of(found, "SecretAccessKey");
  leased.credentials.session_token = element_of(found, "SessionToken");
  const auto moment = parse_moment(element_of(found, "Expiration"));
  if (leased.credentials.access_key_id.empty() || leased.credentials.secret_access_key.empty() ||
      leased.credentials.session_token.empty() || !moment)
    return unavailable("what STS answers", "has no credentials in it");
  leased.expires_at = *moment;
  return leased;
}

Result<CredentialsRequest> Fetch::start() {
  if (const auto* container = std::get_if<Container>(&source_)) return start(*container);
  if (const auto* identity = std::get_if<WebIdentity>(&source_)) return start(*identity);
  return CredentialsRequest{std::get<Instance>(source_).url.server,
                            Method::put,
                            "/latest/api/token",
                            {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}};
}

Result<CredentialsRequest> Fetch::start(const Container& container) {
  CredentialsRequest wanted{container.url.server, Method::get, container.url.path};
  std::string token = container.token;
  if (!container.token_file.empty()) {
    auto read = environment_.file(container.token_file);
    if (!read)
      return error(ErrorCode::unavailable, "cannot read ", base::quoted(container.token_file),
                   ", which AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names: ",
                   base::why_unreadable(container.token_file));
    token = trimmed_token(*std::move(read));
  }
  if (!fits_in_a_field(token))
    return invalid("the authorization token of the container has a line break in it");
  if (!token.empty()) wanted.fields.emplace_back("Authorization", token);
  return wanted;
}

Result<CredentialsRequest> Fetch::start(const WebIdentity& identity) {
  auto token = environment_.file(identity.token_file);
  if (!token)
    return error(ErrorCode::unavailable, "cannot read the web identity token ",
                 base::quoted(identity.token_file), ": ", base::why_unreadable(identity.token_file));
  Url url{
      {true,
       identity.region.empty() ? "sts.amazonaws.com" : base::join("sts.", identity.region, ".amazonaws.com"),
       443},
      "/"};
  if (identity.region.starts_with("cn-")) url.server.host += ".cn";
  if (identity.endpoint) url = *identity.endpoint;
  return CredentialsRequest{
      url.server, Method::get,
      base::join(url.path, "?Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=",
                 wire::http::percent_encode(identity.role), "&RoleSessionName=",
                 wire::http::percent_encode(identity.session.empty() ? "weir" : identity.session),
                 "&WebIdentityToken=", wire::http::percent_encode(trimmed_token(*std::move(token))))};
}

Result<std::variant<CredentialsRequest, Leased>> Fetch::answered(int status, std::string_view body) {
  using Next = std::variant<CredentialsRequest, Leased>;
  if (const auto* instance = std::get_if<Instance>(&source_))
    return instance_answered(*instance, status, body);
  const bool by_sts = std::holds_alternative<WebIdentity>(source_);
  if (status != 200) {
    const std::string_view why = by_sts ? element_of(body, "Message") : std::string_view();
    return error(ErrorCode::unavailable, by_sts ? "STS" : "the container's credentials service",
                 " gives no credentials: status ", std::to_string(status), why.empty() ? "" : ", ", why);
  }
  auto leased = by_sts ? read_sts_answer(body) : read_container_answer(body);
  if (!leased) return leased.error();
  return Next(*std::move(leased));
}

/// A token, the name of the role, its credentials.
Result<std::variant<CredentialsRequest, Leased>> Fetch::instance_answered(const Instance& instance,
                                                                          int status, std::string_view body) {
  using Next = std::variant<CredentialsRequest, Leased>;
  if (status != 200) {
    return error(ErrorCode::unavailable, "the instance's metadata service gives no ",
                 step_ == 0 ? "token" : "credentials", ": status ", std::to_string(status),
                 status == 404 ? "; give the instance a role" : "");
  }
  if (step_ == 2) {
    auto leased = read_container_answer(body);
    if (!leased) return leased.error();
    return Next(*std::move(leased));
  }
  const std::string text = trimmed_token(std::string(body.substr(0, body.find('\n'))));
  if (text.empty() || !fits_in_a_field(text) || text.size() > 4096)
    return unavailable("the instance's metadata service", "sent a malformed answer");
  if (step_++ == 0) token_ = text;
  return Next(
      CredentialsRequest{instance.url.server,
                         Method::get,
                         base::join(instance_path, step_ == 1 ? "" : wire::http::percent_encode(text)),
                         {{"X-aws-ec2-metadata-token", token_}}});
}

}  // namespace weir::aws
