#include "wire/json_reader.h"

#include "base/hex.h"
#include "base/text.h"

namespace weir::wire::json {
namespace {

void append_utf8(std::string& out, unsigned code) {
  const auto byte = [&](unsigned bits) { out += static_cast<char>(bits); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0U | code >> 6U);
  } else if (code < 0x10000) {
    byte(0xE0U | code >> 12U);
    byte(0x80U | (code >> 6U & 0x3FU));
  } else {
    byte(0xF0U | code >> 18U);
    byte(0x80U | (code >> 12U & 0x3FU));
    byte(0x80U | (code >> 6U & 0x3FU));
  }
  byte(0x80U | (code & 0x3FU));
}

}  // namespace

bool Reader::fail() {
  failed_ = true;
  return false;
}

void Reader::space() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
    ++at_;
}

bool Reader::take(char c) {
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool Reader::word(std::string_view word) {
  if (failed_) return false;
  space();
  if (!text_.substr(at_).starts_with(word)) return fail();
  at_ += word.size();
  first_ = false;
  return true;
}

Reader::Kind Reader::peek() {
  space();
  if (failed_ || at_ >= text_.size()) return Kind::none;
  switch (text_[at_]) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
      return Kind::null;
    default:
      return text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9') ? Kind::number : Kind::none;
  }
}

bool Reader::open(char c) {
  if (failed_) return false;
  space();
  if (!take(c) || depth_ == deepest) return fail();
  ++depth_;
  return first_ = true;
}

/// Steps to the next member or element; false at the end.
bool Reader::follow(char close) {
  if (failed_) return false;
  space();
  if (take(close)) {
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_ && !take(',')) return fail();
  first_ = false;
  return true;
}

bool Reader::object() { return open('{'); }
bool Reader::array() { return open('['); }
bool Reader::element() { return follow(']'); }

bool Reader::member(std::string& name) {
  if (!follow('}') || !string(name)) return false;
  space();
  return take(':') || fail();
}

bool Reader::hex4(unsigned& out) {
  out = 0;
  for (int i = 0; i < 4; ++i) {
    if (at_ >= text_.size()) return false;
    const auto digit = base::hex_value(text_[at_++]);
    if (!digit) return false;
    out = out << 4U | *digit;
  }
  return true;
}

bool Reader::escape(std::string& out) {
  if (at_ >= text_.size()) return false;
  constexpr std::string_view names = "\"\\/bfnrt";
  constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
  const char c = text_[at_++];
  if (const std::size_t found = names.find(c); found != std::string_view::npos) {
    out += meant[found];
    return true;
  }
  unsigned code = 0;
  if (c != 'u' || !hex4(code)) return false;
  if (code >= 0xD800 && code < 0xDC00) {
    unsigned low = 0;
    if (!take('\\') || !take('u') || !hex4(low) || low < 0xDC00 || low >= 0xE000) return false;
    code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
  } else if (code >= 0xDC00 && code < 0xE000) {
    return false;
  }
  append_utf8(out, code);
  return true;
}

bool Reader::string(std::string& out) {
  out.clear();
  if (failed_) return false;
  space();
  if (!take('"')) return fail();
  const std::size_t begin = at_;
  for (;;) {
    const std::size_t plain = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<unsigned char>(text_[at_]) >= 0x20)
      ++at_;
    out += text_.substr(plain, at_ - plain);
    if (take('"')) break;
    if (!take('\\') || !escape(out)) return fail();
  }
  first_ = false;
  return base::is_utf8(text_.substr(begin, at_ - begin)) || fail();
}

bool Reader::digits() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
  return at_ > begin;
}

bool Reader::number(std::string_view& out) {
  out = {};
  if (failed_) return false;
  space();
  const std::size_t begin = at_;
  take('-');
  if (!take('0') && !digits()) return fail();
  if (take('.') && !digits()) return fail();
  if (take('e') || take('E')) {
    if (!take('+')) take('-');
    if (!digits()) return fail();
  }
  out = text_.substr(begin, at_ - begin);
  first_ = false;
  return true;
}

bool Reader::boolean(bool& out) {
  out = peek() == Kind::boolean && text_[at_] == 't';
  return word(out ? "true" : "false");
}

bool Reader::null() { return word("null"); }

bool Reader::skip() {
  std::string text;
  std::string_view digits_of_it;
  bool flag = false;
  switch (peek()) {
    case Kind::object:
      for (object(); member(text);) skip();
      return !failed_;
    case Kind::array:
      for (array(); element();) skip();
      return !failed_;
    case Kind::string:
      return string(text);
    case Kind::number:
      return number(digits_of_it);
    case Kind::boolean:
      return boolean(flag);
    case Kind::null:
      return null();
    default:
      return fail();
  }
}

bool Reader::raw(std::string_view& out) {
  space();
  const std::size_t begin = at_;
  const bool good = skip();
  out = text_.substr(begin, at_ - begin);
  return good;
}

bool Reader::end() {
  space();
  if (at_ != text_.size() || depth_ != 0) failed_ = true;
  return !failed_;
}

}  // namespace weir::wire::json
