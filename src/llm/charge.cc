#include "llm/charge.h"

#include <algorithm>

#include "base/text.h"

namespace weir::llm {
namespace {

constexpr std::int64_t million = 1'000'000;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<Figure> figure_of(std::string_view name) {
  const auto* const found = std::find(figure_names.begin(), figure_names.end(), name);
  if (found == figure_names.end()) return std::nullopt;
  return static_cast<Figure>(found - figure_names.begin());
}

__extension__ using Wide = __int128;

std::int64_t divide_up(Wide number, std::int64_t by) {
  const Wide quotient = (number + by - 1) / by;
  return static_cast<std::int64_t>(std::min<Wide>(quotient, Amount::max_millitokens));
}

}  // namespace

std::optional<std::int64_t> parse_millionths(std::string_view text) {
  constexpr std::size_t decimals = 6;
  const std::size_t point = text.find('.');
  const auto whole = base::parse_digits(text.substr(0, point));
  if (!whole || *whole > million) return std::nullopt;
  if (point == std::string_view::npos) return *whole * million;
  std::string fraction(text.substr(point + 1));
  if (fraction.empty() || fraction.size() > decimals) return std::nullopt;
  fraction.resize(decimals, '0');
  const auto part = base::parse_digits(fraction);
  if (!part) return std::nullopt;
  return *whole * million + *part;
}

Figures figures_of(const Usage& usage, const Price* price) {
  Figures figures{1000,
                  usage.input * 1000,
                  usage.cached_input * 1000,
                  usage.cache_write * 1000,
                  usage.output * 1000,
                  usage.reasoning * 1000,
                  0};
  if (price == nullptr) return figures;
  const auto cost = [](std::int64_t tokens, std::int64_t each) { return Wide{tokens} * each; };
  const Wide total = cost(usage.input, price->input) + cost(usage.cached_input, price->cached_input) +
                     cost(usage.cache_write, price->cache_write) + cost(usage.output, price->output) +
                     cost(usage.reasoning, price->reasoning);
  // Prices have six decimals of a millionth of a dollar, figures three.
  figures[static_cast<std::size_t>(Figure::usd)] = divide_up(total, 1000);
  return figures;
}

Result<Expression> Expression::parse(std::string_view text) {
  Expression expression;
  const auto wrong = [&](std::string_view term) {
    std::string names;
    for (const std::string_view name : figure_names) names += base::join(names.empty() ? "" : ", ", name);
    return base::invalid(base::quoted(term), " is no term; write sums such as input + 0.1*cached_input, of ",
                         names);
  };
  for (std::string_view rest = text;;) {
    const std::size_t plus = rest.find('+');
    const std::string_view term = trimmed(rest.substr(0, plus));
    const std::size_t star = term.find('*');
    std::string_view name = trimmed(term.substr(0, star));
    std::string_view weight = star == std::string_view::npos ? "1" : trimmed(term.substr(star + 1));
    if (star != std::string_view::npos && !figure_of(name)) std::swap(name, weight);
    const auto figure = figure_of(name);
    const auto millionths = parse_millionths(weight);
    if (!figure || !millionths) return wrong(term);
    constexpr std::size_t most_terms = 32;
    if (expression.terms_.size() == most_terms)
      return base::invalid("the sum has more than ", std::to_string(most_terms), " terms");
    expression.terms_.push_back({*figure, *millionths});
    if (plus == std::string_view::npos) return expression;
    rest.remove_prefix(plus + 1);
  }
}

Amount Expression::of(const Figures& figures) const {
  Wide sum = 0;
  for (const Term& term : terms_) sum += Wide{figures[static_cast<std::size_t>(term.figure)]} * term.weight;
  return Amount::milli(divide_up(sum, million));
}

bool Expression::names(Figure figure) const {
  return std::any_of(terms_.begin(), terms_.end(), [&](const Term& term) { return term.figure == figure; });
}

Charges::Charges() {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> usual = {{
      {"rpm", "requests"},
      {"tpm", "input + cached_input + cache_write + output + reasoning"},
      // Vendors do not count what they read from a cache.
      {"itpm", "input + cache_write"},
      {"otpm", "output + reasoning"},
      {"usd", "usd"},
  }};
  for (const auto& [limit, text] : usual) set(limit, *Expression::parse(text));
}

void Charges::set(std::string_view limit, Expression expression) {
  const auto same = [&](const Entry& entry) { return entry.limit == limit; };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same);
  if (found != entries_.end()) {
    found->expression = std::move(expression);
  } else {
    entries_.push_back({std::string(limit), std::move(expression)});
  }
}

Amount Charges::of(std::string_view limit, const Figures& figures) const {
  for (const Entry& entry : entries_) {
    if (entry.limit == limit) return entry.expression.of(figures);
  }
  return Amount::milli(figures[static_cast<std::size_t>(Figure::requests)]);
}

bool Charges::names(Figure figure) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.expression.names(figure); });
}

void Charges::list(const Figures& figures, std::vector<Charge>& into) const {
  into.clear();
  for (const Entry& entry : entries_) into.push_back({entry.limit, entry.expression.of(figures)});
}

}  // namespace weir::llm
