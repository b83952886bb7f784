#include "json/document.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::json {
namespace {

using base::join;
using base::quoted;

using Kind = Value::Kind;

// More digits than any amount or duration has.
constexpr std::int64_t most_digits = 18;

/// The exponent behind the e of a number, bounded: beyond this every number but 0 is out of range.
std::int64_t exponent_of(std::string_view text) {
  constexpr std::int64_t far = 1'000'000'000;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t number = 0;
  for (const char digit : text) number = std::min(far, number * 10 + (digit - '0'));
  return negative ? -number : number;
}

/// A JSON number without its exponent: 1500 for 1.5e3.
Result<std::string> without_exponent(std::string_view token) {
  const std::size_t e = token.find_first_of("eE");
  if (e == std::string_view::npos) return std::string(token);
  std::string_view mantissa = token.substr(0, e);
  const bool negative = mantissa.starts_with('-');
  if (negative) mantissa.remove_prefix(1);
  const std::size_t dot = std::min(mantissa.find('.'), mantissa.size());
  std::string digits = join(mantissa.substr(0, dot), mantissa.substr(std::min(dot + 1, mantissa.size())));
  const std::size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos) return std::string("0");
  // How many digits stand before the point.
  const std::int64_t whole =
      static_cast<std::int64_t>(dot) - static_cast<std::int64_t>(first) + exponent_of(token.substr(e + 1));
  digits = digits.substr(first, digits.find_last_not_of('0') + 1 - first);
  const auto wrong = [&](const char* what) {
    return base::invalid("amount ", quoted(token), " ", what, "; write a number such as 500 or 1.5");
  };
  if (whole > most_digits) return wrong("is too large");
  if (static_cast<std::int64_t>(digits.size()) - whole > 3) return wrong("has more than three decimals");
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(whole, 0));
  // Both bounds above keep these short.
  if (whole < 0) digits.insert(0, static_cast<std::size_t>(-whole), '0');
  if (digits.size() < size) digits.append(size - digits.size(), '0');
  std::string text = join(negative ? "-" : "", size == 0 ? "0" : digits.substr(0, size));
  if (digits.size() > size) text += join(".", digits.substr(size));
  return text;
}

}  // namespace

void Document::not_json() { malform(join(called_, " is not JSON")); }

void Document::members(const Visit& visit) {
  if (failed()) return;
  const Kind kind = reader_.peek();
  if (kind == Kind::none) return not_json();
  if (kind != Kind::object) return malform(join(called_, " must be a JSON object"));
  visit_members(reader_, called_, visit);
  if (!failed() && !reader_.end()) malform("there is something behind the JSON object");
}

void Document::members(Value& value, std::string_view of, const Visit& visit) {
  if (value.peek() != Kind::object) return malform(join(quoted(of), " must be an object"));
  visit_members(value, of, visit);
}

void Document::elements(Value& value, std::string_view of, std::size_t most, const VisitElement& visit) {
  if (value.peek() != Kind::array) return malform(join(quoted(of), " must be an array"));
  std::size_t count = 0;
  for (value.array(); value.element();) {
    if (++count > most) return malform(join(quoted(of), " has too many elements"));
    const std::size_t before = value.at();
    visit(value);
    if (failed()) return;
    if (value.at() == before) value.skip();
  }
  if (value.failed()) not_json();
}

std::string Document::text(Value& value, std::string_view of) {
  std::string text;
  if (value.peek() != Kind::string) {
    malform(join(quoted(of), " must be a string"));
  } else if (!value.string(text)) {
    not_json();
  }
  return text;
}

bool Document::flag(Value& value, std::string_view of) {
  bool flag = false;
  if (value.peek() != Kind::boolean || !value.boolean(flag))
    malform(join(quoted(of), " must be true or false"));
  return flag;
}

std::int64_t Document::integer(Value& value, std::string_view of) {
  std::int64_t number = 0;
  std::string_view token;
  const bool read = value.peek() == Kind::number && value.number(token);
  const auto expanded = without_exponent(token);
  const std::string plain = expanded ? *expanded : std::string();
  const auto [end, wrong] = std::from_chars(plain.data(), plain.data() + plain.size(), number);
  if (!read || wrong != std::errc() || end != plain.data() + plain.size())
    malform(join(quoted(of), " must be a whole number"));
  return number;
}

bool Document::is_null(Value& value) {
  if (value.peek() != Kind::null) return false;
  if (!value.null()) not_json();
  return true;
}

