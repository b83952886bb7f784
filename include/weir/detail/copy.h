// Copies of a few bytes. Not part of the public API.
#pragma once

#include <cstddef>
#include <cstring>

namespace weir::detail {

/// memcpy for short texts, inline: copies two words that may overlap, so that there is no loop over bytes.
inline void copy_short(char* to, const char* from, std::size_t size) {
  const auto copy_ends = [=]<class Word>(Word) {
    Word first;
    Word last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + size - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + size - sizeof(Word), &last, sizeof(Word));
  };
  struct Long {
    char bytes[16];
  };
  if (size > 32) [[unlikely]] {
    std::memcpy(to, from, size);
  } else if (size >= 16) {
    copy_ends(Long{});
  } else if (size >= 8) {
    copy_ends(0LL);
  } else if (size >= 4) {
    copy_ends(0);
  } else {
    for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
  }
}

}  // namespace weir::detail
