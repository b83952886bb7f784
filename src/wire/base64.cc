#include "wire/base64.h"

namespace weir::wire {
namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : digits[group >> (18 - 6 * j) & 63U];
  }
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    unsigned group = 0;
    std::size_t padding = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const char c = text[i + j];
      const bool pads = c == '=' && i + 4 == text.size() && j >= 2;
      const std::size_t digit = pads ? 0 : digits.find(c);
      if (digit == std::string_view::npos || (padding > 0 && !pads)) return std::nullopt;
      padding += pads ? 1 : 0;
      group = group << 6U | static_cast<unsigned>(digit);
    }
    // What the padding leaves over must be 0: one text for each run of bytes.
    if ((group & ((1U << 8 * padding) - 1)) != 0) return std::nullopt;
    for (std::size_t j = 0; j < 3 - padding; ++j) bytes += static_cast<char>(group >> (16 - 8 * j) & 255U);
  }
  return bytes;
}

}  // namespace weir::wire
