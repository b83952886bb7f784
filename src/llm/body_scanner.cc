#include "llm/body_scanner.h"

#include "base/text.h"
#include "wire/json_reader.h"

namespace weir::llm {
namespace {

using wire::json::Reader;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Of a number, or of true, false or null.
bool is_word_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' || c == '.';
}

}  // namespace

void BodyScanner::start(Api api) {
  *this = BodyScanner();
  api_ = api;
}

std::optional<Unreadable> BodyScanner::feed(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size() && !problem_; ++i) {
    // Most of a body is inside of texts that do not matter, and a large one is images.
    if (in_ == In::text && !is_name_) {
      while (i < bytes.size() && bytes[i] != '"' && bytes[i] != '\\' && !is_control(bytes[i])) ++i;
      if (i == bytes.size()) break;
    }
    take(bytes[i]);
  }
  return problem_;
}

std::optional<Unreadable> BodyScanner::end() const {
  if (problem_ || next_ == Next::nothing) return problem_;
  return no_json;
}

void BodyScanner::take(char c) {
  switch (in_) {
    case In::text:
      return take_text(c);
    case In::escape:
    case In::hex:
      return take_escape(c);
    case In::word:
      if (take_word(c)) return;
      break;
    case In::none:
      break;
  }
  if (!problem_ && !is_space(c)) take_mark(c);
}

/// A name that is too long to be kept is none that matters.
void BodyScanner::keep(char c) {
  if (kept_.size() < largest) kept_ += c;
}

void BodyScanner::take_text(char c) {
  if (c == '"') return end_text();
  if (is_control(c)) return fail();
  if (is_name_) keep(c);
  if (c == '\\') in_ = In::escape;
}

void BodyScanner::take_escape(char c) {
  if (is_name_) keep(c);
  if (in_ == In::hex) {
    const bool hex = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!hex) return fail();
    if (--hex_left_ == 0) in_ = In::text;
  } else if (c == 'u') {
    in_ = In::hex;
    hex_left_ = 4;
  } else {
    if (std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) return fail();
    in_ = In::text;
  }
}

/// False if the word ended before this byte.
bool BodyScanner::take_word(char c) {
  if (!is_word_char(c)) {
    end_word();
    return false;
  }
  // A word that is longer than the bytes that are kept can only be a number.
  if (kept_.size() == largest && !is_digit(c)) fail();
  keep(c);
  return true;
}

void BodyScanner::take_mark(char c) {
  switch (c) {
    case '{':
      return open(true);
    case '[':
      return open(false);
    case '}':
      return close(true);
    case ']':
      return close(false);
    case '"':
      return start_text();
    case ':':
      if (next_ != Next::colon) return fail();
      if (depth_ == 1) note_name();
      next_ = Next::value;
      return;
    case ',':
      if (next_ != Next::comma) return fail();
      next_ = in_object() ? Next::name : Next::value;
      return;
    default:
      return start_word(c);
  }
}

void BodyScanner::open(bool object) {
  const bool fits = next_ == Next::value || next_ == Next::first_element || (next_ == Next::body && object);
  if (!fits || depth_ == maxima::json_depth) return fail();
  const std::uint64_t bit = std::uint64_t{1} << depth_++;
  objects_ = object ? objects_ | bit : objects_ & ~bit;
  next_ = object ? Next::first_name : Next::first_element;
}

void BodyScanner::close(bool object) {
  const bool empty = next_ == (object ? Next::first_name : Next::first_element);
  if ((!empty && next_ != Next::comma) || depth_ == 0 || in_object() != object) return fail();
  --depth_;
  end_value();
}

void BodyScanner::start_text() {
  is_name_ = next_ == Next::first_name || next_ == Next::name;
  if (!is_name_ && next_ != Next::value && next_ != Next::first_element) return fail();
  in_ = In::text;
  kept_.clear();
}

void BodyScanner::end_text() {
  in_ = In::none;
  if (!is_name_) return end_value();
  is_name_ = false;
  next_ = Next::colon;
}

void BodyScanner::note_name() {
  if (kept_.size() == largest) return;
  const std::string quoted = base::join("\"", kept_, "\"");
  std::string name;
  Reader reader(quoted);
  if (!reader.string(name)) return fail();
  problem_ = seen_.note(deciding(api_, Within::body, name));
}

void BodyScanner::start_word(char c) {
  if ((next_ != Next::value && next_ != Next::first_element) || !is_word_char(c)) return fail();
  in_ = In::word;
  kept_ = c;
}

void BodyScanner::end_word() {
  in_ = In::none;
  Reader reader(kept_);
  const bool cut = kept_.size() == largest && (is_digit(kept_[0]) || kept_[0] == '-');
  if (!cut && (!reader.skip() || !reader.end())) return fail();
  end_value();
}

}  // namespace weir::llm
