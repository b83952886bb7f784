#include "config/limits_reader.h"

#include <algorithm>
#include <optional>

#include "base/maxima.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::config {
namespace {

using base::quoted;

/// Reads one number of the long form; false if it is wrong, which is reported.
bool read_amount(MappingReader& in, std::uint32_t id, const Subject& limit, std::string_view field,
                 std::optional<Amount>& into) {
  if (id == 0) return true;
  const YamlNode* const node = in.scalar(id, limit, field, "a number");
  if (node == nullptr) return false;
  if (!node->plain) {
    in.problem(node->place, field, " of ", limit.text(), " is text in quotes; write the number without them");
    return false;
  }
  auto amount = Amount::parse(in.text(*node));
  if (!amount) {
    in.problem(node->place, field, " of ", limit.text(), ": ", amount.error().message);
    return false;
  }
  into = *amount;
  return true;
}

bool read_period(MappingReader& in, std::uint32_t id, const Subject& limit, LimitSpec& spec) {
  if (id == 0) return true;
  const YamlNode* const node = in.scalar(id, limit, "refill_period_ms", "a number");
  if (node == nullptr) return false;
  const auto period = node->plain ? base::parse_digits(in.text(*node)) : std::nullopt;
  if (!period) {
    in.problem(node->place, "refill_period_ms of ", limit.text(), " is ", quoted(in.text(*node)),
               "; write a whole number of milliseconds, such as 60000");
    return false;
  }
  spec.refill_period = std::chrono::milliseconds(*period);
  return true;
}

bool read_kind(MappingReader& in, std::uint32_t id, const Subject& limit, LimitSpec& spec) {
  if (id == 0) return true;
  const YamlNode* const node = in.scalar(id, limit, "kind", "rate or concurrent");
  if (node == nullptr) return false;
  const auto kind = parse_kind(in.text(*node));
  if (kind) {
    spec.kind = *kind;
  } else {
    in.problem(node->place, limit.text(), ": ", kind.error().message);
  }
  return bool(kind);
}

std::optional<Limit> read_long_form(MappingReader& in, const MappingEntry& entry, const Subject& limit) {
  constexpr std::array<std::string_view, 6> names{"capacity",         "burst", "refill_amount",
                                                  "refill_period_ms", "mode",  "kind"};
  const auto [capacity, burst, refill_amount, period, mode, kind] =
      in.fields(entry.value, limit, names, "{capacity: 100, burst: 150}");
  LimitSpec spec;
  std::optional<Amount> held;
  bool readable = read_amount(in, capacity, limit, names[0], held);
  readable = read_amount(in, burst, limit, names[1], spec.burst) && readable;
  readable = read_amount(in, refill_amount, limit, names[2], spec.refill_amount) && readable;
  readable = read_period(in, period, limit, spec) && readable;
  spec.mode = read_mode(in, mode, limit);
  readable = read_kind(in, kind, limit, spec) && readable;
  if (spec.kind == Kind::concurrent && period != 0) {
    in.problem(in.place(period), limit.text(),
               ": a concurrent limit does not refill; leave refill_period_ms out");
    readable = false;
  }
  if (capacity == 0)
    in.problem(in.place(entry.value), limit.text(), " has no capacity; add one, such as 100");
  if (!readable || capacity == 0) return std::nullopt;
  spec.capacity = *held;
  auto made = Limit::make(spec);
  if (!made) {
    in.problem(in.place(entry.value), limit.text(), ": ", made.error().message);
    return std::nullopt;
  }
  return *made;
}

std::optional<Limit> read_short_form(MappingReader& in, const MappingEntry& entry, const Subject& limit) {
  const YamlNode& node = in.node(entry.value);
  const std::string_view text = in.text(node);
  if (text.starts_with('{')) {
    in.problem(node.place, limit.text(), " is a mapping in quotes; write it without the quotes");
    return std::nullopt;
  }
  auto parsed = Limit::parse(text);
  if (!parsed) {
    in.problem(node.place, limit.text(), ": ", parsed.error().message);
    return std::nullopt;
  }
  return *parsed;
}

std::optional<Limit> read_limit(MappingReader& in, const MappingEntry& entry, const Subject& subject) {
  const std::string part = base::join(entry.name, " of ");
  const Subject limit = subject.part_of(part.c_str());
  switch (in.node(entry.value).kind) {
    case NodeKind::scalar:
      return read_short_form(in, entry, limit);
    case NodeKind::mapping:
      return read_long_form(in, entry, limit);
    default:
      in.problem(in.place(entry.value), limit.text(), " is ", name_of(in.node(entry.value).kind),
                 "; write a limit, such as 100/min or {capacity: 100, burst: 150}");
      return std::nullopt;
  }
}

}  // namespace

Mode read_mode(MappingReader& in, std::uint32_t id, const Subject& subject) {
  const YamlNode* const node = id == 0 ? nullptr : in.scalar(id, subject, "mode", "enforce, shadow or off");
  if (node == nullptr) return Mode::enforce;
  const auto mode = parse_mode(in.text(*node));
  if (mode) return *mode;
  in.problem(node->place, subject.text(), ": ", mode.error().message);
  return Mode::enforce;
}

std::optional<bool> read_usage(MappingReader& in, std::uint32_t id, const Subject& subject) {
  const YamlNode* const node = id == 0 ? nullptr : in.scalar(id, subject, "usage", "on or off");
  if (node == nullptr) return std::nullopt;
  const auto usage = base::parse_on_or_off(in.text(*node));
  if (!usage) in.problem(node->place, "usage is ", base::quoted(in.text(*node)), "; use on or off");
  return usage;
}

std::vector<NamedLimit> read_limits(MappingReader& in, std::uint32_t id, const Subject& subject) {
  std::vector<NamedLimit> limits;
  const auto entries = in.entries(id, subject.part_of("limits of "), "{rpm: 100/min}");
  if (entries.size() > limits::max_limits) {
    in.problem(in.place(id), subject.text(), " has ", std::to_string(entries.size()),
               " limits; a bucket holds at most ", std::to_string(limits::max_limits));
    return limits;
  }
  limits.reserve(entries.size());
  for (const MappingEntry& entry : entries) {
    if (auto checked = limits::check_limit_name(entry.name); !checked) {
      const bool no_space = entry.name.find(':') != std::string_view::npos;
      in.problem(entry.place, checked.error().message, no_space ? "; put a space after the colon" : "");
    } else if (const auto limit = read_limit(in, entry, subject)) {
      limits.push_back({std::string(entry.name), *limit});
    }
  }
  const auto concurrent = std::count_if(limits.begin(), limits.end(), [](const NamedLimit& limit) {
    return limit.limit.kind() == Kind::concurrent;
  });
  if (static_cast<std::size_t>(concurrent) > maxima::concurrent_limits) {
    in.problem(in.place(id), subject.text(), " has ", std::to_string(concurrent),
               " concurrent limits; a bucket holds at most ", std::to_string(maxima::concurrent_limits));
  }
  std::sort(limits.begin(), limits.end(),
            [](const NamedLimit& a, const NamedLimit& b) { return a.name < b.name; });
  return limits;
}

}  // namespace weir::config
