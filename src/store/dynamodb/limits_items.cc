// Items of limits and of plans.
#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "base/text.h"
#include "base/wide.h"
#include "limits/names.h"
#include "store/dynamodb/item_parts.h"
#include "store/dynamodb/items.h"
#include "store/table/draft.h"

namespace weir::dynamodb {
namespace {

using wire::aws::find;
using wire::aws::integer_of;
using wire::aws::text_of;
using Type = Value::Type;

/// Four numbers of a limit: in whole tokens and seconds, and exact values beside them where these are
/// rounded.
void write_limit(Item& item, std::string_view name, const limits::Parameters& parameters) {
  const auto put = [&](std::string_view field, std::int64_t value) {
    const std::string attribute = base::join("l_", name, "_", field);
    // Rounded where it is not whole, for programs that read only this attribute.
    add(item, attribute, number(std::max<std::int64_t>((value + 500) / 1000, value > 0 ? 1 : 0)));
    if (value % 1000 != 0) add(item, attribute + "m", number(value));
  };
  put("cp", parameters.capacity);
  put("bx", parameters.burst);
  put("ra", parameters.refill_amount);
  put("rp", parameters.refill_period);
}

Result<limits::LimitSetRef> read_set(const Item& item) {
  constexpr std::array<std::string_view, 4> wanted = {"cp", "bx", "ra", "rp"};
  std::map<std::string, std::array<std::optional<std::int64_t>, 4>> found;
  for (const bool exact : {false, true}) {
    for (const Attribute& attribute : item) {
      std::string_view name = attribute.name;
      if (!name.starts_with("l_")) continue;
      if (exact) {
        if (name.back() != 'm') continue;
        name.remove_suffix(1);
      }
      if (name.size() < 6 || name[name.size() - 3] != '_') continue;
      const auto field = std::find(wanted.begin(), wanted.end(), name.substr(name.size() - 2));
      if (field == wanted.end()) continue;
      const auto value = attribute.value.integer();
      if (!value) return damaged(item, "a limit that is no number");
      const auto scaled = base::saturate(base::Int128{*value} * (exact ? 1 : 1000));
      found[std::string(name.substr(2, name.size() - 5))][static_cast<std::size_t>(field - wanted.begin())] =
          scaled;
    }
  }
  if (found.empty()) return limits::LimitSetRef();
  std::vector<limits::NamedParameters> named;
  for (const auto& [name, parts] : found) {
    const auto& [capacity, burst, amount, period] = parts;
    if (!capacity || !burst || !amount || !period)
      return damaged(item, base::join("an incomplete limit ", base::quoted(name)));
    const auto parameters = limits::stored_parameters(*capacity, *burst, *amount, *period);
    if (!parameters)
      return damaged(item, base::join("numbers that no limit can have in ", base::quoted(name)));
    named.push_back({name, *parameters});
    const Value* const modes = find(item, "modes");
    const Value* const word = modes == nullptr ? nullptr : modes->find(name);
    if (word == nullptr) continue;
    const auto mode = parse_mode(word->text);
    if (!mode) return damaged(item, base::join("a mode that is not known in ", base::quoted(name)));
    named.back().mode = *mode;
  }
  auto set = limits::stored_set(std::move(named), limits::max_limits);
  if (!set) return damaged(item, "too many limits, or a name that no limit can have");
  return set;
}

/// The modes of the limits that have another than enforce.
Item modes_of(const limits::LimitSet& set) {
  Item modes;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set.mode(i) != Mode::enforce)
      add(modes, std::string(set.name(i)), Value::of(std::string(to_text(set.mode(i)))));
  }
  return modes;
}

Value version_value(const limits::Version& version) {
  Item members{{"stamp", number(version.stamp)}};
  if (version.gap) add(members, "gap", Value::of_flag(true));
  if (version.limits) {
    Item of_limits;
    for (std::size_t i = 0; i < version.limits->size(); ++i) {
      const limits::Parameters& parameters = (*version.limits)[i];
      // The rate too: in merged versions it is not the quotient of the others.
      std::vector<Value> numbers;
      for (const std::int64_t one :
           {parameters.capacity, parameters.burst, parameters.refill_amount, parameters.refill_period,
            parameters.rate.amount, parameters.rate.period})
        numbers.push_back(number(one));
      add(of_limits, std::string(version.limits->name(i)), Value::of_list(std::move(numbers)));
    }
    add(members, "limits", Value::of_map(std::move(of_limits)));
  }
  return Value::of_map(std::move(members));
}

