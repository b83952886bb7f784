// A fast hash of short strings for tables in memory. Entity names come from outside, so the hash is
// seeded: an attacker who does not know the seed cannot choose names that collide.
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
  const std::size_t size = a.size();
  if (size != b.size()) return false;
  const char* const x = a.data();
  const char* const y = b.data();
  const auto differ = [=](std::size_t at, std::size_t count) {
    return load_word(x + at, count) ^ load_word(y + at, count);
  };
  // The end is read as a word that may overlap the one before, so that there is no loop over bytes.
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8) {
      if (differ(at, 8) != 0) return false;
    }
    return differ(size - 8, 8) == 0;
  }
  if (size >= 4) return (differ(0, 4) | differ(size - 4, 4)) == 0;
  if (size >= 2) return (differ(0, 2) | differ(size - 2, 2)) == 0;
  return size == 0 || x[0] == y[0];
}

/// The first eight bytes of a text as a number; a shorter text is padded with zeros. Two texts of the same
/// size, at most eight, are equal if their heads are.
inline std::uint64_t head_of(std::string_view text) {
  const std::size_t size = text.size();
  const char* const at = text.data();
  if (size >= 8) return load_word(at, 8);
  if (size >= 4) return load_word(at, 4) | load_word(at + size - 4, 4) << (8 * (size - 4));
  if (size >= 2) return load_word(at, 2) | load_word(at + size - 1, 1) << (8 * (size - 1));
  return size == 0 ? 0 : load_word(at, 1);
}

/// The hash of a text, or of a sequence of texts: `before` is the hash of the texts before this one.
inline std::uint64_t hash(std::string_view text, HashSeed seed, std::uint64_t before = 0) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t state = before ^ seed.first ^ (left * seed.second);
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

}  // namespace weir::base
