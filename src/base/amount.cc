#include "weir/amount.h"

#include "base/text.h"
#include "base/text_writer.h"

namespace weir {

Result<Amount> Amount::parse(std::string_view text) {
  const auto wrong = [&](const char* what) {
    return base::invalid("amount ", base::quoted(text), " ", what, "; write a number such as 500 or 1.5");
  };
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  const std::size_t dot = digits.find('.');
  const auto whole = base::parse_digits(digits.substr(0, dot));
  std::int64_t thousandths = 0;
  if (!whole) return wrong("is not a number in range");
  if (dot != std::string_view::npos) {
    const std::string_view decimals = digits.substr(dot + 1);
    if (decimals.empty()) return wrong("ends in a point");
    if (decimals.size() > 3) return wrong("has more than three decimals");
    const auto fraction = base::parse_digits(decimals);
    if (!fraction) return wrong("is not a number");
    constexpr std::int64_t scale[] = {0, 100, 10, 1};
    thousandths = *fraction * scale[decimals.size()];
  }
  if (*whole > max_millitokens / 1000) return wrong("is too large");
  const Amount amount = milli((*whole * 1000 + thousandths) * (negative ? -1 : 1));
  if (!amount.in_range()) return wrong("is too large");
  return amount;
}

std::string Amount::to_string() const {
  char room[base::TextWriter::number_room];
  base::TextWriter writer(room);
  writer.amount(*this);
  return {room, writer.at()};
}

}  // namespace weir
