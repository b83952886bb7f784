#include "wire/http_body.h"

#include <algorithm>

#include "wire/http_chars.h"
#include "wire/http_head.h"

namespace weir::wire::http {
namespace {

/// Fields for framing and routing: in a trailer they come too late and hint at request smuggling.
bool is_forbidden_in_trailer(std::string_view name) {
  return same_name(name, "content-length") || same_name(name, "transfer-encoding") || same_name(name, "host");
}

}  // namespace

void BodyDecoder::start(Framing framing, std::uint64_t largest) {
  largest_ = largest;
  received_ = left_ = 0;
  extensions_ = line_start_ = 0;
  digits_ = 0;
  trailer_text_.clear();
  trailers_.clear();
  chunked_ = framing.kind == Framing::Kind::chunked;
  switch (framing.kind) {
    case Framing::Kind::none:
      state_ = State::done;
      break;
    case Framing::Kind::chunked:
      state_ = State::size_start;
      break;
    case Framing::Kind::until_close:
      state_ = State::until_close;
      break;
    case Framing::Kind::length:
      left_ = framing.length;
      state_ = left_ == 0 ? State::done : State::run;
      if (left_ > largest_) refuse(413, "the body is too large");
      break;
  }
}

bool BodyDecoder::refuse(int status, std::string_view reason) {
  refusal_ = {status, reason};
  state_ = State::failed;
  return false;
}

BodyDecoder::Step BodyDecoder::fail(int status, std::string_view reason) {
  refuse(status, reason);
  return {Progress::failed, 0, {}};
}

bool BodyDecoder::end_of_input() {
  if (state_ == State::until_close) state_ = State::done;
  return state_ == State::done;
}

BodyDecoder::Step BodyDecoder::take(std::string_view input, std::uint64_t most) {
  const std::string_view data = input.substr(0, std::min<std::uint64_t>(input.size(), most));
  received_ += data.size();
  return {Progress::need_more, data.size(), data};
}

BodyDecoder::Step BodyDecoder::decode(std::string_view input) {
  std::size_t used = 0;
  while (true) {
    if (state_ == State::done) return {Progress::complete, used, {}};
    if (state_ == State::failed) return {Progress::failed, used, {}};
    const std::string_view rest = input.substr(used);
    if (rest.empty()) return {Progress::need_more, used, {}};
    if (state_ == State::until_close) {
      if (received_ == largest_) return fail(413, "the body is too large");
      return take(rest, largest_ - received_);
    }
    if (state_ == State::run) {
      Step step = take(rest, left_);
      step.consumed += used;
      left_ -= step.data.size();
      if (left_ == 0) state_ = chunked_ ? State::data_end : State::done;
      if (state_ == State::done) step.progress = Progress::complete;
      return step;
    }
    ++used;
    framing_byte(rest[0]);
  }
}

/// One byte that is not of the body. False if it makes the body unreadable.
bool BodyDecoder::framing_byte(char c) {
  switch (state_) {
    case State::size_start:
    case State::size:
      return size_byte(c);
    case State::extension:
      if (c == '\r') {
        state_ = State::size_end;
        return true;
      }
      if (!is(c, value_char)) return refuse(400, "a chunk extension has a character that is not allowed");
      return ++extensions_ <= limits_.chunk_extensions || refuse(400, "the chunk extensions are too long");
    case State::size_end:
      return c == '\n' ? end_of_size() : refuse(400, "the size of a chunk must end with CR LF");
    case State::data_end:
      state_ = State::data_end_lf;
      return c == '\r' || refuse(400, "a chunk is longer than its size");
    case State::data_end_lf:
      state_ = State::size_start;
      return c == '\n' || refuse(400, "a chunk must end with CR LF");
    case State::trailer:
      return trailer_byte(c);
    default:
      return false;
  }
}

bool BodyDecoder::size_byte(char c) {
  if (is(c, hex_char)) {
    if (state_ == State::size_start) left_ = digits_ = 0;
    state_ = State::size;
    // 60 bits are enough for any body, and cannot wrap around.
    if (++digits_ > 15) return refuse(400, "the size of a chunk has too many digits");
    left_ = left_ * 16 + hex_value(c);
    return true;
  }
  if (state_ == State::size && c == '\r') {
    state_ = State::size_end;
    return true;
  }
  if (state_ == State::size && c == ';') {
    state_ = State::extension;
    return true;
  }
  return refuse(400, "the size of a chunk must be hexadecimal digits");
}

bool BodyDecoder::end_of_size() {
  if (left_ == 0) {
    state_ = State::trailer;
    return true;
  }
  if (left_ > largest_ - received_) return refuse(413, "the body is too large");
  state_ = State::run;
  return true;
}

bool BodyDecoder::trailer_byte(char c) {
  if (trailer_text_.size() == limits_.trailer) return refuse(431, "the trailer section is too large");
  trailer_text_ += c;
  return c != '\n' || end_of_trailer_line();
}

bool BodyDecoder::end_of_trailer_line() {
  const std::string_view line = std::string_view(trailer_text_).substr(line_start_);
  if (!line.ends_with("\r\n")) return refuse(400, "a line must end with CR LF");
  line_start_ = trailer_text_.size();
  return line.size() > 2 || parse_trailers();
}

/// Parsed only when the text is complete, since it moves while it grows.
bool BodyDecoder::parse_trailers() {
  const std::string_view text = trailer_text_;
  trailers_.rebase(trailer_text_.c_str());
  const auto slice = [&](std::string_view part) {
    return Slice{static_cast<std::uint32_t>(part.data() - text.data()),
                 static_cast<std::uint32_t>(part.size())};
  };
  for (std::size_t start = 0; start + 2 < text.size();) {
    const std::size_t end = text.find("\r\n", start);
    Field field;
    Refusal refusal;
    if (!parse_field(text.substr(start, end - start), field, refusal)) {
      return refuse(refusal.status, refusal.reason);
    }
    if (is_forbidden_in_trailer(field.name)) return refuse(400, "a trailer must not have this field");
    if (trailers_.size() == limits_.fields) return refuse(431, "there are too many trailer fields");
    trailers_.add(slice(field.name), slice(field.value));
    start = end + 2;
  }
  state_ = State::done;
  return true;
}

}  // namespace weir::wire::http
