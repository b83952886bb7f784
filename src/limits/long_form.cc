#include "limits/long_form.h"

#include <algorithm>
#include <bitset>

#include "base/text.h"

namespace weir::limits {
namespace {

using base::invalid;
using base::quoted;

/// Reads a text token by token; skips white space.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool take(char expected) {
    skip_space();
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// The inside of a string without escapes, which no field name needs.
  std::string_view take_string() {
    if (!take('"')) return {};
    const std::size_t end = text_.find_first_of("\"\\");
    if (end == std::string_view::npos || text_[end] != '"') return {};
    return advance(end, end + 1);
  }
  std::string_view take_number() {
    skip_space();
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,:{}[]"), text_.size());
    return advance(end, end);
  }
  bool at_end() {
    skip_space();
    return text_.empty();
  }

 private:
  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size())); }
  std::string_view advance(std::size_t size, std::size_t past) {
    const std::string_view token = text_.substr(0, size);
    text_.remove_prefix(past);
    return token;
  }

  std::string_view text_;
};

constexpr std::string_view fields[] = {"capacity",         "burst", "refill_amount",
                                       "refill_period_ms", "mode",  "kind"};
constexpr std::size_t period_field = 3;
constexpr std::size_t mode_field = 4;
constexpr std::size_t kind_field = 5;

Result<void> assign(LimitSpec& spec, std::size_t field, Reader& reader) {
  if (field == mode_field) {
    auto mode = parse_mode(reader.take_string());
    if (!mode) return mode.error();
    spec.mode = *mode;
    return {};
  }
  if (field == kind_field) {
    auto kind = parse_kind(reader.take_string());
    if (!kind) return kind.error();
    spec.kind = *kind;
    return {};
  }
  const std::string_view number = reader.take_number();
  if (field == period_field) {
    const auto period = base::parse_digits(number);
    if (!period)
      return invalid("refill_period_ms ", quoted(number), " is not a whole number of milliseconds");
    spec.refill_period = std::chrono::milliseconds(*period);
    return {};
  }
  auto amount = Amount::parse(number);
  if (!amount) return invalid(fields[field], ": ", amount.error().message);
  if (field == 0) spec.capacity = *amount;
  if (field == 1) spec.burst = *amount;
  if (field == 2) spec.refill_amount = *amount;
  return {};
}

}  // namespace

Result<Limit> parse_long_form(std::string_view json) {
  Reader reader(json);
  LimitSpec spec;
  std::bitset<std::size(fields)> seen;
  const auto malformed = invalid("not a flat JSON object of numbers, a mode and a kind");

  if (!reader.take('{')) return malformed;
  for (bool more = !reader.take('}'); more;) {
    const std::string_view name = reader.take_string();
    if (name.empty() || !reader.take(':')) return malformed;
    const auto* const field = std::find(std::begin(fields), std::end(fields), name);
    if (field == std::end(fields)) {
      return invalid("field ", quoted(name),
                     " is not known; use capacity, burst, refill_amount, refill_period_ms, mode and kind");
    }
    const auto index = static_cast<std::size_t>(field - std::begin(fields));
    if (seen[index]) return invalid("field ", quoted(name), " is given twice");
    seen.set(index);
    if (auto assigned = assign(spec, index, reader); !assigned) return assigned.error();
    more = reader.take(',');
    if (!more && !reader.take('}')) return malformed;
  }
  if (!reader.at_end()) return malformed;
  if (!seen[0]) return invalid("capacity is missing");
  if (seen[period_field] && spec.kind == Kind::concurrent)
    return invalid("a concurrent limit does not refill; leave refill_period_ms out");
  return Limit::make(spec);
}

}  // namespace weir::limits
