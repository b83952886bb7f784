// Integers that cannot overflow where it matters.
#pragma once

#include <cstdint>
#include <limits>

namespace weir::base {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// The value, or the nearest one that fits into 64 bits.
constexpr std::int64_t saturate(Int128 value) {
  constexpr Int128 low = std::numeric_limits<std::int64_t>::min();
  constexpr Int128 high = std::numeric_limits<std::int64_t>::max();
  if (value < low) return std::numeric_limits<std::int64_t>::min();
  return value > high ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(value);
}

/// a + b, clamped to the range.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

/// a + b for counters: wraps around on overflow instead of undefined behaviour.
constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// The same for a - b.
constexpr std::int64_t wrapping_sub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace weir::base
