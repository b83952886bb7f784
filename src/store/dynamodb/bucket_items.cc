// Items of buckets.
#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "base/wide.h"
#include "limits/names.h"
#include "store/dynamodb/item_parts.h"
#include "store/dynamodb/items.h"

namespace weir::dynamodb {
namespace {

using wire::aws::find;
using wire::aws::integer_of;

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

}  // namespace weir::dynamodb
