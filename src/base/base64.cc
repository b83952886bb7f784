#include "base/base64.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace weir::base {
namespace {

struct Alphabet {
  explicit constexpr Alphabet(std::string_view all) : letters(all) {
    for (std::size_t bits = 0; bits < pairs.size(); ++bits)
      pairs[bits] = {letters[bits / 64], letters[bits % 64]};
  }
  std::string_view letters;
  std::array<std::array<char, 2>, 4096> pairs{};  ///< the two letters of every twelve bits
};

constexpr Alphabet standard("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
constexpr Alphabet url("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

/// Without padding.
void encode(std::string& text, std::string_view bytes, const Alphabet& alphabet) {
  const std::size_t before = text.size();
  text.resize(before + (bytes.size() + 2) / 3 * 4);
  char* to = text.data() + before;
  const auto byte = [&](std::size_t at) { return std::uint32_t{static_cast<unsigned char>(bytes[at])}; };
  const auto write = [&](std::uint32_t bits) {
    std::memcpy(to, alphabet.pairs[bits >> 12U].data(), 2);
    std::memcpy(to + 2, alphabet.pairs[bits & 4095U].data(), 2);
    to += 4;
  };
  for (; bytes.size() >= 3; bytes.remove_prefix(3)) write(byte(0) << 16U | byte(1) << 8U | byte(2));
  if (bytes.empty()) return;
  write(byte(0) << 16U | (bytes.size() == 2 ? byte(1) << 8U : 0));
  // Drop the letters of the last group that encode no input.
  text.resize(text.size() - (3 - bytes.size()));
}

std::optional<std::string> decode(std::string_view text, const Alphabet& alphabet) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t value = alphabet.letters.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xffU);
  }
  // The unused bits must be 0, or several texts would decode to the same bytes.
  if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  encode(text, bytes, standard);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  return decode(text, standard);
}

void append_base64url(std::string& text, std::string_view bytes) { encode(text, bytes, url); }

std::optional<std::string> from_base64url(std::string_view text) { return decode(text, url); }

}  // namespace weir::base
