#include "sync/s3_url.h"

#include <algorithm>
#include <array>

#include "aws/endpoint.h"
#include "base/text.h"
#include "sync/snapshot.h"
#include "wire/http_text.h"
#include "wire/url.h"

namespace weir::sync {
namespace {

using base::invalid;

constexpr std::string_view scheme = "s3://";
constexpr std::string_view form = "write s3://BUCKET/PREFIX?region=REGION";
/// S3 allows 1024 bytes for a key; the name of a region and of the object follow.
constexpr std::size_t longest_prefix = 512;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// The rules of S3 for new buckets.
bool is_bucket(std::string_view name) {
  const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; };
  return name.size() >= 3 && name.size() <= 63 && std::all_of(name.begin(), name.end(), allowed) &&
         is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
         name.find("..") == std::string_view::npos;
}

/// It becomes a part of a host name, and of the signature.
bool is_region(std::string_view name) {
  const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '-'; };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), allowed) &&
         is_letter_or_digit(name.front()) && is_letter_or_digit(name.back());
}

/// Servers, and programs on the way to them, may resolve "." and ".." and drop empty segments.
bool is_prefix(std::string_view prefix) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (prefix.size() > longest_prefix || !base::is_utf8(prefix) ||
      std::any_of(prefix.begin(), prefix.end(), is_control))
    return false;
  for (bool more = true; more;) {
    const std::size_t end = prefix.find('/');
    const std::string_view segment = prefix.substr(0, end);
    if (segment.empty() || segment == "." || segment == "..") return false;
    more = end != std::string_view::npos;
    if (more) prefix.remove_prefix(end + 1);
  }
  return true;
}

Result<void> read_prefix(std::string_view path, S3Url& url) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) return {};
  if (!wire::http::percent_decode(path, url.prefix))
    return invalid("the prefix in the URL of the exchange has a broken % escape; write % as %25");
  if (is_prefix(url.prefix)) return {};
  return invalid(
      "the prefix in the URL of the exchange is ", base::quoted(url.prefix),
      "; use at most 512 bytes of UTF-8 without control characters, and no empty segment, . or ..");
}

Result<void> read_deadline(std::string_view value, S3Url& url) {
  const auto number = base::parse_digits(value);
  if (!number || *number < 1 || *number > 600'000)
    return invalid("deadline_ms in the URL of the exchange is ", base::quoted(value),
                   "; use milliseconds from 1 to 600000");
  url.deadline = std::chrono::milliseconds(*number);
  return {};
}

Result<void> read_parameter(std::string_view name, const std::string& value, S3Url& url) {
  constexpr std::array<std::string_view, 6> names = {"region", "endpoint", "style",
                                                     "cacert", "insecure", "deadline_ms"};
  if (name == "region") {
    if (!is_region(value))
      return invalid("region in the URL of the exchange is ", base::quoted(value),
                     "; use the name of a region, such as eu-central-1");
    url.region = value;
  } else if (name == "endpoint") {
    if (auto endpoint = aws::parse_url(value); !endpoint)
      return invalid("endpoint in the URL of the exchange: ", endpoint.error().message);
    url.endpoint = value;
  } else if (name == "style") {
    if (value != "path" && value != "host")
      return invalid("style in the URL of the exchange is ", base::quoted(value),
                     "; use path (ENDPOINT/BUCKET) or host (BUCKET.ENDPOINT)");
    url.style = value == "path" ? aws::S3Style::path : aws::S3Style::host;
  } else if (name == "cacert") {
    url.ca_file = value;
  } else if (name == "insecure") {
    if (value != "true" && value != "false")
      return invalid("insecure in the URL of the exchange is ", base::quoted(value), "; use true or false");
    url.insecure = value == "true";
  } else if (name == "deadline_ms") {
    return read_deadline(value, url);
  } else {
    return invalid("the URL of the exchange has a parameter ", base::quoted(name), " that is not known",
                   base::did_you_mean(name, names));
  }
  return {};
}

Result<void> read_query(std::string_view query, S3Url& url) {
  using Next = wire::http::QueryParameters::Next;
  wire::http::QueryParameters parameters(query);
  std::string name;
  std::string value;
  std::string seen;
  for (;;) {
    const Next next = parameters.next(name, value);
    if (next == Next::end) return {};
    if (next == Next::malformed)
      return invalid("the parameters in the URL of the exchange have a broken % escape; write % as %25");
    const std::string mark = base::join("&", name, "&");
    if (seen.find(mark) != std::string::npos)
      return invalid("the URL of the exchange has the parameter ", base::quoted(name),
                     " twice; write it once");
    seen += mark;
    if (auto read = read_parameter(name, value, url); !read) return read;
  }
}

}  // namespace

