#include "store/redis/words.h"

#include <charconv>
#include <optional>

namespace weir::redis {
namespace {

constexpr std::string_view hex = "0123456789ABCDEF";

bool plain(char c) { return c > ' ' && c < '\x7f' && c != '%'; }

std::optional<unsigned> digit_of(char c) {
  const std::size_t at = hex.find(c);
  return at == std::string_view::npos ? std::nullopt : std::optional(static_cast<unsigned>(at));
}

}  // namespace

void Words::separate() {
  if (!text_.empty()) text_ += ' ';
}

Words& Words::number(std::int64_t number) {
  separate();
  char digits[24];
  text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  return *this;
}

Words& Words::name(std::string_view name) {
  separate();
  text_ += name;
  return *this;
}

Words& Words::text(std::string_view text) {
  separate();
  if (text.empty()) text_ += '%';
  for (const char c : text) {
    if (plain(c)) {
      text_ += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text_ += '%';
    text_ += hex[byte >> 4U];
    text_ += hex[byte & 15U];
  }
  return *this;
}

std::string_view WordReader::name() {
  const std::size_t space = text_.find(' ');
  const std::string_view word = text_.substr(0, space);
  text_.remove_prefix(space == std::string_view::npos ? text_.size() : space + 1);
  if (word.empty()) failed_ = true;
  return word;
}

std::int64_t WordReader::number() {
  const std::string_view word = name();
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failure != std::errc() || end != word.data() + word.size()) failed_ = true;
  return failed_ ? 0 : number;
}

std::int64_t WordReader::count() {
  const std::int64_t count = number();
  if (count < -1 || count > static_cast<std::int64_t>(text_.size() / 2 + 1)) failed_ = true;
  return failed_ ? 0 : count;
}

std::string WordReader::text() {
  const std::string_view word = name();
  std::string text;
  if (word == "%") return text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      text += word[i];
      continue;
    }
    const auto high = i + 2 < word.size() ? digit_of(word[i + 1]) : std::nullopt;
    const auto low = i + 2 < word.size() ? digit_of(word[i + 2]) : std::nullopt;
    if (!high || !low) {
      failed_ = true;
      return {};
    }
    text += static_cast<char>(*high << 4U | *low);
    i += 2;
  }
  return text;
}

}  // namespace weir::redis
