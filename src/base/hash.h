// A fast hash of short strings for tables in memory. Entity names come from outside, so the hash is
// seeded: who does not know the seed cannot choose names that collide.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/wide.h"

namespace weir::base {

/// Two secret odd numbers that select one function of the family.
struct HashSeed {
  std::uint64_t first;
  std::uint64_t second;
};

/// The two halves of the product of a and b, folded.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const UInt128 product = UInt128{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

inline std::uint64_t load_word(const char* bytes, std::size_t count) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, count);
  return word;
}

/// Whether two short texts are equal. Inline, since a call to memcmp costs more than the comparison.
inline bool same(std::string_view a, std::string_view b) {
  std::size_t left = a.size();
  if (left != b.size()) return false;
  const char* x = a.data();
  const char* y = b.data();
  for (; left > 8; x += 8, y += 8, left -= 8) {
    if (load_word(x, 8) != load_word(y, 8)) return false;
  }
  // The tail is read as two words that may overlap, so that no byte needs a branch of its own.
  if (left == 8) return load_word(x, 8) == load_word(y, 8);
  if (left >= 4) return load_word(x, 4) == load_word(y, 4) && load_word(x + left - 4, 4) == load_word(y + left - 4, 4);
  return left == 0 || (x[0] == y[0] && x[left / 2] == y[left / 2] && x[left - 1] == y[left - 1]);
}

/// The first eight bytes of a text as a number; a shorter one is filled up with zeros. Two texts of the same
/// size up to eight are equal if these are.
inline std::uint64_t head_of(std::string_view text) {
  const std::size_t size = text.size();
  const char* const at = text.data();
  if (size >= 8) return load_word(at, 8);
  if (size >= 4) return load_word(at, 4) | load_word(at + size - 4, 4) << (8 * (size - 4));
  if (size == 0) return 0;
  const auto byte = [at](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i); };
  return byte(0) | byte(size / 2) | byte(size - 1);
}

inline std::uint64_t hash(std::string_view text, HashSeed seed) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t state = seed.first ^ (left * seed.second);
  for (; left > 16; at += 16, left -= 16) {
    state = mix(load_word(at, 8) ^ seed.first, load_word(at + 8, 8) ^ state);
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (left >= 8) {
    low = load_word(at, 8);
    high = load_word(at + left - 8, 8);
  } else if (left >= 4) {
    low = load_word(at, 4);
    high = load_word(at + left - 4, 4);
  } else if (left > 0) {
    low = static_cast<unsigned char>(at[0]);
    high = static_cast<std::uint64_t>(static_cast<unsigned char>(at[left / 2])) << 8U |
           static_cast<unsigned char>(at[left - 1]);
  }
  return mix(low ^ seed.second, high ^ state);
}

/// The hash of a pair, from the hashes of its halves; the order matters.
inline std::uint64_t combine(std::uint64_t first, std::uint64_t second, HashSeed seed) {
  return mix(first ^ seed.second, second + seed.first);
}

}  // namespace weir::base
