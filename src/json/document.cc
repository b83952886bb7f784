#include "json/document.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::json {
namespace {

using base::join;
using base::quoted;

/// Up to this size a thread's parser keeps the memory that it needed.
constexpr std::size_t large = std::size_t{1024} * 1024;

Reading& shared_reading() {
  thread_local Reading reading;
  return reading;
}

/// The names of members that were seen; few in all but hostile documents.
class Names {
 public:
  bool contains(std::string_view name) const {
    const auto few_end = few_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, few_.size()));
    return std::find(few_.begin(), few_end, name) != few_end ||
           std::find(more_.begin(), more_.end(), name) != more_.end();
  }
  void add(std::string_view name) {
    if (count_ < few_.size()) {
      few_[count_] = name;
    } else {
      more_.push_back(name);
    }
    ++count_;
  }
  std::size_t size() const { return count_; }

 private:
  std::array<std::string_view, 8> few_;
  std::vector<std::string_view> more_;
  std::size_t count_ = 0;
};

/// Digits and nothing else, as most amounts are.
bool is_plain(std::string_view token) {
  return (token.size() == 1 || token.front() != '0') &&
         std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Document::Document(std::string_view json, std::string_view called) : called_(called) {
  Reading& reading = json.size() > large ? own_.emplace() : shared_reading();
  reading.padded.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  reading.padded.assign(json);
  if (reading.parser.iterate(reading.padded).get(document_) != simdjson::SUCCESS) not_json();
}

void Document::not_json() { malform(join(called_, " is not JSON")); }

void Document::members(const Visit& visit) {
  if (failed()) return;
  ondemand::object object;
  if (document_.get_object().get(object) != simdjson::SUCCESS)
    return malform(join(called_, " must be a JSON object"));
  visit_members(object, called_, visit);
  const char* rest = nullptr;
  if (!failed() && document_.current_location().get(rest) == simdjson::SUCCESS)
    malform("there is something behind the JSON object");
}

void Document::members(ondemand::value& value, std::string_view of, const Visit& visit) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS)
    return malform(join(quoted(of), " must be an object"));
  visit_members(object, of, visit);
}

void Document::elements(ondemand::value& value, std::string_view of, std::size_t most,
                        const VisitElement& visit) {
  ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS)
    return malform(join(quoted(of), " must be an array"));
  std::size_t count = 0;
  for (auto element : array) {
    ondemand::value one;
    if (element.get(one) != simdjson::SUCCESS) return not_json();
    if (++count > most) return malform(join(quoted(of), " has too many elements"));
    visit(one);
    if (failed()) return;
  }
}

std::string Document::text(ondemand::value& value, std::string_view of) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    malform(join(quoted(of), " must be a string"));
    return {};
  }
  return std::string(text);
}

bool Document::flag(ondemand::value& value, std::string_view of) {
  bool flag = false;
  if (value.get_bool().get(flag) != simdjson::SUCCESS) malform(join(quoted(of), " must be true or false"));
  return flag;
}

std::int64_t Document::integer(ondemand::value& value, std::string_view of) {
  std::int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS)
    malform(join(quoted(of), " must be a whole number"));
  return number;
}

bool Document::is_null(ondemand::value& value) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS || type != ondemand::json_type::null) return false;
  // The type is that of the first letter alone.
  bool null = false;
  if (value.is_null().get(null) != simdjson::SUCCESS || !null) not_json();
  return true;
}

Amount Document::amount(ondemand::value& value, std::string_view of) {
  const std::string_view token = number_token(value, of);
  if (failed()) return {};
  auto parsed = Amount::parse(token);
  if (!parsed) {
    invalidate(join("amount of ", quoted(of), ": ", parsed.error().message));
    return {};
  }
  return *parsed;
}

Limit Document::limit(ondemand::value& value, std::string_view name) {
  static const Limit none = *Limit::parse("0");
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return malform("a limit cannot be read"), none;
  Result<Limit> limit = none;
  if (type == ondemand::json_type::string) {
    limit = Limit::parse(text(value, name));
  } else if (type == ondemand::json_type::object) {
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

std::vector<NamedLimit> Document::limits(ondemand::value& value, std::string_view of) {
  std::vector<NamedLimit> limits;
  members(value, of, [&](std::string_view name, ondemand::value& one) { add_limit(limits, name, one); });
  return limits;
}

std::vector<NamedLimit> Document::limits() {
  std::vector<NamedLimit> limits;
  members([&](std::string_view name, ondemand::value& one) { add_limit(limits, name, one); });
  return limits;
}

void Document::add_limit(std::vector<NamedLimit>& limits, std::string_view name, ondemand::value& value) {
  if (auto checked = limits::check_limit_name(name); !checked) return invalidate(checked.error().message);
  limits.push_back({std::string(name), limit(value, name)});
}

std::string Document::raw(ondemand::value& value, std::string_view of) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) {
    malform(join(quoted(of), " must be an object"));
    return {};
  }
  std::string_view json;
  if (object.raw_json().get(json) != simdjson::SUCCESS) not_json();
  return std::string(json);
}

void Document::unknown(std::string_view key, std::span<const std::string_view> known) {
  invalidate(join("field ", quoted(key), " is not known here", base::did_you_mean(key, known)));
}

void Document::visit_members(ondemand::object& object, std::string_view of, const Visit& visit) {
  Names seen;
  for (auto member : object) {
    std::string_view key;
    ondemand::value value;
    if (member.unescaped_key().get(key) != simdjson::SUCCESS ||
        member.value().get(value) != simdjson::SUCCESS)
      return not_json();
    if (seen.contains(key)) return malform(join(quoted(key), " stands twice in ", of, "; keep one of them"));
    if (seen.size() == most_members) return malform(join(of, " has too many members"));
    // The parser keeps unescaped names until the next document.
    seen.add(key);
    visit(key, value);
    if (failed()) return;
  }
}

std::string_view Document::number_token(ondemand::value& value, std::string_view of) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS || type != ondemand::json_type::number) {
    malform(join("amount of ", quoted(of), " must be a number"));
    return {};
  }
  std::string_view token = value.raw_json_token();
  token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  if (is_plain(token)) return token;
  // Taken as a double too, which checks that it is a JSON number at all.
  double ignored = 0;
  if (value.get_double().get(ignored) != simdjson::SUCCESS) {
    malform(join("amount of ", quoted(of), " is not a JSON number"));
    return {};
  }
  return token;
}

/// The object as text again, its numbers as they were written.
std::string Document::long_form(ondemand::value& value, std::string_view name) {
  std::string json = "{";
  members(value, name, [&](std::string_view key, ondemand::value& member) {
    json += join(json.size() > 1 ? "," : "", base::json_string(key), ":", number_token(member, key));
  });
  return json + "}";
}

}  // namespace weir::json
