#include "store/sqlite/codec.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/maxima.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::sqlite {
namespace {

using decision::Ending;
using limits::LimitSetRef;

// With more distinct sets than this, few are shared: the cache is cleared instead of growing.
constexpr std::size_t most_sets = 65'536;

void append_number(std::string& text, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number);
  text.append(digits, end.ptr);
}

/// Reads a text that append_balances() wrote.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool take(std::string_view expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  bool take(std::int64_t& number) {
    const auto [end, failure] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (failure != std::errc()) return false;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return true;
  }
  /// Takes everything before a character, and the character.
  bool take_to(char end, std::string& text) {
    const std::size_t size = text_.find(end);
    if (size == std::string_view::npos) return false;
    text = text_.substr(0, size);
    text_.remove_prefix(size + 1);
    return true;
  }
  bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
};

/// The uses of grants of an amount, behind its four other elements; nothing where they cannot be read.
std::optional<std::vector<detail::GrantUse>> granted_in(std::string_view amount) {
  Cursor at(amount);
  std::string limit;
  std::int64_t number = 0;
  const bool others = at.take_to(',', limit) && at.take(number) && at.take(",") && at.take(number) &&
                      at.take(",") && at.take(number);
  if (!others) return std::nullopt;
  std::vector<detail::GrantUse> uses;
  while (at.take(",") && uses.size() < maxima::grant_uses) {
    detail::GrantUse& use = uses.emplace_back();
    const bool read =
        at.take(number) && at.take(",") && at.take(use.end) && at.take(",") && at.take(use.amount);
    if (!read || number < 0 || number >= static_cast<std::int64_t>(maxima::chain)) return std::nullopt;
    use.bucket = static_cast<std::uint8_t>(number);
  }
  if (!at.take("]") || !at.at_end()) return std::nullopt;
  return uses;
}

}  // namespace

std::string to_json(const limits::LimitSet& set) {
  auto json = base::JsonWriter::object();
  for (const NamedLimit& limit : set.limits()) json.raw(limit.name, limit.limit.to_json());
  return json.str();
}

namespace {

void append_holds(std::string& text, std::string_view stored) {
  text += ",[";
  bool first = true;
  const auto holds = bucket::decode_holds(stored);
  for (const bucket::Hold& hold : *holds) {
    if (!std::exchange(first, false)) text += ',';
    append_number(text, hold.deadline);
    text += ',';
    append_number(text, hold.amount);
  }
  text += ']';
}

/// Reads what is held of one limit, or granted; nothing where it cannot be used. A concurrent limit always
/// has a list.
std::optional<bucket::Holds> read_holds(Cursor& at, const limits::Parameters& parameters,
                                        std::int64_t tokens) {
  const bool concurrent = parameters.kind() == Kind::concurrent;
  bucket::Holds list;
  if (!at.take(",[")) return concurrent ? std::nullopt : std::optional(list);
  while (!at.take("]")) {
    bucket::Hold& hold = list.emplace_back();
    const bool read =
        (list.size() == 1 || at.take(",")) && at.take(hold.deadline) && at.take(",") && at.take(hold.amount);
    if (!read || list.size() > (concurrent ? maxima::holds : maxima::grants)) return std::nullopt;
  }
  if (!bucket::can_be_used(list)) return std::nullopt;
  if (concurrent && tokens != parameters.capacity - bucket::total(list)) return std::nullopt;
  return list;
}

}  // namespace

void append_balances(std::string& text, const limits::LimitSet& set, std::span<const table::Balance> balances,
                     Dormant dormant, std::string_view holds) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    text += i == 0 ? "{\"" : ",\"";
    text += set.name(i);
    text += "\":[";
    append_number(text, balances[i].tokens);
    text += ',';
    append_number(text, balances[i].consumed);
    const bool concurrent = (set.concurrent() >> i & 1U) != 0;
    const bool sleeps = (dormant >> i & 1U) != 0;
    const std::string_view list = holds.empty() ? std::string_view() : table::take_sized(holds);
    const bool has_list = concurrent || !list.empty();
    if (sleeps || has_list) text += sleeps ? ",1" : ",0";
    if (has_list) append_holds(text, list);
    text += ']';
  }
  text += '}';
}

std::optional<Dormant> read_balances(std::string_view text, const limits::LimitSet& set,
                                     std::span<table::Balance> balances, std::string& holds) {
  Cursor at(text);
  Dormant dormant = 0;
  std::string lists;
  bool any = set.concurrent() != 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool read = at.take(i == 0 ? "{\"" : ",\"") && at.take(set.name(i)) && at.take("\":[") &&
                      at.take(balances[i].tokens) && at.take(",") && at.take(balances[i].consumed);
    if (!read || !bucket::is_stored_balance(balances[i].tokens)) return std::nullopt;
    const bool concurrent = (set.concurrent() >> i & 1U) != 0;
    if (at.take(",1")) {
      dormant |= Dormant{1} << i;
    } else if (!at.take(",0") && concurrent) {
      return std::nullopt;
    }
    const auto list = read_holds(at, set[i], balances[i].tokens);
    if (!list || !at.take("]")) return std::nullopt;
    any = any || !list->empty();
    table::append_sized(lists, bucket::encode(*list));
  }
  if (!at.take("}") || !at.at_end()) return std::nullopt;
  if (any) holds += lists;
  return dormant;
}

