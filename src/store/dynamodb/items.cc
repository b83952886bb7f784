#include "store/dynamodb/items.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/text.h"
#include "limits/access.h"
#include "limits/names.h"
#include "store/table/draft.h"

namespace weir::dynamodb {
namespace {

using wire::aws::find;
using wire::aws::integer_of;
using wire::aws::text_of;
using Type = Value::Type;

Error damaged(const Item& item, std::string_view what) {
  const Key key = key_of(item);
  return base::error(ErrorCode::unavailable, "the item ", base::quoted(key.pk), " ", base::quoted(key.sk),
                     " has ", what, "; something else than weir wrote it: repair or delete it");
}

Value number(std::int64_t value) { return Value::of(value); }

Result<void> check_format(const Item& item) {
  if (integer_of(item, "fv").value_or(1) <= item_format) return {};
  const Key key = key_of(item);
  return base::error(ErrorCode::unavailable, "the item ", base::quoted(key.pk), " ", base::quoted(key.sk),
                     " was written by a newer weir; use that one");
}

void add(Item& item, std::string name, Value value) { item.push_back({std::move(name), std::move(value)}); }

Value names_value(const std::vector<std::string>& names) {
  std::vector<Value> list;
  for (const std::string& name : names) list.push_back(Value::of(name));
  return Value::of_list(std::move(list));
}

std::vector<std::string> names_in(const Value* value) {
  std::vector<std::string> names;
  if (value == nullptr) return names;
  for (const Value& one : value->list) names.push_back(one.text);
  return names;
}

/// A limit while its attributes are read one by one.
struct LimitParts {
  std::array<std::optional<std::int64_t>, 6> parts;
};
constexpr std::array<std::string_view, 6> fields = {"tk", "cp", "bx", "ra", "rp", "tc"};

}  // namespace

Result<BucketItem> read_bucket(const Item& item) {
  if (auto known = check_format(item); !known) return known.error();
  BucketItem read;
  const auto refilled_at = integer_of(item, "rf");
  if (!refilled_at || *refilled_at < 0) return damaged(item, "no rf");
  read.state.refilled_at = *refilled_at;
  read.state.version = integer_of(item, "pv").value_or(0);
  const Value* const generation = find(item, "gen");
  read.state.generation = generation == nullptr ? 0 : generation->natural().value_or(0);
  const auto ttl = integer_of(item, "ttl");
  read.state.expires_at = ttl ? base::saturate(base::Int128{*ttl} * 1000) : bucket::never;
  read.dormant = names_in(find(item, "dm"));
  if (const Value* const parent = find(item, "pa")) read.state.parent = parent->text;
  read.state.counts_usage = find(item, no_usage_mark) == nullptr;
  std::map<std::string_view, LimitParts> limits;
  for (const Attribute& attribute : item) {
    const std::string_view name = attribute.name;
    if (!name.starts_with("b_") || name.size() < 6 || name[name.size() - 3] != '_') continue;
    const auto field = std::find(fields.begin(), fields.end(), name.substr(name.size() - 2));
    if (field == fields.end()) continue;
    limits[name.substr(2, name.size() - 5)].parts[static_cast<std::size_t>(field - fields.begin())] =
        attribute.value.integer();
  }
  if (read.state.parent && !read.state.parent->empty() && !limits::check_entity(*read.state.parent))
    return damaged(item, "no usable pa");
  for (const auto& [name, limit] : limits) {
    const auto& [tokens, capacity, burst, amount, period, consumed] = limit.parts;
    // A concurrent limit has a capacity only.
    const bool concurrent = !burst && !amount && !period;
    const bool complete =
        concurrent || (burst && amount && period && consumed && *amount >= 1 && *period >= 1);
    if (!tokens || !capacity || !complete)
      return damaged(item, base::join("an incomplete limit ", base::quoted(name)));
    const Value* const held = find(item, limit_attribute(name, holds_field));
    auto holds = held == nullptr ? bucket::Holds() : bucket::decode_holds(held->text);
    if (!holds) return damaged(item, base::join("no usable holds of ", base::quoted(name)));
    const Value* const granted = find(item, limit_attribute(name, grants_field));
    auto grants = granted == nullptr ? bucket::Grants() : bucket::decode_holds(granted->text);
    if (!grants) return damaged(item, base::join("no usable grants of ", base::quoted(name)));
    read.state.limits.push_back(
        {std::string(name),
         concurrent
             ? limits::concurrent_parameters(*capacity)
             : limits::Parameters{*capacity, *burst, *amount, *period, limits::reduced(*amount, *period)},
         *tokens, consumed.value_or(0),
         std::find(read.dormant.begin(), read.dormant.end(), name) != read.dormant.end(), *std::move(holds),
         *std::move(grants)});
  }
  if (!bucket::can_be_used(read.state)) return damaged(item, "numbers that no bucket has");
  return read;
}

namespace {

void write_concurrent(Item& item, const bucket::LimitState& limit) {
  add(item, limit_attribute(limit.name, "tk"), number(limit.tokens));
  add(item, limit_attribute(limit.name, "cp"), number(limit.parameters.capacity));
  if (limit.consumed != 0) add(item, limit_attribute(limit.name, "tc"), number(limit.consumed));
  if (!limit.holds.empty())
    add(item, limit_attribute(limit.name, holds_field), Value::of_bytes(bucket::encode(limit.holds)));
}

}  // namespace

Item write_bucket(const BucketName& name, const conditional::Record& state,
                  const std::vector<std::string>& dormant, Time now) {
  const Key key = name.key();
  Item item{{"PK", Value::of(key.pk)},
            {"SK", Value::of(key.sk)},
            {"entity_id", Value::of(name.entity)},
            {"resource", Value::of(name.resource)},
            {"fv", number(item_format)},
            {"rf", number(state.refilled_at)},
            {"pv", number(state.version)},
            {"gen", Value::of_unsigned(state.generation)},
            {"at", number(now)},
            {"GSI2PK", Value::of(base::join(prefix_of(name.name_space), "RESOURCE#", name.resource))},
            {"GSI2SK", Value::of(base::join("BUCKET#", name.entity))}};
  if (state.expires_at != bucket::never) add(item, "ttl", number(to_ttl(state.expires_at)));
  if (!dormant.empty()) add(item, "dm", names_value(dormant));
  if (state.parent) add(item, "pa", Value::of(*state.parent));
  if (!state.counts_usage) add(item, std::string(no_usage_mark), Value::of_flag(true));
  for (const bucket::LimitState& limit : state.limits) {
    const limits::Parameters& parameters = limit.parameters;
    if (parameters.kind() == weir::Kind::concurrent) {
      write_concurrent(item, limit);
      continue;
    }
    const std::array<std::int64_t, 6> values = {limit.tokens,
                                                parameters.capacity,
                                                parameters.burst,
                                                parameters.refill_amount,
                                                parameters.refill_period,
                                                limit.consumed};
    for (std::size_t i = 0; i < fields.size(); ++i)
      add(item, limit_attribute(limit.name, fields[i]), number(values[i]));
    if (!limit.grants.empty())
      add(item, limit_attribute(limit.name, grants_field), Value::of_bytes(bucket::encode(limit.grants)));
  }
  return item;
}

// Leases.

namespace {

/// Three numbers for each use of a grant: bucket, end, millitokens.
Value granted_value(const std::vector<detail::GrantUse>& uses) {
  std::vector<Value> numbers;
  for (const detail::GrantUse& use : uses) {
    for (const std::int64_t one : {std::int64_t{use.bucket}, use.end, use.amount})
      numbers.push_back(number(one));
  }
  return Value::of_list(std::move(numbers));
}

std::optional<std::vector<detail::GrantUse>> granted_in(const Value* value) {
  std::vector<detail::GrantUse> uses;
  if (value == nullptr) return uses;
  if (value->list.size() % 3 != 0 || value->list.size() > 3 * maxima::grant_uses) return std::nullopt;
  for (std::size_t i = 0; i < value->list.size(); i += 3) {
    const auto bucket = value->list[i].integer();
    const auto end = value->list[i + 1].integer();
    const auto amount = value->list[i + 2].integer();
    const bool good =
        bucket && end && amount && *bucket >= 0 && *bucket < static_cast<std::int64_t>(limits::max_chain);
    if (!good) return std::nullopt;
    uses.push_back({static_cast<std::uint8_t>(*bucket), *end, *amount});
  }
  return uses;
}

}  // namespace

Item write_marker(const Key& key, const conditional::Marker& marker) {
  // Kept for a while beyond its deadline: clocks differ, and may go back.
  constexpr Time margin = 3'600'000;
  std::vector<Value> amounts;
  for (const decision::LeaseAmount& amount : marker.lease.amounts) {
    Item one{{"l", Value::of(amount.limit)}, {"a", number(amount.amount)}, {"b", number(amount.buckets)}};
    if (amount.holds != 0) add(one, "h", number(amount.holds));
    if (!amount.granted.empty()) add(one, "g", granted_value(amount.granted));
    amounts.push_back(Value::of_map(std::move(one)));
  }
  std::vector<Value> generations;
  for (const std::uint64_t generation : marker.generations)
    generations.push_back(Value::of_unsigned(generation));
  Item item{{"PK", Value::of(key.pk)},
            {"SK", Value::of(key.sk)},
            {"fv", number(item_format)},
            {"seq", number(marker.sequence)},
            {"state", Value::of(marker.fence                                           ? "given-up"
                                : marker.lease.ending == decision::Ending::settled     ? "settled"
                                : marker.lease.ending == decision::Ending::rolled_back ? "rolled-back"
                                                                                       : "open")},
            {"amounts", Value::of_list(std::move(amounts))},
            {"generations", Value::of_list(std::move(generations))},
            {"deadline", number(marker.deadline)},
            {"ttl", number(to_ttl(base::saturating_add(marker.deadline, margin)))}};
  if (marker.first_deadline != 0) add(item, "first_deadline", number(marker.first_deadline));
  if (!marker.entities.empty()) add(item, "entities", names_value(marker.entities));
  if (!marker.lease.keys.empty()) add(item, "keys", names_value(marker.lease.keys));
  return item;
}

Result<conditional::Marker> read_marker(const Item& item) {
  if (auto known = check_format(item); !known) return known.error();
  conditional::Marker read;
  const auto sequence = integer_of(item, "seq");
  const auto deadline = integer_of(item, "deadline");
  const std::string_view state = text_of(item, "state");
  const Value* const amounts = find(item, "amounts");
  if (!sequence || !deadline || state.empty() || amounts == nullptr) return damaged(item, "no lease in it");
  read.sequence = *sequence;
  read.deadline = *deadline;
  read.first_deadline = integer_of(item, "first_deadline").value_or(0);
  read.fence = state == "given-up";
  read.lease.ending = state == "settled"       ? decision::Ending::settled
                      : state == "rolled-back" ? decision::Ending::rolled_back
                                               : decision::Ending::open;
  for (const Value& one : amounts->list) {
    const Value* const limit = one.find("l");
    const Value* const amount = one.find("a");
    const Value* const buckets = one.find("b");
    const auto number_of = [](const Value* value) {
      return value == nullptr ? std::nullopt : value->integer();
    };
    if (limit == nullptr || !number_of(amount) || !number_of(buckets)) return damaged(item, "no lease in it");
    const std::int64_t holds = number_of(one.find("h")).value_or(0);
    const auto is_mask = [](std::int64_t mask) {
      return mask >= 0 && mask <= std::numeric_limits<std::uint8_t>::max();
    };
    if (!is_mask(*number_of(buckets)) || !is_mask(holds))
      return damaged(item, "a lease of buckets that no chain has");
    auto granted = granted_in(one.find("g"));
    if (!granted) return damaged(item, "no usable grants of a lease");
    read.lease.amounts.push_back({limit->text, *number_of(amount),
                                  static_cast<std::uint8_t>(*number_of(buckets)),
                                  static_cast<std::uint8_t>(holds), *std::move(granted)});
  }
  if (const Value* const generations = find(item, "generations")) {
    for (const Value& one : generations->list) read.generations.push_back(one.natural().value_or(0));
  }
  read.entities = names_in(find(item, "entities"));
  read.lease.keys = names_in(find(item, "keys"));
  if (!bucket::is_stored_time(read.deadline) || !bucket::is_stored_time(read.first_deadline) ||
      !bucket::is_stored_time(read.sequence) || read.generations.size() > limits::max_chain ||
      read.entities.size() > limits::max_chain || !decision::can_be_used(read.lease))
    return damaged(item, "numbers that no lease has");
  return read;
}

// Limits.

namespace {

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

}  // namespace

namespace {

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

// Entities and the audit.

Item write_entity(std::string_view name_space, const Entity& entity, const std::vector<std::string>& beyond) {
  const Key key = meta_key(name_space, entity.id);
  Item metadata;
  for (const auto& [name, value] : entity.metadata) add(metadata, name, Value::of(value));
  Item item{{"PK", Value::of(key.pk)},
            {"SK", Value::of(key.sk)},
            {"entity_id", Value::of(entity.id)},
            {"name", Value::of(entity.name)},
            {"cascade", Value::of_flag(entity.cascade)},
            {"metadata", Value::of_map(std::move(metadata))},
            {"created_at", number(entity.created_at)}};
  if (!entity.parent.empty()) {
    add(item, "parent_id", Value::of(entity.parent));
    add(item, "GSI1PK", Value::of(base::join(prefix_of(name_space), "PARENT#", entity.parent)));
    add(item, "GSI1SK", Value::of(base::join("CHILD#", entity.id)));
  }
  if (entity.from_file) add(item, "from_file", Value::of_flag(true));
  if (!beyond.empty()) add(item, "beyond", names_value(beyond));
  if (!entity.plan.empty()) add(item, "plan", Value::of(entity.plan));
  if (entity.plan_stamp != 0) add(item, "plan_stamp", number(entity.plan_stamp));
  if (const std::string access = limits::encode_access(entity); !access.empty())
    add(item, "access", Value::of(access));
  return item;
}

std::vector<std::string> read_beyond(const Item& item) {
  std::vector<std::string> beyond = names_in(find(item, "beyond"));
  // A list with other values than names was not written by weir.
  const bool ours = beyond.size() < limits::max_chain &&
                    std::all_of(
                        beyond.begin(), beyond.end(),
                        [](const std::string& name) { return bool(limits::check_entity(name)); });
  return ours ? beyond : std::vector<std::string>();
}

Result<Entity> read_entity(const Item& item) {
  Entity entity{.id = std::string(text_of(item, "entity_id"))};
  if (!limits::check_entity(entity.id) || !key_of(item).pk.ends_with(base::join("ENTITY#", entity.id)))
    return damaged(item, "no usable entity_id");
  entity.parent = text_of(item, "parent_id");
  if (!entity.parent.empty() && (!limits::check_entity(entity.parent) || entity.parent == entity.id))
    return damaged(item, "no usable parent_id");
  entity.name = text_of(item, "name");
  const Value* const cascade = find(item, "cascade");
  entity.cascade = cascade != nullptr && cascade->flag;
  if (const Value* const metadata = find(item, "metadata")) {
    for (const Attribute& one : metadata->members) entity.metadata[one.name] = one.value.text;
  }
  entity.created_at = integer_of(item, "created_at").value_or(0);
  entity.from_file = find(item, "from_file") != nullptr;
  entity.plan = text_of(item, "plan");
  entity.plan_stamp = integer_of(item, "plan_stamp").value_or(0);
  if (!entity.plan.empty() && !limits::check_plan(entity.plan)) return damaged(item, "no usable plan");
  if (entity.plan_stamp < 0 || entity.plan_stamp > limits::latest_stamp)
    return damaged(item, "no usable plan_stamp");
  if (!limits::decode_access(text_of(item, "access"), entity)) return damaged(item, "no usable access");
  return entity;
}

std::optional<MoveAnnouncement> read_moving(const Item& item) {
  const auto since = integer_of(item, "moving");
  if (!since) return std::nullopt;
  const Value* const mover = find(item, "mover");
  return MoveAnnouncement{*since, mover == nullptr ? 0 : mover->natural().value_or(0), !has_entity(item)};
}

bool has_entity(const Item& item) {
  return find(item, "moving") == nullptr || find(item, "created_at") != nullptr;
}

Item write_event(const Key& key, const store::AuditEvent& event, Time keep_for) {
  Item item{{"PK", Value::of(key.pk)},
            {"SK", Value::of(key.sk)},
            {"event_id", Value::of(event.id)},
            {"time", number(event.at)},
            {"principal", Value::of(event.principal)},
            {"action", Value::of(event.action)},
            {"subject", Value::of(event.subject)},
            {"ttl", number(to_ttl(base::saturating_add(event.at, keep_for)))}};
  if (!event.resource.empty()) add(item, "resource", Value::of(event.resource));
  if (!event.before.empty()) add(item, "before", Value::of(event.before));
  if (!event.after.empty()) add(item, "after", Value::of(event.after));
  return item;
}

Result<store::AuditEvent> read_event(const Item& item) {
  store::AuditEvent event;
  event.id = text_of(item, "event_id");
  const auto at = integer_of(item, "time");
  if (event.id.empty() || !at) return damaged(item, "no event in it");
  event.at = *at;
  event.principal = text_of(item, "principal");
  event.action = text_of(item, "action");
  event.subject = text_of(item, "subject");
  event.resource = text_of(item, "resource");
  event.before = text_of(item, "before");
  event.after = text_of(item, "after");
  return event;
}

}  // namespace weir::dynamodb
