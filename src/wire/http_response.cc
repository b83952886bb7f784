#include "wire/http_response.h"

#include "wire/http_chars.h"

namespace weir::wire::http {

void ResponseParser::clear() {
  reader_.clear();
  semantics_.clear();
}

Progress ResponseParser::fail(std::string_view reason) {
  refusal_ = {502, reason};
  return Progress::failed;
}

Progress ResponseParser::parse(std::string_view bytes, Method request, ResponseHead& head) {
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
        return finish(request, head);
      case HeadReader::Event::need_more:
        return Progress::need_more;
      case HeadReader::Event::failed:
        return fail(reader_.refusal().reason);
    }
  }
}

/// "HTTP/1.1 200 OK"; the phrase may be empty, and some servers leave out the space before it too.
bool ResponseParser::start_line(std::string_view line, ResponseHead& head) {
  head.fields_.clear();
  if (!line.starts_with("HTTP/1.1 ") && !line.starts_with("HTTP/1.0 ")) {
    fail("the status line must start with HTTP/1.0 or HTTP/1.1");
    return false;
  }
  head.version_ = line[7] == '1' ? Version::http_1_1 : Version::http_1_0;
  const std::string_view code = line.substr(9, 3);
  const std::string_view rest = line.substr(9 + code.size());
  if (code.size() != 3 || code[0] < '1' || code[0] > '5' ||
      code.find_first_not_of("0123456789") != std::string_view::npos || (!rest.empty() && rest[0] != ' ')) {
    fail("the status must be three digits, from 100 to 599");
    return false;
  }
  head.status_ = (code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0');
  const std::string_view phrase = rest.substr(rest.empty() ? 0 : 1);
  if (!all(phrase, value_char)) {
    fail("the reason phrase has a character that is not allowed");
    return false;
  }
  head.reason_ = slice(phrase);
  return true;
}

bool ResponseParser::field(std::string_view line, ResponseHead& head) {
  Field field;
  if (!parse_field(line, field, refusal_)) return fail(refusal_.reason), false;
  if (!semantics_.note(field.name, field.value)) return fail(semantics_.refusal().reason), false;
  head.fields_.add(slice(field.name), slice(field.value));
  return true;
}

Progress ResponseParser::finish(Method request, ResponseHead& head) {
  const bool modern = head.version_ == Version::http_1_1;
  if (semantics_.has_coding() && semantics_.has_length()) {
    return fail("Content-Length and Transfer-Encoding must not be given together");
  }
  if (semantics_.has_coding() && (!modern || head.status_ < 200 || head.status_ == 204)) {
    return fail("this response must not have a Transfer-Encoding");
  }
  head.keep_alive_ = !semantics_.close() && (modern || semantics_.keep_alive());
  head.length_.reset();
  if (semantics_.has_length()) head.length_ = semantics_.length();
  head.body_ = {};
  const bool bodiless = request == Method::head || is_bodiless(head.status_);
  const bool delimited = semantics_.has_coding() || semantics_.has_length();
  if (head.status_ == 101 || (!bodiless && !delimited)) {
    head.body_.kind = Framing::Kind::until_close;
  } else if (!bodiless && semantics_.has_coding()) {
    head.body_.kind = Framing::Kind::chunked;
  } else if (!bodiless && semantics_.length() != 0) {
    head.body_ = {Framing::Kind::length, semantics_.length()};
  }
  if (head.body_.kind == Framing::Kind::until_close) head.keep_alive_ = false;
  head.rebase(bytes_);
  return Progress::complete;
}

}  // namespace weir::wire::http