void append_amount(std::string& text, std::string_view limit, std::int64_t amount) {
  if (amount == 0) return;
  if (text.back() != '{') text += ',';
  text += '"';
  text += limit;
  text += "\":";
  append_number(text, amount);
}

std::optional<std::vector<usage::Used>> read_amounts(std::string_view text) {
  Cursor at(text);
  std::vector<usage::Used> amounts;
  if (!at.take("{")) return std::nullopt;
  while (!at.take("}")) {
    usage::Used& used = amounts.emplace_back();
    const bool read = (amounts.size() == 1 || at.take(",")) && at.take("\"") && at.take_to('"', used.limit) &&
                      at.take(":") && at.take(used.amount);
    const auto same = [&](const usage::Used& other) { return &other != &used && other.limit == used.limit; };
    if (!read || used.amount == 0 || !limits::check_limit_name(used.limit) ||
        amounts.size() > maxima::limits_kept || std::any_of(amounts.begin(), amounts.end(), same))
      return std::nullopt;
  }
  if (!at.at_end()) return std::nullopt;
  return amounts;
}

std::string to_json(const std::vector<limits::Version>& versions) {
  auto all = base::JsonWriter::array();
  for (const limits::Version& version : versions) {
    auto json = base::JsonWriter::object();
    json.number("stamp", version.stamp).flag("gap", version.gap);
    if (version.limits) {
      auto members = base::JsonWriter::object();
      for (std::size_t i = 0; i < version.limits->size(); ++i) {
        const limits::Parameters& limit = (*version.limits)[i];
        auto numbers = base::JsonWriter::array();
        for (const std::int64_t number : {limit.capacity, limit.burst, limit.rate.amount, limit.rate.period})
          numbers.add(std::to_string(number));
        members.raw(version.limits->name(i), numbers.str());
      }
      json.raw("limits", members.str());
    }
    all.add(json.str());
  }
  return all.str();
}

std::string to_json(const std::map<std::string, std::string>& metadata) {
  auto json = base::JsonWriter::object();
  for (const auto& [name, value] : metadata) json.text(name, value);
  return json.str();
}

std::string to_json(const std::vector<decision::LeaseAmount>& amounts) {
  auto json = base::JsonWriter::array();
  for (const decision::LeaseAmount& amount : amounts) {
    auto one = base::JsonWriter::array();
    one.add(base::json_string(amount.limit)).add(std::to_string(amount.amount));
    one.add(std::to_string(amount.buckets));
    if (amount.holds != 0 || !amount.granted.empty()) one.add(std::to_string(amount.holds));
    for (const detail::GrantUse& use : amount.granted) {
      one.add(std::to_string(use.bucket)).add(std::to_string(use.end));
      one.add(std::to_string(use.amount));
    }
    json.add(one.str());
  }
  return json.str();
}

std::string to_json(const std::vector<std::string>& texts) {
  auto json = base::JsonWriter::array();
  for (const std::string& text : texts) json.add(base::json_string(text));
  return json.str();
}

std::string to_json(const std::vector<decision::LeaseBucket>& buckets) {
  auto json = base::JsonWriter::array();
  for (const decision::LeaseBucket& bucket : buckets) {
    auto one = base::JsonWriter::array();
    one.add(base::json_string(bucket.entity));
    json.add(one.add(std::to_string(static_cast<std::int64_t>(bucket.generation))).str());
  }
  return json.str();
}

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::settled:
      return "settled";
    case Ending::rolled_back:
      return "rolled back";
    default:
      return "open";
  }
}

JsonDecoder::JsonDecoder(Database& database)
    : database_(database),
      members_(database, "SELECT key, value FROM json_each(?1)"),
      raw_members_(database,
                   "SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), "
                   "json_extract(value, '$[2]'), json_extract(value, '$[3]') FROM json_each(?1)"),
      versions_(database,
                "SELECT json_extract(value, '$.stamp'), json_extract(value, '$.gap'), "
                "json_extract(value, '$.limits') FROM json_each(?1)"),
      amounts_(
          database,
          "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), "
          "json_extract(value, '$[3]'), json_array_length(value), value FROM json_each(?1)") {}

Error JsonDecoder::damaged(std::string_view what) const {
  return base::error(
      ErrorCode::unavailable, database_.path(), ": ", what,
      " cannot be read; the file is damaged or was changed by hand. Put a backup in its place");
}

