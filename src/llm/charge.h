// The amount that a call costs of a limit: a sum of weighted figures, such as "input + 0.1*cached_input".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/usage.h"
#include "weir/amount.h"
#include "weir/result.h"

namespace weir::llm {

/// The figures of a call that an expression can name.
enum class Figure : std::uint8_t { requests, input, cached_input, cache_write, output, reasoning, usd };
inline constexpr std::array<std::string_view, 7> figure_names = {
    "requests", "input", "cached_input", "cache_write", "output", "reasoning", "usd"};

/// Thousandths of each figure: of a token, and of a millionth of a US dollar.
using Figures = std::array<std::int64_t, figure_names.size()>;

/// US dollars for a million tokens, which are millionths of a dollar for one, with six decimals.
struct Price {
  std::int64_t input = 0;
  std::int64_t cached_input = 0;
  std::int64_t cache_write = 0;
  std::int64_t output = 0;
  std::int64_t reasoning = 0;
  friend bool operator==(const Price&, const Price&) = default;
};

/// `price` may be null; then the call costs no money.
Figures figures_of(const Usage& usage, const Price* price);

/// A decimal number from 0 to 1,000,000 with at most six decimals, as millionths.
std::optional<std::int64_t> parse_millionths(std::string_view text);

class Expression {
 public:
  /// "input + 0.1*cached_input": terms joined by "+", each a figure, a weight and a figure, or the reverse.
  /// The error says what a term can be.
  static Result<Expression> parse(std::string_view text);

  /// Rounded up to a thousandth, and at most the largest amount.
  Amount of(const Figures& figures) const;
  bool names(Figure figure) const;

 private:
  struct Term {
    Figure figure;
    std::int64_t weight;  ///< millionths
  };
  std::vector<Term> terms_;
};

/// What a call charges of each limit, by the name of the limit.
class Charges {
 public:
  /// With the usual names: rpm, tpm, itpm, otpm and usd.
  Charges();
  void set(std::string_view limit, Expression expression);
  /// A limit without an expression counts requests.
  Amount of(std::string_view limit, const Figures& figures) const;
  bool names(Figure figure) const;
  /// The charge of each limit that has an expression. The names are valid as long as this.
  void list(const Figures& figures, std::vector<Charge>& into) const;

 private:
  struct Entry {
    std::string limit;
    Expression expression;
  };
  std::vector<Entry> entries_;
};

}  // namespace weir::llm
