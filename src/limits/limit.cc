#include "weir/limit.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "base/wide.h"
#include "limits/limit_set.h"
#include "limits/long_form.h"
#include "limits/names.h"
#include "limits/spelling.h"

namespace weir {
namespace {

using base::invalid;
using base::quoted;
using std::chrono::milliseconds;

// The products of the refill arithmetic stay exact in the doubles of a Lua script up to here.
constexpr std::int64_t exact_bound = std::int64_t{1} << 53;

Result<void> check_amount(const char* what, Amount amount) {
  if (amount < Amount()) return invalid(what, " is negative; use 0 or more");
  if (!amount.in_range())
    return invalid(what, " is too large; the most is ", Amount::milli(Amount::max_millitokens).to_string());
  return {};
}

/// The milliseconds of a PERIOD such as "min" or "10s".
Result<milliseconds> parse_period(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t milliseconds;
  };
  constexpr Unit units[] = {{"s", 1000},         {"sec", 1000},     {"min", 60'000},    {"h", 3'600'000},
                            {"hour", 3'600'000}, {"d", 86'400'000}, {"day", 86'400'000}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count =
      digits == 0 ? std::optional<std::int64_t>(1) : base::parse_digits(text.substr(0, digits));
  for (const Unit& unit : units) {
    if (text.substr(digits) != unit.name) continue;
    if (!count || *count == 0 || *count > Amount::max_millitokens / unit.milliseconds) {
      return invalid("period ", quoted(text), " is out of range; use 1 or more, such as 10s");
    }
    return milliseconds(*count * unit.milliseconds);
  }
  return invalid("period ", quoted(text),
                 " is not known; use s, sec, min, h, hour, d or day, such as 100/min or 5/10s");
}

Result<LimitSpec> read_short_form(std::string_view text) {
  LimitSpec spec;
  if (const std::size_t last = text.rfind(':'); last != std::string_view::npos) {
    if (const auto mode = parse_mode(text.substr(last + 1))) {
      spec.mode = *mode;
      text = text.substr(0, last);
    }
  }
  if (constexpr std::string_view mark = ":concurrent"; text.ends_with(mark)) {
    spec.kind = Kind::concurrent;
    text.remove_suffix(mark.size());
  }
  const std::size_t colon = text.find(':');
  const std::string_view rate = text.substr(0, colon);
  const std::size_t slash = rate.find('/');

  auto capacity = Amount::parse(rate.substr(0, slash));
  if (!capacity) return capacity.error();
  spec.capacity = *capacity;
  if (spec.kind == Kind::concurrent && rate.size() != text.size())
    return invalid("a concurrent limit has no burst; write it as ", capacity->to_string(), ":concurrent");
  if (spec.kind == Kind::concurrent && slash != std::string_view::npos) {
    return invalid("a concurrent limit does not refill, so it has no period; write it as ",
                   capacity->to_string(), ":concurrent");
  }
  if (slash != std::string_view::npos) {
    auto period = parse_period(rate.substr(slash + 1));
    if (!period) return period.error();
    spec.refill_period = *period;
  }
  if (colon != std::string_view::npos) {
    const std::string_view last = text.substr(colon + 1);
    const auto mode = parse_mode(last);
    if (mode) return invalid("the mode is given twice; keep one");
    if (!last.empty() && std::isalpha(static_cast<unsigned char>(last[0])) != 0) return mode.error();
    auto burst = Amount::parse(last);
    if (!burst) return burst.error();
    spec.burst = *burst;
  }
  return spec;
}

Result<Limit> parse_short_form(std::string_view text) {
  const auto spec = read_short_form(text);
  if (spec) return Limit::make(*spec);
  // The right spelling of this limit helps more than the general advice after the last semicolon.
  const std::string advice = limits::spelling_advice(text);
  const std::string_view problem = spec.error().message;
  if (advice.empty()) return spec.error();
  return invalid(problem.substr(0, problem.rfind("; ") + 2), advice);
}

constexpr std::string_view modes[] = {"enforce", "shadow", "off"};
constexpr std::string_view kinds[] = {"rate", "concurrent"};

Result<void> check_concurrent(const LimitSpec& spec) {
  if (spec.refill_amount || spec.refill_period != LimitSpec().refill_period) {
    return invalid("a concurrent limit does not refill; leave refill_amount and refill_period_ms out");
  }
  if (spec.burst && *spec.burst != spec.capacity)
    return invalid("a concurrent limit has no burst; leave it out, or raise capacity");
  return check_amount("capacity", spec.capacity);
}

}  // namespace

std::string_view to_text(Mode mode) { return modes[static_cast<std::size_t>(mode)]; }

Result<Mode> parse_mode(std::string_view text) {
  const auto* const mode = std::find(std::begin(modes), std::end(modes), text);
  if (mode == std::end(modes))
    return invalid("mode ", quoted(text), " is not known; use enforce, shadow or off");
  return static_cast<Mode>(mode - std::begin(modes));
}

std::string_view to_text(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }

Result<Kind> parse_kind(std::string_view text) {
  const auto* const kind = std::find(std::begin(kinds), std::end(kinds), text);
  if (kind == std::end(kinds)) return invalid("kind ", quoted(text), " is not known; use rate or concurrent");
  return static_cast<Kind>(kind - std::begin(kinds));
}

Result<Limit> Limit::make(const LimitSpec& spec) {
  Limit limit;
  limit.capacity_ = spec.capacity;
  limit.burst_ = spec.burst.value_or(spec.capacity);
  limit.mode_ = spec.mode;
  limit.kind_ = spec.kind;
  if (spec.kind == Kind::concurrent) {
    if (auto checked = check_concurrent(spec); !checked) return checked.error();
    return limit;
  }
  // A blocked limit (capacity 0) still needs a rate; any will do, since nothing fits into a burst of 0.
  limit.refill_amount_ = spec.refill_amount.value_or(spec.capacity == Amount() ? Amount(1) : spec.capacity);
  limit.refill_period_ = spec.refill_period;

  if (auto checked = check_amount("capacity", limit.capacity_); !checked) return checked.error();
  if (auto checked = check_amount("burst", limit.burst_); !checked) return checked.error();
  if (auto checked = check_amount("refill_amount", limit.refill_amount_); !checked) return checked.error();
  if (limit.burst_ < limit.capacity_) {
    return invalid("burst ", limit.burst_.to_string(), " is less than capacity ", limit.capacity_.to_string(),
                   "; raise burst or leave it out");
  }
  if (limit.capacity_ == Amount() && limit.burst_ != Amount()) {
    return invalid("capacity 0 blocks, so burst must be 0 too; leave burst out, or raise capacity");
  }
  if (limit.refill_amount_ == Amount()) {
    return invalid("refill_amount is 0, so the bucket would never refill; use at least 0.001");
  }
  if (limit.refill_period_.count() < 1 || limit.refill_period_.count() > Amount::max_millitokens) {
    return invalid("refill_period_ms is out of range; use 1 or more");
  }
  const limits::Rate rate = limits::parameters_of(limit).rate;
  if (base::Int128{rate.amount} * rate.period > exact_bound) {
    return invalid("a refill of ", limit.refill_amount_.to_string(), " every ",
                   std::to_string(limit.refill_period_.count()),
                   " ms cannot be computed exactly in every store; round the amount or shorten the period");
  }
  return limit;
}

Result<Limit> Limit::parse(std::string_view text) {
  auto limit = text.starts_with('{') ? limits::parse_long_form(text) : parse_short_form(text);
  if (!limit) return invalid("limit ", quoted(text), ": ", limit.error().message);
  return limit;
}

std::string Limit::to_json() const {
  const std::string mode = mode_ == Mode::enforce ? "" : base::join(R"(,"mode":")", to_text(mode_), R"(")");
  if (kind_ == Kind::concurrent)
    return base::join("{\"capacity\":", capacity_.to_string(), R"(,"kind":"concurrent")", mode, "}");
  return base::join("{\"capacity\":", capacity_.to_string(), ",\"burst\":", burst_.to_string(),
                    ",\"refill_amount\":", refill_amount_.to_string(),
                    ",\"refill_period_ms\":", std::to_string(refill_period_.count()), mode, "}");
}

Result<std::vector<NamedLimit>> parse_limits(const std::vector<LimitText>& texts) {
  std::vector<NamedLimit> limits;
  for (const LimitText& text : texts) {
    if (auto checked = limits::check_limit_name(text.name); !checked) return checked.error();
    auto limit = Limit::parse(text.limit);
    if (!limit) return invalid(text.name, ": ", limit.error().message);
    limits.push_back({std::string(text.name), *limit});
  }
  return limits;
}

}  // namespace weir