Result<LimitSetRef> JsonDecoder::limit_set(std::string_view json) {
  const std::string key(json);
  if (const auto known = sets_.find(key); known != sets_.end()) return known->second;
  std::vector<limits::NamedParameters> named;
  members_.begin().bind(json);
  for (;;) {
    auto row = members_.step();
    if (!row) return row.error();
    if (!*row) break;
    auto limit = Limit::parse(members_.text(1));
    if (!limit) return members_.reset(), damaged("a limit");
    named.push_back({std::string(members_.text(0)), limits::parameters_of(*limit), {}, limit->mode()});
  }
  LimitSetRef set = limits::stored_set(std::move(named), limits::most_merged_names);
  if (!set) return damaged("a set of limits");
  if (sets_.size() >= most_sets) sets_.clear();
  return sets_[key] = std::move(set);
}

Result<LimitSetRef> JsonDecoder::raw_limit_set(std::string_view json) {
  std::vector<limits::NamedParameters> named;
  raw_members_.begin().bind(json);
  for (;;) {
    auto row = raw_members_.step();
    if (!row) return row.error();
    if (!*row) break;
    const Statement& at = raw_members_;
    const limits::Parameters parameters{
        at.integer(1), at.integer(2), at.integer(3), at.integer(4), {at.integer(3), at.integer(4)}};
    if (!limits::can_be_merged(parameters)) return raw_members_.reset(), damaged("an earlier limit");
    named.push_back({std::string(at.text(0)), parameters});
  }
  LimitSetRef set = limits::stored_set(std::move(named), limits::most_merged_names);
  if (!set) return damaged("an earlier set of limits");
  return set;
}

Result<std::vector<limits::Version>> JsonDecoder::versions(std::string_view json) {
  std::vector<limits::Version> versions;
  if (json == "[]") return versions;
  versions_.begin().bind(json);
  for (;;) {
    auto row = versions_.step();
    if (!row) return row.error();
    if (!*row) return versions;
    limits::Version version{versions_.integer(0), {}, versions_.integer(1) != 0};
    if (!versions_.is_null(2)) {
      auto set = raw_limit_set(versions_.text(2));
      if (!set) return versions_.reset(), set.error();
      version.limits = *std::move(set);
    }
    if (!limits::can_be_used(version)) return versions_.reset(), damaged("an earlier version");
    versions.push_back(std::move(version));
  }
}

Result<std::map<std::string, std::string>> JsonDecoder::metadata(std::string_view json) {
  std::map<std::string, std::string> metadata;
  if (json == "{}") return metadata;
  members_.begin().bind(json);
  for (;;) {
    auto row = members_.step();
    if (!row) return row.error();
    if (!*row) return metadata;
    metadata.emplace(members_.text(0), members_.text(1));
  }
}

Result<std::vector<decision::LeaseAmount>> JsonDecoder::amounts(std::string_view json) {
  std::vector<decision::LeaseAmount> amounts;
  amounts_.begin().bind(json);
  for (;;) {
    auto row = amounts_.step();
    if (!row) return row.error();
    if (!*row) return amounts;
    const std::int64_t bits = amounts_.integer(2);
    const std::int64_t holds = amounts_.is_null(3) ? 0 : amounts_.integer(3);
    const auto is_mask = [](std::int64_t mask) {
      return mask >= 0 && mask <= std::numeric_limits<std::uint8_t>::max();
    };
    if (!is_mask(bits) || !is_mask(holds)) return amounts_.reset(), damaged("an amount of a lease");
    std::optional<std::vector<detail::GrantUse>> granted(std::in_place);
    if (amounts_.integer(4) > 4) granted = granted_in(amounts_.text(5));
    if (!granted) return amounts_.reset(), damaged("a use of a grant");
    amounts.push_back({std::string(amounts_.text(0)), amounts_.integer(1), static_cast<std::uint8_t>(bits),
                       static_cast<std::uint8_t>(holds), *std::move(granted)});
  }
}

Result<std::vector<std::string>> JsonDecoder::texts(std::string_view json) {
  std::vector<std::string> texts;
  if (json == "[]") return texts;
  members_.begin().bind(json);
  for (;;) {
    auto row = members_.step();
    if (!row) return row.error();
    if (!*row) return texts;
    texts.emplace_back(members_.text(1));
  }
}

Result<std::vector<decision::LeaseBucket>> JsonDecoder::lease_buckets(std::string_view json) {
  std::vector<decision::LeaseBucket> buckets;
  amounts_.begin().bind(json);
  for (;;) {
    auto row = amounts_.step();
    if (!row) return row.error();
    if (!*row) return buckets;
    buckets.push_back({std::string(amounts_.text(0)), static_cast<std::uint64_t>(amounts_.integer(1))});
  }
}

Result<Ending> JsonDecoder::ending(std::string_view name) const {
  for (const Ending ending : {Ending::open, Ending::settled, Ending::rolled_back}) {
    if (name == name_of(ending)) return ending;
  }
  return damaged("the state of a lease");
}

}  // namespace weir::sqlite