Result<S3Url> parse_s3_url(std::string_view text) {
  if (!text.starts_with(scheme)) return invalid("the URL of the exchange does not begin with s3://; ", form);
  text.remove_prefix(scheme.size());
  const std::string_view place = text.substr(0, text.find('?'));
  const std::string_view bucket = place.substr(0, place.find('/'));
  if (bucket.find('@') != std::string_view::npos)
    return invalid(
        "the URL of the exchange must hold no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
        "or "
        "AWS_PROFILE, and ",
        form);
  if (text.find('#') != std::string_view::npos)
    return invalid("the URL of the exchange must not have a fragment; write # as %23");
  S3Url url{.bucket = std::string(bucket)};
  if (bucket.find(':') != std::string_view::npos)
    return invalid("the URL of the exchange names a bucket and no port; name a server with ",
                   "?endpoint=https://HOST:PORT");
  if (!is_bucket(bucket))
    return invalid(
        "the URL of the exchange names the bucket ", base::quoted(bucket),
        "; a bucket has 3 to 63 lower-case letters, digits, `-` and `.`, and begins and ends with a "
        "letter or a digit: ",
        form);
  if (auto read = read_prefix(place.substr(bucket.size()), url); !read) return read.error();
  if (auto read = read_query(text.substr(std::min(place.size() + 1, text.size())), url); !read)
    return read.error();
  return url;
}

Result<aws::S3Options> s3_options(const S3Url& url, const aws::Environment& machine) {
  aws::S3Options options;
  options.bucket = url.bucket;
  options.ca_file = url.ca_file;
  options.largest_object = largest_snapshot;
  std::string endpoint = url.endpoint;
  if (endpoint.empty()) endpoint = aws::endpoint_of(machine, "S3").value_or("");
  options.region = url.region;
  if (options.region.empty())
    options.region = aws::region_of(machine).value_or(endpoint.empty() ? "" : "us-east-1");
  if (options.region.empty())
    return invalid("no region is known for the bucket ", base::quoted(url.bucket),
                   "; add ?region=... to the URL of the exchange, or set AWS_REGION");
  if (!is_region(options.region))
    return invalid("the environment names the region ", base::quoted(options.region),
                   "; set AWS_REGION to the name of a region, such as eu-central-1");
  if (endpoint.empty()) {
    options.endpoint = aws::s3_endpoint(options.region);
  } else {
    auto checked =
        aws::check_endpoint(endpoint, {.service = "S3", .owner = "the exchange", .insecure = url.insecure});
    if (!checked) return checked.error();
    if (checked->path.find('?') != std::string::npos)
      return invalid("the endpoint of S3 ", base::quoted(endpoint), " must not have parameters");
    options.endpoint = *std::move(checked);
  }
  // The certificate for *.s3.REGION.amazonaws.com is for one more label, not for two.
  const bool has_dot = url.bucket.find('.') != std::string::npos && options.endpoint.server.tls;
  options.style = url.style.value_or(endpoint.empty() && !has_dot ? aws::S3Style::host : aws::S3Style::path);
  if (options.style == aws::S3Style::path) return options;
  if (has_dot)
    return invalid(
        "the bucket ", base::quoted(url.bucket),
        " has a dot in its name, which no certificate covers as a part of the host; use style=path");
  if (!wire::is_host_name(options.endpoint.server.host) || aws::is_loopback(options.endpoint.server.host))
    return invalid("the endpoint of S3 ", base::quoted(endpoint),
                   " is an address, before which no bucket can be written; use style=path");
  return options;
}

}  // namespace weir::sync
