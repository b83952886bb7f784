#include "store/dynamodb/legacy.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/text.h"
#include "bucket/refill.h"

namespace weir::dynamodb {
namespace {

constexpr std::string_view in_map = "data";
constexpr std::array<std::string_view, 7> legacy_fields = {
    "tokens_milli",        "last_refill_ms",   "capacity_milli",      "burst_milli",
    "refill_amount_milli", "refill_period_ms", "total_consumed_milli"};

Error not_whole(const Key& key, std::string_view what) {
  return base::error(ErrorCode::unavailable, "the item ", base::quoted(key.pk), " ", base::quoted(key.sk),
                     " has no usable ", what, "; repair or delete it");
}

/// The path of an attribute, or of one in the map, in an expression.
std::string path_of(Expression& expression, const std::string& path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) return expression.name(path);
  const std::string outer = expression.name(path.substr(0, dot));
  return base::join(outer, ".", expression.name(path.substr(dot + 1)));
}

/// Deletes an item that has not changed.
ItemWrite removal(const LegacyLimit& limit) {
  ItemWrite write = erase(limit.key);
  for (const auto& [path, value] : limit.said) {
    const std::string name = path_of(write.expression, path);
    write.expression.condition(base::join(name, "=", write.expression.value(value)));
  }
  return write;
}

std::int64_t held_at(const LegacyLimit& limit, Time moment) {
  const limits::Parameters& parameters = limit.state.parameters;
  return bucket::claim(parameters.rate, parameters.burst, limit.refilled_at, moment).held(limit.state.tokens);
}

/// The balance at a moment. For a moment before the item's refill time: the one from which refill alone leads
/// to the stored balance.
std::int64_t held_at_any(const LegacyLimit& limit, Time moment) {
  if (moment >= limit.refilled_at) return held_at(limit, moment);
  return limit.state.tokens - bucket::granted(limit.state.parameters.rate, moment, limit.refilled_at);
}

}  // namespace

std::optional<LegacyName> legacy_name(const Key& key) {
  auto owner = entity_of(key.pk);
  if (!owner) return std::nullopt;
  if (!key.sk.starts_with(bucket_prefix)) return std::nullopt;
  const std::string_view rest = std::string_view(key.sk).substr(bucket_prefix.size());
  const std::size_t end = rest.find('#');
  if (end == std::string_view::npos || end == 0 || end + 1 == rest.size()) return std::nullopt;
  LegacyName name;
  name.name_space = std::move(owner->name_space);
  name.entity = std::move(owner->entity);
  name.resource = rest.substr(0, end);
  name.limit = rest.substr(end + 1);
  return name;
}

std::string legacy_prefix(std::string_view resource) { return base::join(bucket_prefix, resource, "#"); }

Result<LegacyLimit> read_legacy(const Item& item) {
  LegacyLimit read;
  read.key = key_of(item);
  const auto name = legacy_name(read.key);
  if (!name) return not_whole(read.key, "name");
  const Value* const map = wire::aws::find(item, in_map);
  std::array<std::optional<std::int64_t>, legacy_fields.size()> numbers;
  for (std::size_t i = 0; i < legacy_fields.size(); ++i) {
    const Value* const flat = wire::aws::find(item, legacy_fields[i]);
    const Value* const value = flat != nullptr || map == nullptr ? flat : map->find(legacy_fields[i]);
    if (value == nullptr) continue;
    numbers[i] = value->integer();
    if (!numbers[i]) return not_whole(read.key, legacy_fields[i]);
    read.said.emplace_back(base::join(flat == nullptr ? "data." : "", legacy_fields[i]), *value);
  }
  const auto& [tokens, refilled_at, capacity, burst, amount, period, consumed] = numbers;
  for (const std::size_t needed : {0U, 1U, 2U, 4U, 5U}) {
    if (!numbers[needed]) return not_whole(read.key, legacy_fields[needed]);
  }
  if (*refilled_at < 0) return not_whole(read.key, legacy_fields[1]);
  if (*amount < 1) return not_whole(read.key, legacy_fields[4]);
  if (*period < 1) return not_whole(read.key, legacy_fields[5]);
  read.refilled_at = *refilled_at;
  if (const auto ttl = wire::aws::integer_of(item, "ttl"))
    read.expires_at = base::saturate(base::Int128{*ttl} * 1000);
  // Without a burst attribute, the burst is the capacity.
  read.state = {name->limit,
                {*capacity, burst.value_or(*capacity), *amount, *period, limits::reduced(*amount, *period)},
                *tokens,
                consumed.value_or(0)};
  const bucket::State alone{.refilled_at = *refilled_at, .limits = {read.state}};
  if (!bucket::can_be_used(alone)) return not_whole(read.key, "numbers of a limit");
  return read;
}

bucket::State merged(std::span<const LegacyLimit> limits, std::uint64_t generation) {
  bucket::State state;
  state.generation = generation;
  state.expires_at = 0;
  for (const LegacyLimit& limit : limits) {
    state.refilled_at = std::max(state.refilled_at, limit.refilled_at);
    state.expires_at = std::max(state.expires_at, limit.expires_at);
  }
  for (const LegacyLimit& limit : limits) {
    bucket::LimitState& at = state.limits.emplace_back(limit.state);
    at.tokens = held_at(limit, state.refilled_at);
  }
  return state;
}

std::vector<ItemWrite> conversion(const BucketName& name, std::span<const LegacyLimit> limits,
                                  const bucket::State& state, Time now) {
  // The parent at the time of their charges is unknown; the next charge checks it.
  std::vector<ItemWrite> writes{render(conditional::convert(0, {state, std::nullopt}, now), name, now)};
  for (const LegacyLimit& limit : limits) writes.push_back(removal(limit));
  return writes;
}

std::vector<ItemWrite> absorption(const BucketName& name, std::span<const LegacyLimit> limits,
                                  const conditional::Record& there, const conditional::Settings& settings,
                                  Time now) {
  std::vector<conditional::Absorbed> absorbed;
  for (const LegacyLimit& limit : limits) {
    conditional::Absorbed& one = absorbed.emplace_back(conditional::Absorbed{limit.state});
    one.limit.tokens = held_at_any(limit, there.refilled_at);
    one.lacks = limit.state.parameters.burst - held_at_any(limit, std::max(now, there.refilled_at));
  }
  std::vector<ItemWrite> writes{render(conditional::absorb(0, there, absorbed, settings), name, now)};
  for (const LegacyLimit& limit : limits) writes.push_back(removal(limit));
  return writes;
}

bool is_of_sharded_layout(const Key& key) {
  const std::size_t slash = key.pk.find('/');
  const std::string_view rest = std::string_view(key.pk).substr(slash == std::string::npos ? 0 : slash + 1);
  return key.pk.starts_with("_/") || (key.sk == "#STATE" && rest.starts_with("BUCKET#"));
}

Request first_keys(const std::string& table) {
  return {"Scan", base::join("{\"TableName\":", base::json_string(table),
                             R"(,"ProjectionExpression":"PK,SK","Limit":1000,"ConsistentRead":true})")};
}

std::optional<Error> sharded_layout(const std::string& table, const std::vector<Item>& items) {
  if (std::none_of(items.begin(), items.end(),
                   [](const Item& item) { return is_of_sharded_layout(key_of(item)); }))
    return std::nullopt;
  return base::error(ErrorCode::unavailable, "table ", base::quoted(table),
                     " has the layout of a newer zae-limiter (namespaces by id, buckets under BUCKET#...), "
                     "which weir cannot import yet; nothing was changed. Use another table");
}

}  // namespace weir::dynamodb