Amount Document::amount(Value& value, std::string_view of) {
  const std::string token = number_token(value, of);
  if (failed()) return {};
  auto parsed = Amount::parse(token);
  if (!parsed) {
    invalidate(join("amount of ", quoted(of), ": ", parsed.error().message));
    return {};
  }
  return *parsed;
}

Amount Document::sum(Value& value, std::string_view of) {
  const std::string token = number_token(value, of);
  if (failed()) return {};
  if (const auto parsed = Amount::parse(token)) return *parsed;
  const bool negative = token.starts_with('-');
  const std::size_t point = std::min(token.find('.'), token.size());
  const std::string_view whole = std::string_view(token).substr(negative ? 1 : 0, point - (negative ? 1 : 0));
  std::string decimals = point == token.size() ? std::string() : token.substr(point + 1);
  const bool fits = decimals.size() <= 3;
  decimals.resize(3, '0');
  const auto millitokens = base::parse_digits(join(whole, decimals));
  if (!millitokens || !fits) invalidate(join("amount of ", quoted(of), " is not a number in range"));
  return Amount::milli(millitokens ? *millitokens * (negative ? -1 : 1) : 0);
}

Limit Document::limit(Value& value, std::string_view name) {
  static const Limit none = *Limit::parse("0");
  Result<Limit> limit = none;
  if (const Kind kind = value.peek(); kind == Kind::string) {
    limit = Limit::parse(text(value, name));
  } else if (kind == Kind::object) {
    limit = Limit::parse(long_form(value, name));
  } else {
    invalidate(join("limit ", quoted(name), " must be text such as \"100/min\", or an object with capacity"));
  }
  if (failed()) return none;
  if (!limit) {
    invalidate(join(name, ": ", limit.error().message));
    return none;
  }
  return *limit;
}

std::vector<NamedLimit> Document::limits(Value& value, std::string_view of) {
  std::vector<NamedLimit> limits;
  members(value, of, [&](std::string_view name, Value& one) { add_limit(limits, name, one); });
  return limits;
}

std::vector<NamedLimit> Document::limits() {
  std::vector<NamedLimit> limits;
  members([&](std::string_view name, Value& one) { add_limit(limits, name, one); });
  return limits;
}

void Document::add_limit(std::vector<NamedLimit>& limits, std::string_view name, Value& value) {
  if (auto checked = limits::check_limit_name(name); !checked) return invalidate(checked.error().message);
  limits.push_back({std::string(name), limit(value, name)});
}

std::string Document::raw(Value& value, std::string_view of) {
  std::string_view json;
  if (value.peek() != Kind::object) {
    malform(join(quoted(of), " must be an object"));
  } else if (!value.raw(json)) {
    not_json();
  }
  return std::string(json);
}

void Document::unknown(std::string_view key, std::span<const std::string_view> known) {
  invalidate(join("field ", quoted(key), " is not known here", base::did_you_mean(key, known)));
}

void Document::visit_members(Value& value, std::string_view of, const Visit& visit) {
  constexpr std::size_t usual = 8;
  std::vector<std::string> seen;
  seen.reserve(usual);
  std::string key;
  for (value.object(); value.member(key);) {
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return malform(join(quoted(key), " stands twice in ", of, "; keep one of them"));
    if (seen.size() == most_members) return malform(join(of, " has too many members"));
    seen.push_back(std::move(key));
    const std::size_t before = value.at();
    visit(seen.back(), value);
    if (failed()) return;
    if (value.at() == before) value.skip();
  }
  if (value.failed()) not_json();
}

/// A number without an exponent.
std::string Document::number_token(Value& value, std::string_view of) {
  std::string_view token;
  if (value.peek() != Kind::number) {
    malform(join("amount of ", quoted(of), " must be a number"));
  } else if (!value.number(token)) {
    malform(join("amount of ", quoted(of), " is not a JSON number"));
  }
  auto plain = without_exponent(token);
  if (!plain) {
    invalidate(join("amount of ", quoted(of), ": ", plain.error().message));
    return "0";
  }
  return *std::move(plain);
}

/// The object as text again, its numbers as written.
std::string Document::long_form(Value& value, std::string_view name) {
  std::string json = "{";
  members(value, name, [&](std::string_view key, Value& member) {
    const bool is_text = (key == "mode" || key == "kind") && member.peek() == Kind::string;
    json += join(json.size() > 1 ? "," : "", base::json_string(key), ":",
                 is_text ? base::json_string(text(member, key)) : number_token(member, key));
  });
  return json + "}";
}

}  // namespace weir::json