std::optional<limits::Version> version_of(const Value& value) {
  limits::Version version;
  const Value* const stamp = value.find("stamp");
  if (stamp == nullptr || !stamp->integer()) return std::nullopt;
  version.stamp = *stamp->integer();
  version.gap = value.find("gap") != nullptr;
  const Value* const set = value.find("limits");
  if (set == nullptr) return limits::can_be_used(version) ? std::optional(version) : std::nullopt;
  std::vector<limits::NamedParameters> named;
  for (const Attribute& limit : set->members) {
    std::array<std::int64_t, 6> numbers{};
    if (limit.value.list.size() != numbers.size()) return std::nullopt;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto one = limit.value.list[i].integer();
      if (!one) return std::nullopt;
      numbers[i] = *one;
    }
    named.push_back({limit.name, {numbers[0], numbers[1], numbers[2], numbers[3], {numbers[4], numbers[5]}}});
  }
  version.limits = limits::stored_set(std::move(named), limits::most_merged_names);
  if (!version.limits || !limits::can_be_used(version)) return std::nullopt;
  return version;
}

/// The limits of a level or of a plan, with their versions.
void add_versions(Item& item, const limits::LimitsRecord& record) {
  add(item, "stamp", number(record.current.stamp));
  if (record.current.limits) {
    for (std::size_t i = 0; i < record.current.limits->size(); ++i)
      write_limit(item, record.current.limits->name(i), (*record.current.limits)[i]);
    if (Item modes = modes_of(*record.current.limits); !modes.empty())
      add(item, "modes", Value::of_map(std::move(modes)));
  }
  if (!record.earlier.empty()) {
    std::vector<Value> earlier;
    for (const limits::Version& version : record.earlier) earlier.push_back(version_value(version));
    add(item, "earlier", Value::of_list(std::move(earlier)));
  }
  if (record.inherits()) add(item, "inherit", Value::of_flag(true));
}

constexpr const char* on_all = "_default_";  ///< the set of a plan for all resources

}  // namespace

Item write_plan(std::string_view name_space, std::string_view name, const limits::PlanRecord& plan) {
  const Key key = plan_key(name_space, name);
  Item sets;
  const auto add_set = [&](const std::string& resource, const limits::LimitsRecord& record) {
    Item set;
    add_versions(set, record);
    add(sets, resource, Value::of_map(std::move(set)));
  };
  if (plan.limits) add_set(on_all, *plan.limits);
  for (const auto& [resource, set] : plan.resources) add_set(resource, *set);
  Item item{{"PK", Value::of(key.pk)}, {"SK", Value::of(key.sk)}, {"sets", Value::of_map(std::move(sets))}};
  if (plan.from_file) add(item, "from_file", Value::of_flag(true));
  return item;
}

Result<base::Ref<limits::PlanRecord>> read_plan(const Item& item) {
  const Value* const sets = find(item, "sets");
  if (sets == nullptr || sets->type != Type::map) return damaged(item, "no sets of limits");
  auto plan = base::make_ref<limits::PlanRecord>();
  for (const Attribute& set : sets->members) {
    const bool known = set.name == on_all || limits::check_resource(set.name);
    const auto read = set.value.type == Type::map ? read_limits(set.value.members) : damaged(item, "no set");
    if (!known || !read)
      return damaged(item, base::join("a set of limits ", base::quoted(set.name), " that cannot be used"));
    const limits::LimitsRecordRef record(read->get());
    (set.name == on_all ? plan->limits : plan->resources[set.name]) = record;
  }
  plan->from_file = find(item, "from_file") != nullptr;
  return plan;
}

