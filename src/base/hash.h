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

inline std::uint64_t hash(std::string_view text, HashSeed seed) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t state = seed.first ^ (left * seed.second);
  for (; left > 16; at += 16, left -= 16) {
    state = mix(load_word(at, 8) ^ seed.first, load_word(at + 8, 8) ^ state);
  }
  // The tail is read as two words that may overlap, so that no byte needs a branch of its own.
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
