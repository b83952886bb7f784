// Which bytes HTTP/1.1 allows where, as tables: one load per byte decides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/hash.h"

namespace weir::wire::http {

enum CharClass : std::uint8_t {
  token_char = 1,   ///< in names: methods, fields, tokens (RFC 9110, 5.6.2)
  value_char = 2,   ///< in values of fields: visible, space, tab and bytes above 127 (RFC 9110, 5.5)
  target_char = 4,  ///< in a request target: those of RFC 3986, and those that browsers send unescaped
  host_char = 8,    ///< in a host name
  hex_char = 16,
  plain_char = 32,  ///< in a path: read alike by every program, whatever is beside it
};

namespace detail {
constexpr bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
constexpr bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
constexpr std::array<std::uint8_t, 256> char_classes() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    const char c = static_cast<char>(i);
    const bool visible = i > 0x20 && i < 0x7f;
    unsigned classes = 0;
    if (is_alphanumeric(c) || (visible && is_one_of(c, "!#$%&'*+-.^_`|~"))) classes |= token_char;
    if (visible || i == ' ' || i == '\t' || i >= 0x80) classes |= value_char;
    if (visible && !is_one_of(c, "\"#<>")) classes |= target_char;
    if (is_alphanumeric(c) || (visible && is_one_of(c, "-._~%!$&'()*+;="))) classes |= host_char;
    if (is_hex(c)) classes |= hex_char;
    const bool upper_case = c >= 'A' && c <= 'Z';
    if (!is_one_of(c, "%\\;/.") && !upper_case) classes |= plain_char;
    table[i] = static_cast<std::uint8_t>(classes);
  }
  return table;
}
inline constexpr std::array<std::uint8_t, 256> classes_of = char_classes();
}  // namespace detail

constexpr bool is(char c, CharClass wanted) {
  return (detail::classes_of[static_cast<unsigned char>(c)] & wanted) != 0;
}

/// Whether every byte is of the class; true for an empty text.
constexpr bool all(std::string_view text, CharClass wanted) {
  return std::all_of(text.begin(), text.end(), [wanted](char c) { return is(c, wanted); });
}

constexpr bool is_token(std::string_view text) { return !text.empty() && all(text, token_char); }

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

namespace detail {
/// Eight bytes at once, each as lower() does: `upper` has the high bit of each byte that is an upper-case
/// letter.
inline std::uint64_t lower_word(std::uint64_t word) {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  constexpr std::uint64_t high = 0x80 * ones;
  const std::uint64_t low = word & ~high;
  const std::uint64_t from_a = low + (0x80 - 'A') * ones;
  const std::uint64_t after_z = low + (0x7f - 'Z') * ones;
  const std::uint64_t upper = (from_a ^ after_z) & ~word & high;
  return word | upper >> 2U;
}
}  // namespace detail

/// Equality of names, case-insensitive in ASCII.
constexpr bool same_name(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (std::is_constant_evaluated())
    return std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
  if (a.size() < 8) return detail::lower_word(base::head_of(a)) == detail::lower_word(base::head_of(b));
  // The first byte tells most names apart.
  if (lower(a[0]) != lower(b[0])) return false;
  const auto same = [&](std::size_t at) {
    const std::uint64_t x = base::load_word(a.data() + at, 8);
    const std::uint64_t y = base::load_word(b.data() + at, 8);
    return x == y || detail::lower_word(x) == detail::lower_word(y);
  };
  // The last word may overlap the one before.
  for (std::size_t i = 0; i + 8 < a.size(); i += 8) {
    if (!same(i)) return false;
  }
  return same(a.size() - 8);
}

/// Inline and by words: a call to memchr costs more for the names of fields.
inline bool has_underscore(std::string_view name) {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  const auto word_has = [](std::uint64_t word) {
    word ^= '_' * ones;
    return ((word - ones) & ~word & 0x80 * ones) != 0;
  };
  // A shorter name is padded with zeros, which are no underscores.
  if (name.size() < 8) return word_has(base::head_of(name));
  for (std::size_t i = 0; i + 8 < name.size(); i += 8) {
    if (word_has(base::load_word(name.data() + i, 8))) return true;
  }
  return word_has(base::load_word(name.data() + name.size() - 8, 8));
}

/// Without the spaces and tabs at both ends.
constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The value of a hexadecimal digit.
constexpr unsigned hex_value(char c) {
  if (c <= '9') return static_cast<unsigned>(c - '0');
  return static_cast<unsigned>(lower(c) - 'a') + 10;
}

}  // namespace weir::wire::http