Item write_limits(std::string_view name_space, std::string_view key_text,
                  const limits::LimitsRecord& record) {
  const Level level = table::level_of(key_text);
  const Key key = level_key(name_space, level);
  Item item{{"PK", Value::of(key.pk)}, {"SK", Value::of(key.sk)}};
  add_versions(item, record);
  if (!level.entity().empty()) {
    add(item, "config_version", number(record.current.stamp));
    // Deleted records are not in the index.
    if (record.current.limits) {
      const std::string resource = level.kind() == Source::entity ? level.resource() : "_default_";
      add(item, "GSI3PK", Value::of(base::join(prefix_of(name_space), "ENTITY_CONFIG#", resource)));
      add(item, "GSI3SK", Value::of(level.entity()));
    }
  }
  if (!record.current.limits) {
    // A tombstone returns the entity to sync, which may write only items with an expiry; this expiry never
    // comes.
    constexpr std::int64_t far_future = 253'402'300'799;
    if (!level.entity().empty()) add(item, "ttl", number(far_future));
  } else if (record.expires_at != limits::never) {
    // The owner is sync: nothing else says so.
    add(item, "ttl", number(to_ttl(record.expires_at)));
  }
  if (record.bucket_ttl_refill_multiplier)
    add(item, "bucket_ttl_refill_multiplier", number(*record.bucket_ttl_refill_multiplier));
  if (record.on_unavailable) add(item, "on_unavailable", Value::of(name_of(*record.on_unavailable)));
  if (record.usage) add(item, "usage", Value::of(base::on_or_off(*record.usage)));
  if (record.name_space.is_set())
    add(item, "namespace_state", Value::of(limits::encode_mark(record.name_space)));
  if (record.from_file) add(item, "from_file", Value::of_flag(true));
  return item;
}

Result<base::Ref<limits::LimitsRecord>> read_limits(const Item& item) {
  auto record = base::make_ref<limits::LimitsRecord>();
  auto set = read_set(item);
  if (!set) return set.error();
  record->current.limits = *std::move(set);
  record->current.stamp = integer_of(item, "stamp").value_or(0);
  if (!limits::can_be_used(record->current)) return damaged(item, "a stamp that no change has");
  if (const Value* const earlier = find(item, "earlier")) {
    for (const Value& one : earlier->list) {
      auto version = version_of(one);
      if (!version) return damaged(item, "an earlier version that cannot be read");
      record->earlier.push_back(*std::move(version));
    }
  }
  if (const Value* const ttl = find(item, "ttl")) {
    // An item with an expiry is owned by sync, whichever program wrote it.
    const auto seconds = ttl->integer();
    if (!seconds) return damaged(item, "a ttl that is no number");
    record->owner = Owner::sync;
    if (record->current.limits) record->expires_at = base::saturate(base::Int128{*seconds} * 1000);
  } else if (!record->current.limits && key_of(item).sk.starts_with(config_prefix)) {
    // It is an operator's, which sync must not replace. A record that weir deleted has a ttl.
    return damaged(item, "neither limits nor a ttl");
  }
  if (const auto multiplier = integer_of(item, "bucket_ttl_refill_multiplier")) {
    if (*multiplier < 1 || *multiplier > std::numeric_limits<int>::max())
      return damaged(item, "no usable bucket_ttl_refill_multiplier");
    record->bucket_ttl_refill_multiplier = static_cast<int>(*multiplier);
  }
  if (const std::string_view policy = text_of(item, "on_unavailable"); !policy.empty())
    record->on_unavailable = policy == "allow" ? OnUnavailable::allow : OnUnavailable::deny;
  record->usage = base::parse_on_or_off(text_of(item, "usage"));
  const auto mark = limits::decode_mark(text_of(item, "namespace_state"));
  if (!mark) return damaged(item, "a state of the namespace that cannot be read");
  record->name_space = *mark;
  record->from_file = find(item, "from_file") != nullptr;
  record->current.gap = find(item, "inherit") != nullptr;
  return record;
}

base::Ref<limits::LimitsRecord> bad_limits(const Item& item, const Error& why) {
  auto record = base::make_ref<limits::LimitsRecord>();
  record->current.stamp = integer_of(item, "stamp").value_or(0);
  if (!limits::can_be_used(record->current)) record->current.stamp = 0;
  if (find(item, "ttl") != nullptr) record->owner = Owner::sync;
  record->bad = why.message + ". The next level applies; set or delete these limits";
  return record;
}

}  // namespace weir::dynamodb
