#include "wire/http_request.h"

#include <algorithm>

#include "wire/http_chars.h"

namespace weir::wire::http {
namespace {

Method method_of(std::string_view text) {
  switch (text.size()) {
    case 3:
      return text == "GET" ? Method::get : text == "PUT" ? Method::put : Method::other;
    case 4:
      return text == "POST" ? Method::post : text == "HEAD" ? Method::head : Method::other;
    case 5:
      return text == "PATCH" ? Method::patch : text == "TRACE" ? Method::trace : Method::other;
    case 6:
      return text == "DELETE" ? Method::delete_ : Method::other;
    case 7:
      return text == "OPTIONS" ? Method::options : text == "CONNECT" ? Method::connect : Method::other;
    default:
      return Method::other;
  }
}

bool sends_content(Method method) {
  return method == Method::post || method == Method::put || method == Method::patch;
}

/// The text after a host: empty, or a colon and up to five digits.
bool is_port(std::string_view text) {
  if (text.empty()) return true;
  if (text[0] != ':' || text.size() > 6) return false;
  return std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// [address][:port]
bool is_bracketed_host(std::string_view text) {
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos || end < 3) return false;
  for (const char c : text.substr(1, end - 1)) {
    if (!is(c, hex_char) && c != ':' && c != '.') return false;
  }
  return is_port(text.substr(end + 1));
}

/// host[:port], where an IPv6 address is in brackets. The empty host is allowed: that of a target without
/// one.
bool is_host(std::string_view text) {
  if (text.starts_with('[')) return is_bracketed_host(text);
  std::size_t end = 0;
  while (end < text.size() && is(text[end], host_char)) ++end;
  return (end > 0 || text.empty()) && is_port(text.substr(end));
}

}  // namespace

void RequestParser::clear() {
  reader_.clear();
  semantics_.clear();
  host_in_target_ = false;
}

Progress RequestParser::fail(int status, std::string_view reason) {
  refusal_ = {status, reason};
  return Progress::failed;
}

Progress RequestParser::parse(std::string_view bytes, RequestHead& head) {
  bytes_ = bytes.data();
  for (std::string_view line;;) {
    switch (reader_.next(bytes, line)) {
      case HeadReader::Event::start_line:
        if (!start_line(line, head)) return Progress::failed;
        break;
      case HeadReader::Event::field:
        if (!field(line, head)) return Progress::failed;
        break;
      case HeadReader::Event::end:
        return finish(head);
      case HeadReader::Event::need_more:
        return Progress::need_more;
      case HeadReader::Event::failed:
        return fail(reader_.refusal().status, reader_.refusal().reason);
    }
  }
}

bool RequestParser::start_line(std::string_view line, RequestHead& head) {
  head.fields_.clear();
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    fail(400, "the request line must be a method, a target and a version");
    return false;
  }
  const std::string_view method = line.substr(0, first);
  if (!is_token(method)) {
    fail(400, "the method is malformed");
    return false;
  }
  head.method_text_ = slice(method);
  head.method_ = method_of(method);
  return version(line.substr(last + 1), head) && target(line.substr(first + 1, last - first - 1), head);
}

bool RequestParser::version(std::string_view text, RequestHead& head) {
  if (text == "HTTP/1.1" || text == "HTTP/1.0") {
    head.version_ = text.back() == '1' ? Version::http_1_1 : Version::http_1_0;
    return true;
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool well_formed = text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) &&
                           text[6] == '.' && is_digit(text[7]);
  if (well_formed) {
    fail(505, "the versions are HTTP/1.0 and HTTP/1.1");
  } else {
    fail(400, "the version is malformed");
  }
  return false;
}

bool RequestParser::target(std::string_view text, RequestHead& head) {
  host_in_target_ = false;
  head.target_ = slice(text);
  head.query_ = slice(text.substr(text.size()));
  if (head.method_ == Method::connect) {
    fail(501, "CONNECT is not supported");
    return false;
  }
  if (text.empty() || !all(text, target_char)) {
    fail(400, "the target is empty or has a character that is not allowed");
    return false;
  }
  if (text == "*" && head.method_ == Method::options) {
    head.path_ = slice(text);
    return true;
  }
  if (text[0] != '/') return absolute_target(text, head);
  const std::size_t question = text.find('?');
  head.path_ = slice(text.substr(0, question));
  if (question != std::string_view::npos) head.query_ = slice(text.substr(question + 1));
  return true;
}

bool RequestParser::absolute_target(std::string_view text, RequestHead& head) {
  const std::size_t scheme = text.find("://");
  const std::string_view name = text.substr(0, scheme == std::string_view::npos ? 0 : scheme);
  if (!same_name(name, "http") && !same_name(name, "https")) {
    fail(400, "the target must be a path or an http URL");
    return false;
  }
  const std::string_view rest = text.substr(scheme + 3);
  const std::size_t host_end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view host = rest.substr(0, host_end);
  if (host.empty() || !is_host(host)) {
    fail(400, "the host in the target is malformed");
    return false;
  }
  host_in_target_ = true;
  head.host_ = slice(host);
  const std::string_view path = rest.substr(host_end);
  const std::size_t question = path.find('?');
  head.path_ = slice(path.substr(0, question));
  if (question != std::string_view::npos) head.query_ = slice(path.substr(question + 1));
  return true;
}

bool RequestParser::field(std::string_view line, RequestHead& head) {
  Field field;
  if (!parse_field(line, field, refusal_)) return false;
  const unsigned hosts = semantics_.hosts();
  if (!semantics_.note(field.name, field.value)) {
    refusal_ = semantics_.refusal();
    return false;
  }
  if (semantics_.hosts() != hosts) {
    if (!is_host(field.value)) {
      fail(400, "Host is malformed");
      return false;
    }
    if (!host_in_target_) head.host_ = slice(field.value);
  }
  head.fields_.add(slice(field.name), slice(field.value));
  return true;
}

Progress RequestParser::finish(RequestHead& head) {
  const bool modern = head.version_ == Version::http_1_1;
  if (semantics_.hosts() == 0) {
    if (modern) return fail(400, "Host is missing");
    if (!host_in_target_) head.host_ = {};
  }
  if (modern && semantics_.expects() && !semantics_.expects_continue()) {
    return fail(417, "the only expectation is 100-continue");
  }
  head.keep_alive_ = !semantics_.close() && (modern || semantics_.keep_alive());
  head.upgrade_ = modern && semantics_.upgrade();
  head.authorizations_ = semantics_.authorizations();
  head.connection_names_fields_ = semantics_.connection_names_fields();
  const Progress progress = finish_body(head);
  head.expects_continue_ = modern && semantics_.expects_continue() && head.body_.kind != Framing::Kind::none;
  head.rebase(bytes_);
  return progress;
}

Progress RequestParser::finish_body(RequestHead& head) {
  const bool modern = head.version_ == Version::http_1_1;
  head.body_ = {};
  if (semantics_.has_coding()) {
    if (semantics_.has_length()) {
      return fail(400, "Content-Length and Transfer-Encoding must not be given together");
    }
    if (!modern) return fail(400, "HTTP/1.0 has no Transfer-Encoding");
    head.body_.kind = Framing::Kind::chunked;
  } else if (semantics_.has_length()) {
    if (semantics_.length() != 0) head.body_ = {Framing::Kind::length, semantics_.length()};
  } else if (!modern && sends_content(head.method_)) {
    // A body of an HTTP/1.0 client may end with the connection; without a length its end cannot be known.
    return fail(411, "Content-Length is missing");
  }
  return Progress::complete;
}

}  // namespace weir::wire::http
