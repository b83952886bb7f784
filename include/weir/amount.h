// Amounts of tokens, exact to a thousandth.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "weir/detail/export.h"
#include "weir/result.h"

namespace weir {

/// How many tokens: a whole number of thousandths (millitokens). Converts from whole tokens, so that
/// `{"rpm", 1}` means one token. Fractions are written as Amount::milli(1500) or Amount::parse("1.5").
class WEIR_API Amount {
 public:
  /// The largest amount, balance or burst: 2^52 thousandths. Every store computes exactly up to it.
  static constexpr std::int64_t max_millitokens = std::int64_t{1} << 52;

  constexpr Amount() = default;
  /// Whole tokens. A number that is too large becomes an amount that is not in_range(), which every call
  /// refuses.
  template <std::integral T>
  constexpr Amount(T tokens) : millitokens_(from_tokens(tokens)) {}
  /// A floating-point number would have to be rounded silently; use parse() or milli().
  template <std::floating_point T>
  Amount(T) = delete;

  /// Thousandths of a token.
  static constexpr Amount milli(std::int64_t millitokens) {
    Amount amount;
    amount.millitokens_ = millitokens;
    return amount;
  }
  /// Reads "500", "1.5" or "-0.125": at most three decimals, no exponent.
  static Result<Amount> parse(std::string_view text);

  constexpr std::int64_t millitokens() const { return millitokens_; }
  /// Whether it is between -max_millitokens and max_millitokens.
  constexpr bool in_range() const {
    return millitokens_ >= -max_millitokens && millitokens_ <= max_millitokens;
  }
  /// "1.5": the fewest decimals that are exact.
  std::string to_string() const;

  friend constexpr auto operator<=>(const Amount&, const Amount&) = default;

 private:
  template <std::integral T>
  static constexpr std::int64_t from_tokens(T tokens) {
    constexpr std::int64_t bound = max_millitokens / 1000;
    if (std::cmp_greater(tokens, bound)) return std::numeric_limits<std::int64_t>::max();
    if (std::cmp_less(tokens, -bound)) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(tokens) * 1000;
  }

  std::int64_t millitokens_ = 0;
};

/// An amount of one named limit: `{"tpm", 500}`.
struct Charge {
  std::string_view limit;
  Amount amount;
};

}  // namespace weir
