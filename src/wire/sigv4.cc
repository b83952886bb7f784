#include "wire/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <ctime>
#include <span>

#include "base/hex.h"
#include "base/text.h"
#include "wire/http_text.h"

namespace weir::wire::aws {
namespace {

using base::hex;
using Digest = std::array<unsigned char, 32>;

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";

Digest hmac(std::span<const unsigned char> key, std::string_view text) {
  Digest digest{};
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), nullptr);
  return digest;
}

std::string canonical_path(std::string_view path, PathForm form) {
  if (path.empty()) return "/";
  return form == PathForm::as_sent ? std::string(path) : http::percent_encode(path, "/");
}

/// Parameters in order, each with its "=".
std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string_view, std::string_view>> parameters;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view parameter = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    const std::size_t equals = parameter.find('=');
    const bool has_value = equals != std::string_view::npos;
    parameters.emplace_back(parameter.substr(0, equals),
                            has_value ? parameter.substr(equals + 1) : std::string_view());
  }
  std::sort(parameters.begin(), parameters.end());
  std::string text;
  for (const auto& [name, value] : parameters) {
    if (!text.empty()) text += '&';
    text += base::join(name, "=", value);
  }
  return text;
}

/// Trimmed, and with runs of spaces collapsed into one.
std::string canonical_value(std::string_view value) {
  std::string text;
  for (const char c : value) {
    const bool space = c == ' ' || c == '\t';
    if (space && (text.empty() || text.back() == ' ')) continue;
    text += space ? ' ' : c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::vector<http::Field> in_order(std::vector<http::Field> fields) {
  std::sort(fields.begin(), fields.end(),
            [](const http::Field& a, const http::Field& b) { return a.name < b.name; });
  return fields;
}

std::string signed_names(const std::vector<http::Field>& fields) {
  std::string names;
  for (const http::Field& field : fields) {
    if (!names.empty()) names += ';';
    names += field.name;
  }
  return names;
}

}  // namespace

std::string sha256_hex(std::string_view text) {
  Digest digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return hex(digest);
}

DateTime format_date_time(Time now) {
  const std::time_t seconds = static_cast<std::time_t>(now / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 17> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  DateTime date;
  std::copy_n(text.begin(), date.size(), date.begin());
  return date;
}

std::string canonical_request(const UnsignedRequest& request) {
  const auto fields = in_order(request.fields);
  std::string text = base::join(request.method, "\n", canonical_path(request.path, request.path_form), "\n",
                                canonical_query(request.query), "\n");
  for (const http::Field& field : fields)
    text += base::join(field.name, ":", canonical_value(field.value), "\n");
  const std::string hash =
      request.body_hash.empty() ? sha256_hex(request.body) : std::string(request.body_hash);
  return text + base::join("\n", signed_names(fields), "\n", hash);
}

const Signer::Digest& Signer::key_of(std::string_view day, const std::string& secret) {
  if (key_day_ == day && key_secret_ == secret) return key_;
  const std::string start = base::join("AWS4", secret);
  const std::span<const unsigned char> first(reinterpret_cast<const unsigned char*>(start.data()),
                                             start.size());
  key_ = hmac(hmac(hmac(hmac(first, day), scope_.region), scope_.service), "aws4_request");
  key_day_ = day;
  key_secret_ = secret;
  return key_;
}

Signature Signer::sign(const UnsignedRequest& request, const Credentials& credentials, Time now) {
  Signature signature{format_date_time(now), {}};
  const std::string_view date(signature.date.data(), signature.date.size());
  const std::string_view day = date.substr(0, 8);

  UnsignedRequest whole = request;
  whole.fields.push_back({"x-amz-date", date});
  if (!credentials.session_token.empty())
    whole.fields.push_back({"x-amz-security-token", credentials.session_token});
  const std::string scope = base::join(day, "/", scope_.region, "/", scope_.service, "/aws4_request");
  const std::string to_sign =
      base::join(algorithm, "\n", date, "\n", scope, "\n", sha256_hex(canonical_request(whole)));
  const std::string proof = hex(hmac(key_of(day, credentials.secret_access_key), to_sign));
  signature.authorization =
      base::join(algorithm, " Credential=", credentials.access_key_id, "/", scope,
                 ", SignedHeaders=", signed_names(in_order(whole.fields)), ", Signature=", proof);
  return signature;
}

}  // namespace weir::wire::aws
