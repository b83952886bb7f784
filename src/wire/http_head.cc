#include "wire/http_head.h"

#include <algorithm>
#include <cstring>

#include "wire/http_chars.h"
#include "wire/http_text.h"

namespace weir::wire::http {

bool Semantics::refuse(int status, std::string_view reason) {
  refusal_ = {status, reason};
  return false;
}

bool Semantics::note(std::string_view name, std::string_view value) {
  // Only names of these lengths matter; most fields need no further comparison.
  switch (name.size()) {
    case 4:
      if (!same_name(name, "host")) return true;
      ++hosts_;
      return hosts_ == 1 || refuse(400, "Host must be given once");
    case 6:
      return !same_name(name, "expect") || note_expect(value);
    case 7:
      if (same_name(name, "upgrade")) has_upgrade_ = true;
      return true;
    case 10:
      return !same_name(name, "connection") || note_connection(value);
    case 13:
      if (same_name(name, "authorization")) ++authorizations_;
      return true;
    case 14:
      return !same_name(name, "content-length") || note_length(value);
    case 17:
      return !same_name(name, "transfer-encoding") || note_coding(value);
    default:
      return true;
  }
}

bool Semantics::note_length(std::string_view value) {
  if (has_length_) return refuse(400, "Content-Length must be given once");
  if (value.empty()) return refuse(400, "Content-Length must be a number");
  has_length_ = true;
  constexpr std::uint64_t largest = ~std::uint64_t{0} >> 1U;
  for (const char c : value) {
    if (c < '0' || c > '9') return refuse(400, "Content-Length must be a number");
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (length_ > (largest - digit) / 10) return refuse(413, "Content-Length is too large");
    length_ = length_ * 10 + digit;
  }
  return true;
}

bool Semantics::note_coding(std::string_view value) {
  // Codings split over several fields are legal, but in practice a sign of request smuggling.
  if (has_coding_) return refuse(400, "Transfer-Encoding must be given once");
  has_coding_ = true;
  if (same_name(value, "chunked")) return true;
  bool any = false;
  ListElements codings(value);
  for (std::string_view coding; codings.next(coding);) {
    any = true;
    const std::string_view name = trim(coding.substr(0, coding.find(';')));
    if (!is_token(name)) return refuse(400, "Transfer-Encoding is malformed");
    if (same_name(name, "chunked") && (coding != name || !codings.at_end())) {
      return refuse(400, "chunked must be the last transfer coding, without parameters");
    }
  }
  if (!any) return refuse(400, "Transfer-Encoding is empty");
  return refuse(501, "the only transfer coding is chunked");
}

bool Semantics::note_connection(std::string_view value) {
  ListElements options(value);
  for (std::string_view option; options.next(option);) {
    if (!is_token(option)) return refuse(400, "Connection is malformed");
    if (same_name(option, "close")) {
      close_ = true;
    } else if (same_name(option, "keep-alive")) {
      keep_alive_ = true;
    } else if (same_name(option, "upgrade")) {
      connection_upgrade_ = true;
    } else {
      names_fields_ = true;
    }
  }
  return true;
}

bool Semantics::note_expect(std::string_view value) {
  // The caller ignores it for HTTP/1.0, which does not know Expect.
  expects_continue_ = !expects_ && same_name(value, "100-continue");
  expects_ = true;
  return true;
}

HeadReader::Event HeadReader::fail(int status, std::string_view reason) {
  refusal_ = {status, reason};
  return Event::failed;
}

void HeadReader::clear() {
  line_start_ = scanned_ = fields_ = 0;
  started_ = false;
  may_skip_blank_ = skips_blank_;
}

HeadReader::Event HeadReader::next(std::string_view bytes, std::string_view& line) {
  if (scanned_ >= bytes.size()) return over_limit(bytes);
  const void* found = std::memchr(bytes.data() + scanned_, '\n', bytes.size() - scanned_);
  if (found == nullptr) {
    scanned_ = bytes.size();
    return over_limit(bytes);
  }
  const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
  const bool well_ended = end > line_start_ && bytes[end - 1] == '\r';
  line = bytes.substr(line_start_, end - line_start_ - (well_ended ? 1 : 0));
  line_start_ = scanned_ = end + 1;
  const Event event = judge(line, well_ended);
  return event == Event::start_line && line.empty() ? next(bytes, line) : event;
}

HeadReader::Event HeadReader::judge(std::string_view line, bool well_ended) {
  if (!started_ && line.size() > limits_.start_line) return fail(414, "the first line is too long");
  if (line_start_ > limits_.head) return fail(431, "the head is too large");
  if (!well_ended) return fail(400, "a line must end with CR LF");
  if (!started_) {
    if (line.empty() && !may_skip_blank_) return fail(400, "the first line is empty");
    may_skip_blank_ = false;
    started_ = !line.empty();
    return Event::start_line;
  }
  if (line.empty()) return Event::end;
  if (++fields_ > limits_.fields) return fail(431, "there are too many fields");
  return Event::field;
}

/// Applies the limits to an incomplete line, so that it cannot grow for ever. A CR may belong to its end.
HeadReader::Event HeadReader::over_limit(std::string_view bytes) {
  const std::string_view rest = bytes.substr(std::min(line_start_, bytes.size()));
  const std::size_t length = rest.size() - (!rest.empty() && rest.back() == '\r' ? 1 : 0);
  if (!started_ && length > limits_.start_line) return fail(414, "the first line is too long");
  if (bytes.size() > limits_.head) return fail(431, "the head is too large");
  return Event::need_more;
}

bool parse_field(std::string_view line, Field& field, Refusal& refusal) {
  std::size_t colon = 0;
  while (colon < line.size() && is(line[colon], token_char)) ++colon;
  if (colon == 0 || colon == line.size() || line[colon] != ':') {
    const bool folded = !line.empty() && (line[0] == ' ' || line[0] == '\t');
    refusal = {400, folded ? "a field must not continue on a second line"
                           : "the name of a field is malformed, or not followed by a colon"};
    return false;
  }
  field = {line.substr(0, colon), trim(line.substr(colon + 1))};
  if (!all(field.value, value_char)) {
    refusal = {400, "the value of a field has a character that is not allowed"};
    return false;
  }
  return true;
}

}  // namespace weir::wire::http
