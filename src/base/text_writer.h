// Writes the texts of every decision: piece by piece into a buffer of sufficient size, without bounds checks
// or temporary strings.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/hex.h"
#include "weir/amount.h"
#include "weir/detail/copy.h"

namespace weir::base {

/// A write position in a buffer. The caller guarantees that the buffer is large enough; the constants and
/// size_of_json() give upper bounds.
class TextWriter {
 public:
  /// The most bytes that a number or an amount takes.
  static constexpr std::size_t number_room = 24;

  explicit TextWriter(char* at) : at_(at) {}
  char* at() const { return at_; }

  /// A literal, whose size the compiler knows.
  template <std::size_t Size>
  void put(const char (&literal)[Size]) {
    std::memcpy(at_, literal, Size - 1);
    at_ += Size - 1;
  }
  void text(std::string_view text) {
    detail::copy_short(at_, text.data(), text.size());
    at_ += text.size();
  }
  /// Moves bytes from a later position in the same buffer to the write position.
  void move_up(const char* begin, const char* end) {
    std::memmove(at_, begin, static_cast<std::size_t>(end - begin));
    at_ += end - begin;
  }
  void number(std::int64_t number) {
    if (number >= 0 && number < 10) {
      *at_++ = static_cast<char>('0' + number);
    } else {
      at_ = std::to_chars(at_, at_ + number_room, number).ptr;
    }
  }

  /// With up to three decimals.
  void amount(Amount amount) {
    const std::int64_t millitokens = amount.millitokens();
    // Work on the magnitude as unsigned, so that the most negative number is no special case.
    const auto magnitude = millitokens < 0 ? 0 - static_cast<std::uint64_t>(millitokens)
                                           : static_cast<std::uint64_t>(millitokens);
    if (millitokens < 0) *at_++ = '-';
    at_ = std::to_chars(at_, at_ + number_room, magnitude / 1000).ptr;
    if (auto rest = static_cast<unsigned>(magnitude % 1000); rest != 0) {
      *at_++ = '.';
      for (; rest != 0; rest = rest % 100 * 10) *at_++ = static_cast<char>('0' + rest / 100);
    }
  }

  static constexpr std::size_t size_of_json(std::string_view text) { return 6 * text.size() + 2; }
  /// As a JSON string, quotes included.
  void json(std::string_view text) {
    *at_++ = '"';
    if (stands_as_it_is(text)) [[likely]] {
      this->text(text);
    } else {
      for (const char c : text) {
        if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) {
          escape(c);
        } else {
          *at_++ = c;
        }
      }
    }
    *at_++ = '"';
  }

 private:
  /// Whether the text needs no JSON escapes; tests eight bytes at a time.
  static bool stands_as_it_is(std::string_view text) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t highest = ones * 0x80;
    const auto has_zero = [](std::uint64_t word) { return (word - ones) & ~word & highest; };
    while (!text.empty()) {
      // Bytes past the end are spaces, which need no escape.
      std::uint64_t word = ones * ' ';
      const std::size_t size = text.size() < sizeof word ? text.size() : sizeof word;
      // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the size is given.
      detail::copy_short(reinterpret_cast<char*>(&word), text.data(), size);
      const std::uint64_t control = (word - ones * ' ') & ~word & highest;
      if ((control | has_zero(word ^ ones * '"') | has_zero(word ^ ones * '\\')) != 0) return false;
      text.remove_prefix(size);
    }
    return true;
  }

  void escape(char c) {
    *at_++ = '\\';
    if (c == '"' || c == '\\') {
      *at_++ = c;
      return;
    }
    put("u00");
    *at_++ = hex_digits[static_cast<unsigned char>(c) >> 4U];
    *at_++ = hex_digits[static_cast<unsigned char>(c) & 15U];
  }

  char* at_;
};

/// Appends the output of `make(writer)`, which must not exceed `at_most` bytes.
template <class Make>
void append_written(std::string& out, std::size_t at_most, Make&& make) {
  char room[1024];
  if (at_most <= sizeof room) {
    TextWriter writer(room);
    make(writer);
    out.append(room, static_cast<std::size_t>(writer.at() - room));
    return;
  }
  const std::size_t before = out.size();
  out.resize(before + at_most);
  TextWriter writer(out.data() + before);
  make(writer);
  out.resize(static_cast<std::size_t>(writer.at() - out.data()));
}

}  // namespace weir::base
