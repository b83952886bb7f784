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
  const auto [end, wrong] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (!read || wrong != std::errc() || end != token.data() + token.size())
    malform(join(quoted(of), " must be a whole number"));
  return number;
}

bool Document::is_null(Value& value) {
  if (value.peek() != Kind::null) return false;
  if (!value.null()) not_json();
  return true;
}

Amount Document::amount(Value& value, std::string_view of) {
  const std::string_view token = number_token(value, of);
  if (failed()) return {};
  auto parsed = Amount::parse(token);
  if (!parsed) {
    invalidate(join("amount of ", quoted(of), ": ", parsed.error().message));
    return {};
  }
  return *parsed;
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

std::string_view Document::number_token(Value& value, std::string_view of) {
  std::string_view token;
  if (value.peek() != Kind::number) {
    malform(join("amount of ", quoted(of), " must be a number"));
  } else if (!value.number(token)) {
    malform(join("amount of ", quoted(of), " is not a JSON number"));
  }
  return token;
}

/// The object as text again, its numbers as written.
std::string Document::long_form(Value& value, std::string_view name) {
  std::string json = "{";
  members(value, name, [&](std::string_view key, Value& member) {
    json += join(json.size() > 1 ? "," : "", base::json_string(key), ":", number_token(member, key));
  });
  return json + "}";
}

}  // namespace weir::json
